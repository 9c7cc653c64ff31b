"""The run folder: recipe.toml, model/, checkpoints/, metrics.jsonl, passport.json. All of it whole or not there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor
from typing_extensions import TypedDict

from foreword.assembly import loader
from foreword.assembly.difference import difference
from foreword.assembly.recipe import Recipe
from foreword.basics import toml
from foreword.basics.files import (
    JsonObject,
    append_line,
    complete_folder,
    is_partial,
    parse_json,
    partial_folder,
    read_json_object,
    remove_folder,
    sweep,
    whole_folder,
    write_folder,
    write_json,
    write_text,
    writes,
)
from foreword.basics.forms import checked
from foreword.basics.hold import NAME as LOCK
from foreword.basics.hold import held
from foreword.basics.messages import Fault, RunFailed
from foreword.basics.progress import say
from foreword.exchange import hugging_face
from foreword.runs.tensors import SavedTensors, check_whole, checksums
from foreword.tokens.tokenizer import Tokenizer
from foreword.training.learner import LearnedModel
from foreword.training.ranks import Ranks
from foreword.training.trainer import Progress

FORMAT = 1
BEGINNINGS = ("passport.json", LOCK)  # what is there before a run exists


FILES = "files"  # of a checkpoint, and the checksum of each
_PROGRESS = TypeAdapter(Progress)


class Passport(TypedDict, total=False):
    """passport.json, as far as others read it; it says more."""

    format: int
    data: str
    start: JsonObject
    task: JsonObject
    tasks: JsonObject
    tuning: JsonObject
    best: JsonObject
    finished: bool
    step: int
    store: str
    tokenizer: str


_PASSPORT = TypeAdapter(Passport)


class RunFolder:
    def __init__(self, path: Path):
        self.path = Path(path)

    @property
    def model(self) -> Path:
        return whole_folder(self.path / "model")

    def exists(self) -> bool:
        return (self.path / "recipe.toml").is_file()

    @contextmanager
    def held(self) -> Iterator[None]:
        """This process is the one that writes here. What one that was killed had half written is removed."""
        if not self.exists():
            self.check_free()
        with held(self.path):
            if writes(self.path):
                sweep(self.path)
            yield

    def claim(self, recipe: Recipe, data: str, **facts: Any) -> bool:
        """Make the folder this run's own. True: it already was, and the run goes on; another run's is refused.

        `facts`: what else the passport says from the beginning. The recipe comes last: with it, the run exists.
        """
        if not self.exists():
            self.check_free()
            write_json(self.path / "passport.json", {"format": FORMAT, "data": data, **facts})
            write_text(self.path / "recipe.toml", toml.write(recipe.values()))
            return False
        differ = difference(self.recipe().values(), recipe.values())
        budget = [line for line in differ if line.startswith("training.budget")]
        differ = [line for line in differ if line not in budget]
        if self.passport().get("data") != data:
            differ.append("the text (another store, or the store was made again)")
        if differ:
            raise Fault(
                f"{self.path} holds another run. It differs in: {'; '.join(differ[:5])}.",
                "Choose another --out, or remove that folder.",
            )
        if budget:
            say(f"{self.path}: another {budget[0]}. From here on the learning rate follows the new one.")
            write_text(self.path / "recipe.toml", toml.write(recipe.values()))
        return True

    def check_free(self) -> None:
        """A run that does not exist yet takes no folder in which something else is than its own beginnings."""
        inside = [path.name for path in self.path.iterdir()] if self.path.is_dir() else []
        if self.path.is_file() or not all(name in BEGINNINGS or is_partial(name) for name in inside):
            raise Fault(f"{self.path} is not empty and not a run.", "Choose another --out.")

    def recipe(self) -> Recipe:
        return loader.load(str(self.path / "recipe.toml"), named=False)

    def passport(self) -> JsonObject:
        path = self.path / "passport.json"
        if not path.is_file():
            return {}
        found = read_json_object(path)
        checked(found, _PASSPORT, path, "Remove it: the run goes on without what it said.")
        return found

    def sign(self, **facts: Any) -> None:
        """Add facts to the passport."""
        write_json(self.path / "passport.json", {**self.passport(), **facts})

    def note(self, record: JsonObject) -> None:
        """One object more in metrics.jsonl."""
        append_line(self.path / "metrics.jsonl", json.dumps(record))

    def metrics(self) -> list[JsonObject]:
        """All complete records; a line that a kill cut short is not one."""
        path = self.path / "metrics.jsonl"
        lines = path.read_bytes().split(b"\n") if path.exists() else []
        found = []
        for number, line in enumerate(lines, 1):
            try:
                record = parse_json(line.decode("utf-8"))
            except (UnicodeDecodeError, json.JSONDecodeError):
                record = None
            if isinstance(record, dict) and isinstance(record.get("step"), int):
                found.append(record)
            elif number < len(lines):  # a kill cuts only the last one short
                say(f"{path}:{number} is damaged, and left out.")
        return found

    def forget_after(self, records: int) -> None:
        """Keep this many records; the others tell of what a resumed run does again."""
        kept = [json.dumps(record) + "\n" for record in self.metrics()[:records]]
        write_text(self.path / "metrics.jsonl", "".join(kept))

    def checkpoints(self) -> list[Path]:
        """Oldest first."""
        return sorted(path for path in (self.path / "checkpoints").glob("step-*") if path.name[5:].isdigit())

    def save(self, tensors: Mapping[str, Tensor], progress: Progress, keep: int, ranks: Ranks | None = None) -> Path:
        """A checkpoint; of ranks that share the weights out, each writes its own share while training goes on."""
        path = self.path / "checkpoints" / f"step-{progress.step:09d}"
        numbers = {"format": FORMAT, **asdict(progress)}

        def write(partial: Path) -> None:
            _save_tensors(tensors, partial / "state.safetensors")
            sign(partial)

        def sign(partial: Path) -> None:
            write_json(partial / "progress.json", {**numbers, FILES: checksums(partial)})

        def complete() -> None:
            sign(partial_folder(path))
            complete_folder(path)
            self._forget(keep)

        if ranks is not None and ranks.sharded:
            ranks.write(partial_folder(path), tensors, complete)
        else:
            write_folder(path, write)
            self._forget(keep)
        return path

    def _forget(self, keep: int) -> None:
        for old in self.checkpoints()[:-keep]:
            remove_folder(old)

    def latest(self) -> tuple[Mapping[str, Tensor], Progress] | None:
        """What the newest checkpoint holds that is whole, if there is one; those after it are said and removed."""
        damaged: list[tuple[Path, Fault]] = []
        for path in reversed(self.checkpoints()):
            try:
                found = self.saved(path)
            except Fault as fault:
                damaged.append((path, fault))
                continue
            for other, why in damaged:
                say(f"{why.what} The run goes on from {path.name}; {other.name} is removed.")
                remove_folder(other)
            return found
        if damaged:
            raise Fault(
                f"no checkpoint of {self.path} is whole: {damaged[0][1].what}",
                f"Remove {self.path / 'checkpoints'} to begin again, or bring back a copy of it.",
            )
        return None

    def saved(self, checkpoint: Path) -> tuple[Mapping[str, Tensor], Progress]:
        """What a checkpoint holds; each tensor is read when it is asked for."""
        progress = read_json_object(checkpoint / "progress.json")
        if progress.pop("format", None) != FORMAT:
            raise Fault(f"{checkpoint} is in another format than this version of Foreword reads ({FORMAT}).")
        files = progress.pop(FILES, None)
        checked(progress, _PROGRESS, checkpoint / "progress.json")
        if files is not None:  # an earlier version wrote none
            check_whole(checkpoint, files)
        known = [one.name for one in fields(Progress)]
        return SavedTensors(checkpoint), Progress(**{name: progress[name] for name in known if name in progress})

    def publish(self, recipe: Recipe, model: LearnedModel, tokenizer: Tokenizer, card: str) -> None:
        """The model as it is now, as a Hugging Face folder."""
        try:
            write_folder(
                self.path / "model", lambda partial: hugging_face.write(partial, recipe, model, tokenizer, card)
            )
        except SafetensorError as error:
            raise _full(self.path / "model", error) from error


def _save_tensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    try:
        save_file(dict(tensors), path)
    except SafetensorError as error:
        raise _full(path, error) from error


def _full(path: Path, error: Exception) -> RunFailed:
    free = shutil.disk_usage(path.parent).free
    return RunFailed(
        f"{path} could not be written ({free / 1e6:.0f} MB free): {error}.",
        "What was saved before is whole. Free some space and give the same command again.",
    )
