"""Candidates that are networks: given models, fine-tuned within a number of seconds."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import torch

from foreword.basics.files import write_json
from foreword.compare.advise.problem import Problem
from foreword.tasks.example import Example
from foreword.training.hardware import Hardware
from foreword.transfer.finetune import finetune
from foreword.transfer.kinds.base import Answer
from foreword.transfer.labeller_place import FILE, model_folder
from foreword.transfer.predict import Predictor
from foreword.transfer.tuning import FinetuneSettings

SHARE = 0.1  # of the labels, on which the best weights are chosen
PASSES = 8  # through the labels at most


@dataclass(frozen=True)
class FinetunedLabeller:
    run: Path

    def answers(self, examples: Sequence[Example]) -> list[Answer]:
        return list(Predictor(self.run).predict(examples).answers)

    def save(self, folder: Path) -> None:
        """The run itself stands beside; this says where."""
        shutil.copytree(model_folder(self.run), folder, dirs_exist_ok=True)
        write_json(folder / FILE, {"labeller": "network"})


@dataclass(frozen=True)
class Finetuned:
    """A model whose weights all learn, or `network`: one that begins with the word vectors of the user's text."""

    model: Path
    folder: Path  # runs go below it
    seconds: float  # for one run
    network: str = ""
    settings: ClassVar[Sequence[object]] = ("",)
    folds: ClassVar[int] = 1  # what it learned in this one is what is kept if it wins

    @property
    def name(self) -> str:
        return f"{self.network or self.model.name}, {'begun from word vectors' if self.network else 'fine-tuned'}"

    def fit(self, problem: Problem, train: Sequence[Example], settings: Sequence[object]) -> list[FinetunedLabeller]:
        cut = max(1, math.ceil(len(train) * SHARE))
        dev = tuple(train[::-1][:cut])
        task = replace(problem.task, train=tuple(train[: len(train) - cut]) or dev, dev=dev, test=dev)
        torch.set_num_threads(problem.threads)
        seconds, steps = max(5.0, self.seconds), math.ceil(len(task.train) / 16)
        budget = (f'training.budget="{seconds:.0f}s"', f"training.passes={PASSES}", f"training.evaluate={steps}")
        how = FinetuneSettings(epochs=PASSES, batch_size=16, network=self.network, settings=budget)
        shutil.rmtree(self.place, ignore_errors=True)
        return [FinetunedLabeller(finetune(self.model, task, self.place, how, Hardware()).path)]

    @property
    def place(self) -> Path:
        return self.folder / re.sub(r"\W+", "-", self.name).strip("-")

    def learned(self, problem: Problem) -> FinetunedLabeller:
        """As it learned in its fold."""
        return FinetunedLabeller(self.place)
