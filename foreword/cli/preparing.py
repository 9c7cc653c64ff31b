"""What a user gives as data or tokenizer, and what it turns out to be."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreword.basics.files import JsonObject, cache_folder, whole_folder, write_folder
from foreword.basics.messages import Fault, Faults, did_you_mean
from foreword.basics.processes import launched
from foreword.basics.progress import say

if TYPE_CHECKING:
    from foreword.assembly.recipe import Recipe
    from foreword.batches.mixture import MixtureSource
    from foreword.tokens.kinds import TokenizerSpec
    from foreword.tokens.tokenizer import Tokenizer


def settings_with(settings: Sequence[str] | None, budget: str | None) -> list[str]:
    """What --set says, and --budget, which is a setting too."""
    from foreword.basics.budget import Budget

    if budget is None:
        return list(settings or [])
    Budget.parse(budget)
    return [*(settings or []), f'training.budget="{budget}"']


def own_setting(name: str, settings: Sequence[str]) -> tuple[Any, list[str]]:
    """(the value of a setting of the verb itself, which has no section, or None; the settings of the recipe)"""
    from foreword.basics import toml

    found = [one.partition("=")[2] for one in settings if one.startswith(f"{name}=")]
    rest = [one for one in settings if not one.startswith(f"{name}=")]
    return (toml.value(found[-1]) if found else None), rest


def shares(text: str) -> tuple[float, float, float]:
    """'0.9/0.05/0.05' -> three shares that make one."""
    try:
        train, valid, test = (float(part) for part in text.split("/"))
    except ValueError as error:
        raise Fault(f"--splits {text}: three shares are written 0.9/0.05/0.05.") from error
    if min(train, valid, test) < 0 or train == 0 or abs(train + valid + test - 1) > 1e-6:
        raise Fault(f"--splits {text}: the shares must add up to 1, with some to train on.")
    return train, valid, test


def chosen_tokenizer(name: str, settings: JsonObject) -> Tokenizer | TokenizerSpec:
    """A kind to be trained, or the tokenizer of a run, a store or a model folder."""
    from foreword.tokens import KINDS
    from foreword.tokens.tokenizer import Tokenizer

    path = Path(name)
    if name in KINDS.places:
        cls = KINDS.find(name)
        for setting in settings:
            if setting not in cls.model_fields:
                raise Fault(f"a {name} tokenizer has no {setting}.")
        return cls(**settings)
    for folder in (path / "model", path):
        if any((folder / file).is_file() for file in ("tokenizer.json", "vocab.json", "vocab.txt")):
            if settings:
                raise Fault(f"{name} is already made: --{next(iter(settings))} cannot change it.")
            return Tokenizer.load(folder)
    raise Fault(
        f"{name!r} is neither a kind of tokenizer nor a folder that has one.{did_you_mean(name, KINDS.names())}",
        f"Kinds: {', '.join(KINDS.names())}.",
    )


def store_for(
    recipe: Recipe, data: Path, documents: str = "auto", column: str = "text", tokenizer: Tokenizer | None = None
) -> Path:
    """The store to train on: `data` itself if it is one, else one made from the text there (and kept for the next time)."""
    check_text(recipe)
    from foreword.text import reading
    from foreword.tokens.build import FRACTIONS, build_store
    from foreword.tokens.turns import SKIPPED
    from foreword.vectors.table import VectorTableSpec

    if (data / "store.json").is_file():
        return data
    if documents == "auto" and SKIPPED in recipe.batches.marks:
        documents = "dialogues"  # the recipe's rows are made of turns
    fractions = (
        (1.0, 0.0, 0.0) if isinstance(recipe.network, VectorTableSpec) else FRACTIONS
    )  # nothing is held out of vectors
    said = f"{documents}|{column}|{tokenizer.fingerprint if tokenizer else recipe.tokenizer.model_dump_json()}"
    said += "" if fractions == FRACTIONS else f"|{fractions}"
    said += "" if recipe.units is None else f"|{recipe.units.content()}"
    key = hashlib.blake2b(f"{reading.fingerprint([data])}|{said}".encode(), digest_size=6).hexdigest()
    out = cache_folder() / "stores" / f"{data.resolve().stem}-{key}"
    if not (out / "store.json").is_file():
        say(f"{data} is text: making a store of it in {out}")
        out.parent.mkdir(parents=True, exist_ok=True)
        build_store(
            [data],
            out,
            tokenizer or recipe.tokenizer,
            documents=documents,
            fractions=fractions,
            column=column,
            units=recipe.units,
        )
    else:
        say(f"{data} is text: using the store made of it before, {out}")
    return out


def check_text(recipe: Recipe) -> None:
    """The recipe learns from text."""
    if recipe.objective.labelled:
        raise Fault(
            f"{recipe.name} learns from labelled tasks, not from text.",
            f"Train it:  foreword train {recipe.name} --from MODEL --data TASK TASK",
        )


def data_for(
    recipe: Recipe,
    given: Sequence[str],
    documents: str = "auto",
    column: str = "text",
    tokenizer: Tokenizer | None = None,
) -> Path | list[MixtureSource]:
    """What to train on: one store, or several with their weights, made of text first where need be."""
    from foreword.batches.mixture import MixtureSource

    check_text(recipe)
    parts = weighed(given)
    if len(parts) == 1:
        return store_for(recipe, parts[0][0], documents, column, tokenizer)
    if tokenizer is None and any(not (path / "store.json").is_file() for path, _ in parts):
        tokenizer = shared_tokenizer(recipe, [path for path, _ in parts], documents, column)
    names = [path.stem if path.is_file() else path.resolve().name for path, _ in parts]
    if len(set(names)) < len(names):
        names = [str(path) for path, _ in parts]
    return [
        MixtureSource(name, store_for(recipe, path, documents, column, tokenizer), weight)
        for name, (path, weight) in zip(names, parts)
    ]


def weighed(given: Sequence[str]) -> list[tuple[Path, float]]:
    """`web=0.6` is a path and its weight. A path on its own, or one that exists as it is written, weighs 1."""
    found, faults = [], []
    for text in given:
        path, equals, weight = text.rpartition("=")
        if not equals or Path(text).exists():
            found.append((Path(text), 1.0))
            if len(given) > 1:
                faults.append(
                    Fault(f"--data {text}: of several sources each needs its weight, for example {text}=0.5.")
                )
            continue
        try:
            found.append((Path(path), float(weight)))
            right = 0 < found[-1][1] < float("inf")
        except ValueError:
            right = False
        if not right:
            faults.append(Fault(f"--data {text}: {weight!r} is not a weight; it is a number above 0."))
        elif not Path(path).exists():
            faults.append(Fault(f"--data {text}: {path} is not there."))
    if twice := {str(path) for path, _ in found if [other for other, _ in found].count(path) > 1}:
        faults.append(Fault(f"--data: {', '.join(sorted(twice))} is given more than once."))
    if faults:
        raise Faults(faults)
    return found


def shared_tokenizer(recipe: Recipe, paths: Sequence[Path], documents: str, column: str) -> Tokenizer:
    """One tokenizer for all sources: that of the first store among them, else one learned from all their text together."""
    from foreword.text import reading
    from foreword.tokens.build import learn_tokenizer
    from foreword.tokens.tokenizer import Tokenizer

    for path in paths:
        if (path / "store.json").is_file():
            say(f"the tokenizer of {path} is used for all sources")
            return Tokenizer.load(path)
    said = f"{documents}|{column}|{recipe.tokenizer.model_dump_json()}"
    key = hashlib.blake2b(f"{reading.fingerprint(paths)}|{said}".encode(), digest_size=6).hexdigest()
    folder = cache_folder() / "tokenizers" / key
    if not folder.is_dir():
        say("one tokenizer is learned from the text of all sources together")
        learned = learn_tokenizer(paths, recipe.tokenizer, documents, column)
        folder.parent.mkdir(parents=True, exist_ok=True)
        write_folder(folder, learned.save)
    return Tokenizer.load(whole_folder(folder))


def models_there(*paths: str | Path | None) -> None:
    """A model that is not there is a fault before torch is imported, which takes seconds."""
    from foreword.runs.place import model_place

    for path in paths:
        if path is not None:
            model_place(path)


def models_and_files(words: Sequence[str]) -> tuple[list[str], list[Path]]:
    """(models, jsonl files) of a command line; at least one model, and all there."""
    files = [Path(word) for word in words if word.endswith(".jsonl")]
    models = [word for word in words if not word.endswith(".jsonl")]
    if not models:
        raise Fault("there is no model to ask.", "Give at least one run or model folder.")
    if gone := next((file for file in files if not file.is_file()), None):
        raise Fault(f"{gone} is not there.")
    models_there(*models)
    return models, files


def recipe_for(name: str, size: str, settings: Sequence[str] | None) -> Recipe:
    from foreword.assembly import loader

    return loader.load(name, size, settings or [])


def start_processes(wanted: str) -> None:
    """Have so many processes carry out this command, and end as they end. One goes on here, and so does one of several."""
    from foreword.training import processes

    if launched():
        if wanted != "auto":
            raise Fault("torchrun has started these processes already.", "Leave out --processes.")
        return
    if wanted == "auto":
        return
    if not wanted.isdecimal() or int(wanted) < 1:
        raise Fault(f"--processes {wanted}: it can be auto, or a number of processes.")
    if int(wanted) > 1:
        processes.launch(int(wanted), without_option(sys.argv[1:], "--processes"))
        raise SystemExit(0)


def without_option(arguments: Sequence[str], option: str) -> list[str]:
    """The arguments of a command without one option and its value."""
    found = list(arguments)
    while option in found:
        at = found.index(option)
        del found[at : at + 2]
    return [one for one in found if not one.startswith(f"{option}=")]
