"""What was learned on one labelled set, asked about others of its kind. Labels that mean the same meet under one name."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from foreword.basics.messages import Fault
from foreword.tasks import LABELLED_KINDS
from foreword.tasks.example import Example
from foreword.tasks.judging import Scored, scored
from foreword.tasks.labelled_task import LabelledTask
from foreword.transfer.baselines import Baseline
from foreword.transfer.predict import Predictor, taught

COARSER = {"entails": "entailment", "neutral": "not_entailment", "contradiction": "not_entailment"}
WITH_CLASSES = ("classify", "pair")


@dataclass(frozen=True)
class Known:
    """What someone learned to say."""

    task: str
    kinds: Sequence[str]                           # of tasks that it can be asked
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Learned(Known):
    """Whoever answers, and what is known of what it learned from."""

    name: str
    predict: Callable[[Sequence[Example]], Sequence[Any]]
    home: Sequence[tuple[str, str]] = ()           # of its own test: (right, said), where answers are classes
    seen: frozenset[str] = frozenset()             # names of sets of which it may have learned all but test
    cut: Callable[[], str] = lambda: ""            # a sentence about what did not fit of what it was asked, or nothing


@dataclass(frozen=True)
class Crossed:
    """What was learned on one set, asked about another."""

    name: str                          # who was asked
    learned: str                       # the set it learned on
    task: str                          # the set it was asked about
    labels: tuple[str, ...]            # what both sets' labels are called where they meet; () where there are none
    scores: tuple[Scored, ...]
    balanced: float | None             # the mean over labels of the share that is right: sets are unlike in balance
    commonest: float | None            # what its own commonest class would get
    drop: float | None                 # accuracy at home, with the labels joined alike, minus accuracy here
    joined: bool = False               # labels of one set or the other are called otherwise there
    answers: tuple[tuple[Example, Any], ...] = ()


def of_baseline(task: LabelledTask, baseline: Baseline) -> Learned:
    home = [(str(example.label), str(said)) for example, said in zip(task.test, baseline.predictions)]
    return Learned(task.name, (task.kind,), task.labels, baseline.name, baseline.predict,
                   home if task.kind in WITH_CLASSES else (), frozenset([task.name]))


def of_run(path: Path) -> list[Learned]:
    """A fine-tuned run, or each head of one that was fine-tuned on several tasks."""
    known = taught(path)
    return [_of_head(path, name if len(known) > 1 else "", frozenset(one.name for one in known.values())) for name in known]


def _of_head(path: Path, name: str, seen: frozenset[str]) -> Learned:
    opened = Predictor(path, name)

    def answer(examples: Sequence[Example]) -> list[Any]:
        return opened.predict([replace(example, label=None) for example in examples]).labels        # its labels may be others

    home = _home(path, name) if opened.kinds[0] in WITH_CLASSES else ()
    return Learned(opened.name, opened.kinds, opened.labels, f"{path.name}/{name}" if name else path.name, answer, home, seen,
                   opened.encoder.truncation_note)


def _home(path: Path, name: str) -> list[tuple[str, str]]:
    """What the run itself wrote of its test examples."""
    file = path / "predictions.jsonl"
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []
    return [(line["label"], line["answer"]) for line in lines if line["split"] == "test" and line.get("task", "") == name]


def cross(who: Learned, other: LabelledTask, limit: int | None = None) -> Crossed:
    """What it says of a set's test examples. A set that is one file is asked whole, if nothing of it was learned."""
    meaning = meanings(who, other)
    asked = (*other.train, *other.dev, *other.test) if other.parted and other.name not in who.seen else other.test
    asked = asked[:limit]
    said = who.predict(asked)
    answers = tuple(zip(asked, said))
    if other.kind not in WITH_CLASSES:
        found = tuple(scored(other.metrics, other.labels, asked, said))
        return Crossed(who.name, who.task, other.name, (), found, None, None, None, answers=answers)
    gold, guesses = [meaning[str(example.label)] for example in asked], [meaning[one] for one in said]
    labels, there = tuple(sorted(set(meaning.values()))), {*gold, *guesses}
    joined = [replace(example, label=label) for example, label in zip(asked, gold)]
    found = tuple(scored(("accuracy", "macro_f1"), [label for label in labels if label in there], joined, guesses))
    home = np.mean([meaning[right] == meaning[one] for right, one in who.home]) if who.home else None
    return Crossed(who.name, who.task, other.name, labels, found, _balanced(gold, guesses),
                   Counter(gold).most_common(1)[0][1] / len(gold), None if home is None else float(home) - found[0].value,
                   any(label != name for label, name in meaning.items()), answers)


def _balanced(gold: Sequence[str], guesses: Sequence[str]) -> float:
    right: dict[str, list[bool]] = {}
    for label, guess in zip(gold, guesses):
        right.setdefault(label, []).append(label == guess)
    return float(np.mean([np.mean(some) for some in right.values()]))


def meanings(who: Known, other: LabelledTask) -> Mapping[str, str]:
    """What the labels of both are called where they meet; a fault if they cannot."""
    if other.kind not in who.kinds:
        raise Fault(f"{who.task} is {LABELLED_KINDS.find(who.kinds[0]).in_words} and {other.name} is {other.learn.in_words}.",
                    "Cross tasks of one kind.")
    if set(other.labels) <= set(who.labels):
        return {label: label for label in who.labels}
    coarse = {label: COARSER.get(label, label) for label in (*who.labels, *other.labels)}
    if {coarse[label] for label in other.labels} <= {coarse[label] for label in who.labels} and other.kind in WITH_CLASSES:
        return coarse
    raise Fault(f"the labels of {other.name} ({', '.join(other.labels)}) are not those of {who.task} ({', '.join(who.labels)}).",
                "Cross tasks whose labels mean the same.")


def matching(who: Sequence[Learned], others: Sequence[LabelledTask]) -> list[tuple[Learned, LabelledTask]]:
    """Who can be asked about what. Of the heads of one run some may not fit a set; if none does, that is a fault."""
    found = []
    for other in others:
        faults: list[Fault] = []
        for one in who:
            try:
                meanings(one, other)
                found.append((one, other))
            except Fault as fault:
                faults.append(fault)
        if len(faults) == len(who):
            raise faults[0]
    return found
