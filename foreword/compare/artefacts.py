"""What gives labels away: a classifier that sees only one of two texts, and words that go with a label (Gururangan et al. 2018).

A set of pairs is clean if the blind classifier does no better than the commonest class.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance
from foreword.tasks.example import Example
from foreword.tasks.labelled_task import LabelledTask
from foreword.tasks.metrics import Interval, Share, difference
from foreword.transfer.baselines import Baseline, letters_are_chinese, majority, words

SIDES = {"first": 0, "second": 1}
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Blind:
    """How well a label can be guessed from one side of a pair."""

    side: str
    blind: Baseline
    commonest: Baseline
    shuffled: Baseline                 # learned from labels drawn by lot: what is left is chance
    above: float                       # accuracy above the commonest class
    interval: Interval
    easy: tuple[Example, ...]          # of test: what the blind classifier gets right ...
    hard: tuple[Example, ...]          # ... and wrong: where a model has to read both


def blind(task: LabelledTask, side: str = "second", seed: int = 0) -> Blind:
    """The classifier that never sees the other side, beside the commonest class and a control."""
    _need_pairs(task)
    accuracy = replace(task, learn=task.learn.model_copy(update={"metrics": ("accuracy",)}))
    seeing = words(accuracy, seen=(SIDES[side],), name=f"{side} text only")
    commonest = majority(accuracy)
    right = [[example.label == guess for example, guess in zip(task.test, one.predictions)] for one in (commonest, seeing)]
    above, interval = difference(Share(), *right)
    lots = chance(seed).permutation(len(task.train))
    mixed = tuple(replace(example, label=task.train[lot].label) for example, lot in zip(task.train, lots))
    control = words(replace(accuracy, train=mixed), seen=(SIDES[side],), name=f"{side} text only, labels by lot")
    easy, hard = ([example for example, good in zip(task.test, right[1]) if good is wanted] for wanted in (True, False))
    return Blind(side, seeing, commonest, control, above, interval, tuple(easy), tuple(hard))


def _need_pairs(task: LabelledTask) -> None:
    if task.kind != "pair":
        raise Fault(f"{task.name} is {task.learn.in_words}: there is no second text to be blind to.", "Probe a task of pairs.")


# --- cues ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cue:
    """A word that goes with a label."""

    word: str
    label: str
    information: float                 # pointwise mutual information in nats, smoothed
    count: int                         # examples that have the word
    coverage: float                    # of the label's examples, those that have it
    precision: float                   # of the examples that have it, those of the label
    above: float                       # precision above the label's share of all examples


@dataclass(frozen=True)
class Length:
    label: str
    words: float


def cues(examples: Sequence[Example], labels: Sequence[str], side: str = "second", smoothing: float = 100.0,
         top: int = 10) -> dict[str, list[Cue]]:
    """Label -> its `top` words by PMI. `smoothing` is added to every count, so that rare words do not win by luck."""
    said = [set(_split(example.texts, side)) for example in examples]
    together = Counter((word, str(example.label)) for example, those in zip(examples, said) for word in those)
    shares = {label: sum(example.label == label for example in examples) / len(examples) for label in labels}
    words = sorted({word for word, _ in together})
    counts = np.asarray([[together[word, label] for label in labels] for word in words], np.float64).reshape(-1, len(labels))
    information = pointwise(counts, smoothing)
    found: dict[str, list[Cue]] = {}
    for column, label in enumerate(labels):
        best = np.argsort(-information[:, column], kind="stable")[:top]
        found[label] = [_cue(words[place], label, information[place, column], counts[place], column, shares[label],
                             len(examples)) for place in best]
    return found


def pointwise(counts: np.ndarray, smoothing: float) -> np.ndarray:
    """log p(word, label) / (p(word) p(label)) from counts [words, labels]."""
    joint = counts + smoothing
    joint = joint / joint.sum()
    return np.log(joint / (joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)))


def _cue(word: str, label: str, information: float, row: np.ndarray, column: int, share: float, examples: int) -> Cue:
    precision = row[column] / row.sum()
    return Cue(word, label, float(information), int(row.sum()), float(row[column] / (share * examples)) if share else 0.0,
               float(precision), float(precision - share))


def _split(texts: Sequence[str], side: str) -> list[str]:
    """The words of one side (the only one, if there is one), or the characters of Chinese."""
    text = texts[min(SIDES[side], len(texts) - 1)].lower()
    return [sign for sign in text if sign.isalnum()] if letters_are_chinese([(text,)]) else _WORD.findall(text)


def lengths(examples: Sequence[Example], labels: Sequence[str], side: str = "second") -> list[Length]:
    """How many words each label's texts have, on average: another thing that may give it away."""
    sizes: dict[str, list[int]] = {label: [] for label in labels}
    for example in examples:
        sizes[str(example.label)].append(len(_split(example.texts, side)))
    return [Length(label, float(np.mean(some)) if some else 0.0) for label, some in sizes.items()]
