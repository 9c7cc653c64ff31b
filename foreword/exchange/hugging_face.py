"""Model folders: config.json, model.safetensors and the tokenizer, written so that `transformers` opens them, and read
so that every tensor is accounted for by name. Nothing is ever unpickled and no code in a folder is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from foreword.assembly import loader
from foreword.assembly.build import blank_model, blank_network, shape_of
from foreword.assembly.recipe import Recipe, kind
from foreword.basics.array_file import write_safetensors
from foreword.basics.files import JsonObject, read_json_object, write_json, write_text
from foreword.basics.messages import Fault
from foreword.basics.numbers import MOST
from foreword.basics.progress import say
from foreword.exchange import (
    bert,
    electra,
    ernie,
    gpt1,
    gpt2,
    gpt_neo,
    marian,
    modernbert,
    nanochat,
    roberta,
    t5,
    tasks,
    xlnet,
)
from foreword.exchange.family import Family, Name, task_of
from foreword.networks.base import Model
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.vocabulary import Vocabulary
from foreword.training.learner import LearnedModel

FAMILIES: dict[str, Family] = {
    family.model_type: family
    for family in (
        gpt2.FAMILY,
        gpt1.FAMILY,
        gpt_neo.FAMILY,
        electra.FAMILY,
        bert.FAMILY,
        ernie.FAMILY,
        roberta.FAMILY,
        modernbert.FAMILY,
        nanochat.FAMILY,
        t5.FAMILY,
        marian.FAMILY,
        xlnet.FAMILY,
    )
}
OWN = "foreword"  # model_type of folders for which Hugging Face has no class
FORMAT = 1
LARGEST = 5_000_000_000  # bytes of one file, as transformers has it
# of their fine-tuned classes
ANSWERS = ("qa_outputs.", "start_logits.", "end_logits.", "answer_class.")
TASK_HEADS = ("score.", "classifier.", "multiple_choice_head.", "sequence_summary.", "logits_proj.", *ANSWERS)
BESIDE = ("lm_head.", "lm_loss.", "cls.", "final_logits_bias", "generator_", "discriminator_", "head.", "decoder.bias")
HEADS = (*BESIDE, *TASK_HEADS)  # what their classes put beside the trunk


@dataclass(frozen=True)
class LoadedFolder:
    """What a model folder holds."""

    recipe: Recipe
    model: LearnedModel
    tokenizer: Tokenizer | None  # a folder of weights alone has none
    unread: dict[str, Tensor] = field(default_factory=dict)  # by their names: what no head of the model uses


def network_of(loaded: LoadedFolder) -> Model:
    """The model, where only a network will do."""
    if not isinstance(loaded.model, Model):
        raise Fault(f"{loaded.recipe.name} is no network: it learns by {loaded.recipe.network.trained_by}.")
    return loaded.model


def family_of(recipe: Recipe) -> Family | None:
    """The family in whose layout a recipe's model can be written, if there is one."""
    if recipe.head is None:
        return None
    task = task_of(recipe)

    def has(family: Family) -> bool:
        return task is None or (kind(task) in family.tasks and task.published)

    if getattr(recipe.network, "ngrams", None) is not None:
        return None
    if getattr(recipe.network, "feedforward", None) is not None or not getattr(recipe.network, "plain", True):
        return None  # transformers has no such blocks, and goes through layers once
    return next((family for family in FAMILIES.values() if family.fits(recipe) and has(family)), None)


def write(folder: Path, recipe: Recipe, model: LearnedModel, tokenizer: Tokenizer | None, card: str = "") -> None:
    """A model folder. `folder` is written in place: callers who need it whole or not at all write it beside and rename."""
    folder.mkdir(parents=True, exist_ok=True)
    family = family_of(recipe)
    if family is None or not isinstance(model, Model):
        config, tensors = _own(recipe, model)
    else:
        task = task_of(recipe)
        architecture = family.architecture(model) if task is None else family.tasks[kind(task)].architecture
        config = {
            "architectures": [architecture],
            **family.config(recipe, tokenizer),
            "vocab_size": model.network.table().size(0),
            "dtype": "float32",
            **tasks.config(recipe, task, tokenizer),
        }
        tensors = _with_published_names(family, recipe, model)
    write_json(folder / "config.json", config)
    if isinstance(model, Model):
        write_tensors(folder, tensors)
    else:
        write_safetensors(
            folder / "model.safetensors", {name: np.asanyarray(array) for name, array in model.arrays().items()}
        )
    if tokenizer is not None:
        tokenizer.save(folder)
        if tokenizer.has("[end]") and family is not None and family.generates:
            end = tokenizer.special("[end]")
            write_json(
                folder / "generation_config.json", {"bos_token_id": end, "eos_token_id": end, "pad_token_id": end}
            )
    write_text(folder / "README.md", card or f"# {recipe.name}\n")


