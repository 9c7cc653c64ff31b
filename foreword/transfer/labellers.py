"""Labellers on disk: a linear model, a tagger, a network, or the mean of several, each opened by what its file says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from foreword.basics.files import JsonObject, inside, read_json, write_json
from foreword.basics.messages import Fault
from foreword.basics.registry import Registry
from foreword.tasks import LABELLED_KINDS
from foreword.tasks.example import Example
from foreword.tasks.labelled_task import unlabelled
from foreword.transfer.kinds.base import Answer, prediction_record
from foreword.transfer.labeller_place import FILE, model_folder
from foreword.transfer.linear import EmbedOf, answers_of

LABELLERS = Registry(
    "labeller",
    {
        "linear": "foreword.transfer.linear:LinearLabeller",
        "windows": "foreword.transfer.tagger:WindowTagger",
        "network": "foreword.transfer.labellers:NetworkLabeller",
        "average": "foreword.transfer.labellers:AverageLabeller",
    },
)


class Labeller(Protocol):
    """Answers examples of one kind of labelled task."""

    def answers(self, examples: Sequence[Example]) -> list[Answer]: ...


def opened(path: Path, embed_of: EmbedOf) -> Any:
    """What was saved there."""
    folder = model_folder(path)
    kind = inside(read_json(folder / FILE), "labeller")
    if not isinstance(kind, str) or kind not in LABELLERS.places:
        raise Fault(f"{folder / FILE} is of a kind that is not known here: {kind!r}.")
    return LABELLERS.find(kind).opened(folder, embed_of)


def examples_of(run: Path, file: Path, columns: Sequence[str] = ()) -> list[Example]:
    """The examples of a file to be labelled: columns as in training; of a .txt, every line is one."""
    said = read_json(run / "passport.json")["task"]
    if file.suffix != ".txt":
        return unlabelled(file, LABELLED_KINDS.find(said["kind"])(**said["learn"]), columns)
    if not file.is_file():
        raise Fault(f"{file} is not there.")
    lines = enumerate(file.read_text(encoding="utf-8").split("\n"), 1)
    return [Example(str(number), (line.strip(),)) for number, line in lines if line.strip()]


def answers(run: Path, file: Path, embed_of: EmbedOf, columns: Sequence[str] = ()) -> list[JsonObject]:
    """What a run that was advised answers to each example of a file."""
    examples = examples_of(run, file, columns)
    answered = opened(run, embed_of).answers(examples)
    said = [prediction_record(example, answer) for example, answer in zip(examples, answered)]
    return [{name: value for name, value in one.items() if name != "label"} for one in said]


@dataclass(frozen=True)
class NetworkLabeller:
    """A fine-tuned model folder."""

    folder: Path

    def answers(self, examples: Sequence[Example]) -> list[Answer]:
        from foreword.transfer.predict import Predictor

        return list(Predictor(self.folder).predict(examples).answers)

    @staticmethod
    def opened(folder: Path, embed_of: EmbedOf) -> NetworkLabeller:
        return NetworkLabeller(folder)


@dataclass(frozen=True)
class AverageLabeller:
    """The mean of what several say of every class."""

    labels: tuple[str, ...]
    members: tuple[Any, ...]

    def answers(self, examples: Sequence[Example]) -> list[Answer]:
        each = [[one.scores for one in member.answers(examples)] for member in self.members]
        rows = [[[one.get(name, 0.0) for name in self.labels] for one in some] for some in each]
        return answers_of(self.labels, np.mean(rows, 0)) if len(examples) else []

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for place, member in enumerate(self.members):
            member.save(folder / f"member-{place}")
        write_json(folder / FILE, {"labeller": "average", "labels": list(self.labels), "members": len(self.members)})

    @staticmethod
    def opened(folder: Path, embed_of: EmbedOf) -> AverageLabeller:
        said = read_json(folder / FILE)
        members = tuple(opened(folder / f"member-{place}", embed_of) for place in range(int(said["members"])))
        return AverageLabeller(tuple(said["labels"]), members)
