"""One candidate with one number of labels, in every fold: what its best setting answered, and how long that took."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from foreword.basics.files import JsonObject, read_json, write_json
from foreword.compare.advise.candidates import Candidate
from foreword.compare.advise.problem import Problem, log_loss, smallest
from foreword.tasks.example import Prediction
from foreword.transfer.kinds.base import Answer


@dataclass(frozen=True)
class Trial:
    name: str
    size: int | None  # labels learned from; None: all that a fold has
    setting: int  # place among the candidate's settings
    shown: str  # that setting, for people
    value: float
    seconds: float
    places: tuple[int, ...]  # examples that were answered, in the order of the predictions
    predictions: tuple[Prediction, ...]
    shares: tuple[tuple[float, ...], ...] = ()  # of every class, where there are classes
    failed: str = ""  # why there is no answer
    answering: float = 0.0  # of the seconds, those that do not grow with the labels

    @property
    def table(self) -> np.ndarray:
        """[examples, labels]"""
        return np.asarray(self.shares)

    @staticmethod
    def without(name: str, size: int | None, why: str) -> Trial:
        return Trial(name, size, 0, "", float("nan"), 0.0, (), (), (), why)


def run_trial(problem: Problem, candidate: Candidate, size: int | None, only: int | None = None) -> Trial:
    """Every setting, or one of them; the one whose answers are best over all folds."""
    began = time.perf_counter()
    tried = list(range(len(candidate.settings))) if only is None else [only]
    answered: list[list[Answer]] = [[] for _ in tried]
    places: list[int] = []
    answering = 0.0
    for fold in problem.folds[: candidate.folds]:
        train = problem.train_of(fold, size)
        if problem.task.learn.has_classes and len({example.label for example in train}) < 2:
            return Trial.without(candidate.name, size, f"{len(train)} labels are of one class")
        made = candidate.fit(problem, train, [candidate.settings[one] for one in tried])
        asked, learned = problem.test_of(fold), time.perf_counter()
        for one, labeller in zip(answered, made):
            one += labeller.answers(asked)
        answering += time.perf_counter() - learned
        places += fold.off
    best = min(range(len(tried)), key=lambda one: cost(problem, places, answered[one]))
    labels, found = problem.task.labels, answered[best]
    shares = tuple(tuple(round(one.scores.get(name, 0.0), 6) for name in labels) for one in found if one.scores)
    predictions = tuple(one.label for one in found)
    value, took = problem.value(places, predictions), time.perf_counter() - began
    shown = str(candidate.settings[tried[best]])
    said = tuple(places), predictions, shares
    return Trial(candidate.name, size, tried[best], shown, value, took, *said, answering=answering)


def cost(problem: Problem, places: Sequence[int], answers: Sequence[Answer]) -> float:
    """What a setting is chosen by: nats of the right class, which tell more than how often it is right; else the metric."""
    if problem.task.learn.has_classes and all(one.scores for one in answers):
        labels, examples = problem.task.labels, [problem.examples[place] for place in places]
        return log_loss(
            labels, examples, np.asarray([[one.scores.get(name, 0.0) for name in labels] for one in answers])
        )
    return -problem.value(places, [one.label for one in answers])


def enough(problem: Problem) -> bool:
    return problem.learned_from >= smallest(problem)


class KeptTrials:
    """Trials on disk: what an earlier call has done is not done again."""

    def __init__(self, folder: Path):
        self.folder = folder

    def path(self, name: str, size: int | None, note: str = "") -> Path:
        words = re.sub(r"[^\w.-]+", "-", f"{name}-{size or 'all'}{note}").strip("-")
        return self.folder / f"{words}.json"

    def find(self, name: str, size: int | None, note: str = "") -> Trial | None:
        file = self.path(name, size, note)
        return trial_of(read_json(file)) if file.is_file() else None

    def keep(self, trial: Trial, note: str = "") -> None:
        write_json(self.path(trial.name, trial.size, note), asdict(trial))


def trial_of(said: JsonObject) -> Trial:
    rows = tuple(tuple(row) for row in said["shares"])
    answers = tuple(tuple(one) if isinstance(one, list) else one for one in said["predictions"])
    return Trial(**{**said, "places": tuple(said["places"]), "predictions": answers, "shares": rows})