def _own(recipe: Recipe, model: LearnedModel) -> tuple[JsonObject, dict[str, Tensor]]:
    tensors = (
        {name: torch.as_tensor(array).clone().contiguous() for name, array in model.arrays().items()}
        if isinstance(model, Model)
        else {}
    )
    made = type(model.network if isinstance(model, Model) else model).__name__
    spare = (
        {"vocabulary": model.network.table().size(0)} if isinstance(model, Model) else {}
    )  # at least the tokenizer's
    own = {"format": FORMAT, "recipe": recipe.values(), **spare}
    return {"model_type": OWN, "architectures": [made], "foreword": own}, tensors


def _with_published_names(family: Family, recipe: Recipe, model: Model) -> dict[str, Tensor]:
    ours = {name: tensor.detach() for name, tensor in model.weights().items()}
    found: dict[str, Tensor] = {}
    for name in family.every_name(recipe, set(model.heads)):
        tensor = ours.pop(name.ours)
        tensor = tensor[list(name.rows)] if name.rows else tensor
        for part, theirs, scale in zip(
            tensor.chunk(len(name.theirs)), name.theirs, name.scales or (1.0,) * len(name.theirs)
        ):
            plain = theirs.startswith(HEADS)  # heads stand beside the trunk, not in it
            written = (part.t() if name.transposed else part[None] if name.leading else part) / scale
            written = written.unflatten(-1, (name.heads, -1)) if name.heads else written
            found[theirs if plain else family.prefix + theirs] = written.contiguous()
    if ours:
        raise RuntimeError(f"{family.model_type}: no name for {', '.join(ours)}")  # a hole in the family's table
    halves = tuple(f"{end}.0" for end in family.joined)
    for whole in [theirs.removesuffix(".0") for theirs in found if halves and theirs.endswith(halves)]:
        found[whole] = torch.cat([found.pop(f"{whole}.{part}") for part in (0, 1)])
    return found


def read(folder: Path) -> LoadedFolder:
    """Open a model folder: ours, or any of a known Hugging Face type."""
    folder = Path(folder)
    if not (folder / "config.json").is_file():
        raise Fault(
            f"{folder} is not a model: it has no config.json.",
            "Give a run (runs/NAME), its model folder, or a Hugging Face directory.",
        )
    config = read_json_object(folder / "config.json")
    tensors = read_tensors(folder)
    tokenizer = _tokenizer(folder)
    model_type = config.get("model_type", "")
    if model_type == OWN:
        return _read_own(folder, config, tensors, tokenizer)
    if not isinstance(model_type, str) or model_type not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise Fault(
            f"{folder} holds a model of type {model_type!r}, which Foreword does not read.", f"Types it reads: {known}."
        )
    return _read_family(folder, FAMILIES[model_type], config, tensors, tokenizer)


def _tokenizer(folder: Path) -> Tokenizer | None:
    known = ("tokenizer.json", "vocab.json", "vocab.txt")
    return Tokenizer.load(folder) if any((folder / name).is_file() for name in known) else None


def _read_own(
    folder: Path, config: JsonObject, tensors: dict[str, Tensor], tokenizer: Tokenizer | None
) -> LoadedFolder:
    own = config.get("foreword")
    number = own.get("format") if isinstance(own, dict) else None
    if not isinstance(own, dict) or number != FORMAT:
        raise Fault(f"{folder} is written in format {number}; this version of Foreword reads format {FORMAT}.")
    if tokenizer is None:
        raise Fault(f"{folder} has no tokenizer.json.", "It was part of the model when it was written; bring it back.")
    recipe = loader.from_values(own.get("recipe", {}), str(folder / "config.json"))
    vocabulary = tokenizer.vocabulary()
    size = own.get("vocabulary", vocabulary.size)
    if type(size) is not int or not vocabulary.size <= size <= MOST:
        raise Fault(
            f"{folder / 'config.json'}: a vocabulary of {size!r} does not fit the tokenizer's {vocabulary.size:,}."
        )
    model = blank_model(recipe, replace(vocabulary, size=size))
    if not isinstance(model, Model):
        model.restore({name: tensor.numpy() for name, tensor in tensors.items()})
        return LoadedFolder(recipe, model, tokenizer)
    place(model, [Name(name, (name,)) for name in model.weights()], tensors, str(folder))
    return LoadedFolder(recipe, model.eval(), tokenizer)


