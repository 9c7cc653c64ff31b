"""The mean of several models' weights, most often of the last saved steps of a run: Vaswani et al. 2017, 6.1, take five."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from foreword.assembly.difference import difference
from foreword.basics import toml
from foreword.basics.files import JsonObject, write_folder, write_json, write_text
from foreword.basics.messages import Fault, Faults
from foreword.exchange import hugging_face
from foreword.exchange.hugging_face import LoadedFolder, network_of
from foreword.runs.folder import FORMAT, RunFolder
from foreword.runs.opening import open_model
from foreword.runs.place import model_place, saved_steps
from foreword.runs.starting import shape_settings

CARRIED = ("data", "store", "sources", "tokenizer", "task")  # facts of a passport that hold for the mean too


def last_steps(run: str | Path, last: int) -> list[str]:
    """The names of a run's last saved steps, oldest first; a fault if it has fewer."""
    folder, there = RunFolder(Path(run)), saved_steps(run)
    if not folder.exists():
        raise Fault(
            f"{run} is not a run: it has no saved steps to average.",
            "Give a run, several of its steps (runs/NAME@STEP), or several models.",
        )
    recipe = folder.recipe()
    if recipe.network.trained_by != "gradient":
        raise Fault(f"{run} ({recipe.name}) learns by {recipe.network.trained_by}: it has no saved steps to average.")
    if len(there) >= last:
        return [f"{run}@{step}" for step in there[-last:]]
    steps = f"{len(there)} saved step{'s' * (len(there) != 1)}" + f" ({', '.join(map(str, there))})" * bool(there)
    raise Fault(
        f"{run} has {steps}, not {last}. It was trained with training.keep={recipe.training.keep}.",
        f"Train with --set training.keep={last}; training.save says how often a step is saved."
        + f" Or average those that are there:  --last {len(there)}" * (len(there) > 0),
    )


def average(models: Sequence[str | Path], out: Path) -> RunFolder:
    """A run folder whose model has the mean of the models' weights, summed in float64. All that does not fit is a fault."""
    if out.is_file() or (out.exists() and any(out.iterdir())):
        raise Fault(f"{out} is not empty.", "Choose another --out.")
    passports = [RunFolder(model_place(path).folder).passport() for path in models]
    for path, passport in zip(models, passports):
        if "tasks" in passport:
            raise Fault(
                f"{path} was fine-tuned on several tasks, each with a model folder of its own.",
                "Average models of one task:  foreword average RUN/model-TASK OTHER/model-TASK --out NEW",
            )
    first = open_model(models[0])
    sums = {name: weight.detach().double() for name, weight in network_of(first).weights().items()}
    for path in models[1:]:
        loaded = open_model(path)
        check_alike(models[0], first, path, loaded)
        for name, weight in network_of(loaded).weights().items():
            sums[name] += weight
    with torch.no_grad():
        for name, weight in network_of(first).weights().items():
            weight.copy_(sums[name] / len(models))
    shared = {
        key: passports[0][key]
        for key in CARRIED
        if key in passports[0] and all(passport.get(key) == passports[0][key] for passport in passports)
    }
    return _written([str(path) for path in models], first, shared, out)


def check_alike(one: str | Path, first: LoadedFolder, other: str | Path, loaded: LoadedFolder) -> None:
    """Weights have a mean only if each means the same in both models."""
    mine, theirs = network_of(first).weights(), network_of(loaded).weights()
    faults = [
        Fault(f"{one} and {other} differ:  network.{line}")
        for line in difference(shape_settings(first.recipe), shape_settings(loaded.recipe))
    ]
    if _fingerprint(first) != _fingerprint(loaded):
        faults.append(Fault(f"{one} and {other} have different tokenizers: their tokens are not the same."))
    if not faults:  # what follows from the above would only repeat it
        faults = [
            Fault(f"{name} is {_size(mine, name)} in {one}, {_size(theirs, name)} in {other}.")
            for name in sorted(mine.keys() | theirs.keys())
            if _size(mine, name) != _size(theirs, name)
        ]
    if faults:
        raise Faults([*faults[:5], Fault("only models of one shape, with one tokenizer, have a mean.")])


def _size(weights: dict[str, Tensor], name: str) -> str:
    return str(list(weights[name].shape)) if name in weights else "missing"


def _fingerprint(loaded: LoadedFolder) -> str:
    return loaded.tokenizer.fingerprint if loaded.tokenizer else ""


def _written(models: list[str], made: LoadedFolder, facts: JsonObject, out: Path) -> RunFolder:
    recipe, names = made.recipe, ", ".join(models)
    note = f"# {recipe.name}\n\nThe mean of the weights of {names}. {recipe.paper}.\n"
    out.mkdir(parents=True, exist_ok=True)
    write_folder(out / "model", lambda partial: hugging_face.write(partial, recipe, made.model, made.tokenizer, note))
    # `start`: training into this folder is refused, because no run began here
    start = {"path": f"the mean of {names}", "weights": "mean"}
    write_json(out / "passport.json", {"format": FORMAT, **facts, "averaged": models, "start": start})
    write_text(out / "recipe.toml", toml.write(recipe.values()))
    return RunFolder(out)
