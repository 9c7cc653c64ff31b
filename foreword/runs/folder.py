"""The run folder: recipe.toml, model/, checkpoints/, metrics.jsonl, passport.json. All of it whole or not there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from foreword.assembly import loader
from foreword.assembly.difference import difference
from foreword.assembly.recipe import Recipe
from foreword.basics import toml
from foreword.basics.files import (
    JsonObject,
    append_line,
    complete_folder,
    partial_folder,
    read_json,
    remove_folder,
    whole_folder,
    write_folder,
    write_json,
    write_text,
)
from foreword.basics.messages import Fault, RunFailed
from foreword.basics.progress import say
from foreword.exchange import hugging_face
from foreword.runs.tensors import SavedTensors
from foreword.tokens.tokenizer import Tokenizer
from foreword.training.learner import LearnedModel
from foreword.training.ranks import Ranks
from foreword.training.trainer import Progress

FORMAT = 1


class RunFolder:
    def __init__(self, path: Path):
        self.path = Path(path)

    @property
    def model(self) -> Path:
        return whole_folder(self.path / "model")

    def exists(self) -> bool:
        return (self.path / "recipe.toml").is_file()

    def claim(self, recipe: Recipe, data: str) -> bool:
        """Make the folder this run's own. True: it already was, and the run goes on; another run's is refused."""
        if not self.exists():
            self.check_free()
            self.path.mkdir(parents=True, exist_ok=True)
            write_json(self.path / "passport.json", {"format": FORMAT, "data": data})
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
        """A run that does not exist yet takes no folder in which something else is."""
        if self.path.is_file() or (self.path.exists() and any(self.path.iterdir())):
            raise Fault(f"{self.path} is not empty and not a run.", "Choose another --out.")

    def recipe(self) -> Recipe:
        return loader.load(str(self.path / "recipe.toml"), named=False)

    def passport(self) -> JsonObject:
        path = self.path / "passport.json"
        return read_json(path) if path.is_file() else {}

    def sign(self, **facts: Any) -> None:
        """Add facts to the passport."""
        write_json(self.path / "passport.json", {**self.passport(), **facts})

    def note(self, record: JsonObject) -> None:
        """One object more in metrics.jsonl."""
        append_line(self.path / "metrics.jsonl", json.dumps(record))

    def metrics(self) -> list[JsonObject]:
        """All complete records; a line that a kill cut short is not one."""
        path = self.path / "metrics.jsonl"
        found = []
        for line in path.read_text(encoding="utf-8").split("\n") if path.is_file() else []:
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError:
                continue
        return found

    def forget_after(self, records: int) -> None:
        """Keep this many records; the others tell of what a resumed run does again."""
        kept = [json.dumps(record) + "\n" for record in self.metrics()[:records]]
        write_text(self.path / "metrics.jsonl", "".join(kept))

    def checkpoints(self) -> list[Path]:
        """Oldest first."""
        return sorted((self.path / "checkpoints").glob("step-*"))

    def save(self, tensors: Mapping[str, Tensor], progress: Progress, keep: int, ranks: Ranks | None = None) -> Path:
        """A checkpoint; of ranks that share the weights out, each writes its own share while training goes on."""
        path = self.path / "checkpoints" / f"step-{progress.step:09d}"
        numbers = {"format": FORMAT, **asdict(progress)}

        def write(partial: Path) -> None:
            _save_tensors(tensors, partial / "state.safetensors")
            write_json(partial / "progress.json", numbers)

        def complete() -> None:
            write_json(partial_folder(path) / "progress.json", numbers)
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
        """What the newest checkpoint holds, if there is one."""
        for leftover in (self.path / "checkpoints").glob(".step-*"):  # what a kill left half-written
            remove_folder(leftover)
        found = self.checkpoints()
        return self.saved(found[-1]) if found else None

    def saved(self, checkpoint: Path) -> tuple[Mapping[str, Tensor], Progress]:
        """What a checkpoint holds; each tensor is read when it is asked for."""
        progress = read_json(checkpoint / "progress.json")
        if progress.pop("format", None) != FORMAT:
            raise Fault(f"{checkpoint} is in another format than this version of Foreword reads ({FORMAT}).")
        return SavedTensors(checkpoint), Progress(**progress)

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