def _read_family(
    folder: Path, family: Family, config: JsonObject, tensors: dict[str, Tensor], tokenizer: Tokenizer | None
) -> LoadedFolder:
    with _understood(folder, family):
        if asked := family.unsupported(config):
            raise Fault(f"{folder / 'config.json'} asks for {', '.join(asked)}, which Foreword does not have.")
        task = tasks.settings(config, family, set(tensors))
    if aside := {name for name in tensors if name.startswith(TASK_HEADS) and not task}:
        say(f"{folder}: only the trunk is opened; the task head ({', '.join(sorted(aside))}) is left aside.")
    tensors = {
        _plain(name, family): tensor
        for name, tensor in tensors.items()
        if name not in aside and not any(name.endswith(constant) for constant in family.constants)
    }
    for copy, original in family.copies:
        if (
            copy in tensors and original not in tensors
        ):  # one of two names for a tied tensor is kept, not always the first
            tensors[original] = tensors.pop(copy)
    for name in [name for name in tensors if family.joined and name.endswith(family.joined)]:
        tensors |= {f"{name}.{part}": half for part, half in enumerate(tensors.pop(name).chunk(2))}
    heads = {task["objective"]["kind"]} if task else family.heads(set(tensors))
    merged = loader.written(family.base)
    with _understood(folder, family):
        settings = family.settings(config, heads)
    merged.lay_over(settings, {(): str(folder / "config.json")})
    merged.lay_over(task, {(): str(folder / "config.json")})
    merged.values["name"] = folder.resolve().name if folder.name != "model" else family.base
    recipe = loader.from_values(merged.values, str(folder / "config.json"))
    names = family.every_name(recipe, heads)
    size = _vocabulary_size(recipe, names, tensors) or int(config.get("vocab_size", 1))
    model = blank_network(recipe, Vocabulary(int(size), tokenizer.vocabulary().end if tokenizer else -1, ()))
    for name in set(model.heads) - heads:
        del model.heads[name]  # a trunk without this head (BertModel): what is not there is not invented
    for copy, original in family.copies:
        if copy in tensors and original in tensors and copy != original and _tied(recipe, copy):
            if not torch.equal(tensors[copy], tensors[original]):
                raise Fault(
                    f"{folder}: {copy} should be the same as {original} and is not.",
                    "Set tie_word_embeddings to false in config.json if that is meant."
                    if copy == "lm_head.weight"
                    else "",
                )
            del tensors[copy]
    wanted = {theirs for name in names for theirs in name.theirs}
    unread = {name: tensors.pop(name) for name in family.unread if name in tensors and name not in wanted}
    place(model, names, tensors, str(folder))
    return LoadedFolder(recipe, model.eval(), tokenizer, unread)


@contextmanager
def _understood(folder: Path, family: Family) -> Iterator[None]:
    """A config.json of a known type that lacks a name, or says it in another form, is a fault of that file."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        said = f"it does not say {error}" if isinstance(error, KeyError) else str(error)
        raise Fault(f"{folder / 'config.json'} is not a configuration of {family.model_type}: {said}.") from error


def _vocabulary_size(recipe: Recipe, names: Sequence[Name], tensors: dict[str, Tensor]) -> int:
    """Rows of the token table, whatever the family calls it; 0: it is not there."""
    shape = shape_of(recipe, Vocabulary(1, -1, ()))
    own = next(name for name, weight in shape.weights().items() if weight is shape.network.table())
    table = next(name.theirs[0] for name in names if name.ours == own)
    return tensors[table].size(0) if table in tensors else 0


def _tied(recipe: Recipe, copy: str) -> bool:
    return copy != "lm_head.weight" or bool(recipe.head and recipe.head.tied)


def _plain(name: str, family: Family) -> str:
    """A name without the prefix of task classes, and with today's words for a norm's gain and offset."""
    name = name.removeprefix(family.prefix)
    return name.replace(".gamma", ".weight").replace(".beta", ".bias") if "LayerNorm" in name else name


def place(model: Model, names: Sequence[Name], tensors: dict[str, Tensor], source: str) -> None:
    """Copy tensors into the model by the table; every tensor of either side must be used exactly once."""
    ours = model.weights()
    left = dict(tensors)
    missing, misshapen, numberless = [], [], list[str]()
    for name in names:
        parts = [left.pop(theirs, None) for theirs in name.theirs]
        if name.heads:
            parts = [part if part is None or part.dim() < 2 else part.flatten(-2) for part in parts]
        if any(part is None for part in parts):
            missing += [theirs for theirs, part in zip(name.theirs, parts) if part is None]
            continue
        target = torch.atleast_1d(ours.pop(name.ours))  # a view: a buffer may be a single number
        each = [target.size(0) // len(name.theirs), *target.shape[1:]]  # what one of theirs must be
        each = each[::-1] if name.transposed else each
        there = {
            theirs: part[0] if name.leading and part.dim() and len(part) == 1 else torch.atleast_1d(part)
            for theirs, part in zip(name.theirs, parts)
            if part is not None
        }
        wrong = [
            f"{theirs} is {list(part.shape)}, config.json says {each}"
            for theirs, part in there.items()
            if list(part.shape) != each
        ]
        misshapen += wrong
        if wrong:
            continue
        with torch.no_grad():
            whole = torch.cat([part.t() if name.transposed else part for part in there.values()])
            target.copy_(whole[list(name.rows)] if name.rows else whole)
            for part, scale in zip(target.chunk(len(there)), name.scales):
                part.mul_(scale)
        if target.is_floating_point() and not bool(torch.isfinite(target.sum(dtype=torch.float64))):
            numberless += name.theirs
    if missing or misshapen or left:
        total = len(tensors)
        lines = [f"{source} has {total} tensors; {total - len(left)} found a place."]
        for words, found in (
            ("Not there", missing),
            ("Without a place", sorted(left)),
            ("Of another shape", misshapen),
        ):
            if found:
                lines.append(
                    f"{words}: {', '.join(found[:6])}{f' and {len(found) - 6} more' if len(found) > 6 else ''}."
                )
        raise Fault(" ".join(lines), "The weights and config.json must describe the same model.")
    if numberless:
        raise Fault(
            f"{source} has weights that are not numbers (NaN or infinite): {', '.join(numberless[:6])}.",
            "Its training diverged, or the file is damaged: take an earlier checkpoint (RUN@STEP), or copy it again.",
        )


def write_tensors(folder: Path, tensors: dict[str, Tensor]) -> None:
    """One file; of a large model several, numbered, with the index that says which tensor is in which."""
    files: list[dict[str, Tensor]] = [{}]
    size = 0
    for name, tensor in tensors.items():
        if files[-1] and size + tensor.nbytes > LARGEST:
            files.append({})
            size = 0
        files[-1][name], size = tensor, size + tensor.nbytes
    if len(files) == 1:
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        return
    names = [f"model-{number:05d}-of-{len(files):05d}.safetensors" for number in range(1, len(files) + 1)]
    for file, some in zip(names, files):
        save_file(some, folder / file, metadata={"format": "pt"})
    total = sum(tensor.nbytes for tensor in tensors.values())
    places = {name: file for file, some in zip(names, files) for name in some}
    write_json(folder / "model.safetensors.index.json", {"metadata": {"total_size": total}, "weight_map": places})


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """All tensors of a folder: one safetensors file, or the shards of an index."""
    single, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if single.is_file():
        files = [single]
    elif index.is_file():
        files = _shards(index)
    else:
        pickled = next((f for f in sorted(folder.glob("*.bin")) + sorted(folder.glob("*.pt"))), None)
        if pickled:
            raise Fault(
                f"{folder} has its weights in {pickled.name}, a pickle, which can run code when opened.",
                "Convert it where you trust it: model.save_pretrained(folder) of transformers writes safetensors.",
            )
        raise Fault(f"{folder} has a config.json but no model.safetensors.")
    found: dict[str, Tensor] = {}
    for file in files:
        try:
            with safe_open(str(file), "pt") as opened:
                found |= {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        except FileNotFoundError as error:
            raise Fault(f"{file} is named by the index and is not there.") from error
        except (SafetensorError, OSError) as error:
            raise Fault(f"{file} cannot be read: {error}.", "It is cut short or damaged; copy it again.") from error
    return found


def _shards(index: Path) -> list[Path]:
    """The files that an index names: plain files of its own folder, and nothing elsewhere."""
    places = read_json_object(index, "weight_map")["weight_map"]
    names = set(places.values()) if isinstance(places, dict) and all(map(_is_name, places.values())) else set()
    if not names:
        raise Fault(f"{index} is not an index of weights: each tensor has a file of the same folder.")
    files = [index.parent / name for name in sorted(names)]
    for file in files:
        if file.exists() and not file.is_file():
            raise Fault(f"{file} is named by the index and is no file.")
    return files


def _is_name(name: object) -> bool:
    """Of a file beside this one: no path, which could lead anywhere."""
    return isinstance(name, str) and bool(name) and not set(name) & set("/\\\0") and name not in (".", "..")
