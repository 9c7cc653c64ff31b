"""Baselines where the answer is a place: a rule about words. Train says how rare they are, and dev chooses one number."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from foreword.tasks.entities import entities
from foreword.tasks.example import Example
from foreword.tasks.judging import METRICS
from foreword.tasks.labelled_task import LabelledTask
from foreword.tasks.metrics import value
from foreword.transfer.baselines import Baseline, judged

WORD = re.compile(r"[\u3400-\u9fff]|[^\W_]+")        # a Chinese character is a word
LENGTHS = (1, 2, 3, 4, 6)                            # words of an answer
NEAR = 0.9                                           # what a word of the question counts one word further away


def words(text: str) -> list[str]:
    return WORD.findall(text.lower())


class Rarity:
    """How much it says that two texts share a word: log(texts / texts that hold it); of a word never seen, the most."""

    def __init__(self, texts: Iterable[str]):
        every = [set(words(text)) for text in set(texts)]
        held = Counter(word for one in every for word in one)
        self.most = float(np.log(len(every) + 1))
        self.known = {word: float(np.log((len(every) + 1) / (times + 1))) for word, times in held.items()}

    def of(self, word: str) -> float:
        return self.known.get(word, self.most)

    def shared(self, one: str, other: str) -> float:
        return sum(map(self.of, set(words(one)) & set(words(other))))


def known_names(task: LabelledTask) -> Baseline:
    """Names that train has, each with the tags it most often had there; of two that overlap the longer (Tjong Kim Sang 2003)."""
    seen: dict[tuple[str, ...], Counter[tuple[str, ...]]] = defaultdict(Counter)
    every: Counter[str] = Counter()
    for example in task.train:
        tags, said = [str(tag) for tag in example.label], [word.text for word in example.words]        # type: ignore[union-attr]
        every.update(tags)
        for _, start, end in entities(tags):
            seen[tuple(said[start:end])][tuple(tags[start:end])] += 1
    most, names = every.most_common(1)[0][0], {name: tags.most_common(1)[0][0] for name, tags in seen.items()}
    longest = max(map(len, names), default=0)

    def one(example: Example) -> list[str]:
        said = [word.text for word in example.words]
        found: list[str] = []
        while len(found) < len(said):
            here = (tuple(said[len(found): len(found) + length]) for length in range(longest, 0, -1))
            found += next((names[name] for name in here if name in names), (most,))
        return found

    return judged(task, "names known from train", f"{len(names):,} names", lambda examples: list(map(one, examples)))


def between_shared_words(task: LabelledTask) -> Baseline:
    """Of all places without a telling word of the question, the one nearest to many of them; dev chooses its length."""
    rarity = Rarity(example.texts[1] for example in task.train)

    def rule(length: int) -> Callable[[Sequence[Example]], list[Any]]:
        return lambda examples: [_between(example, length, rarity) for example in examples]

    return _best(task, "between words of the question", "{} words", LENGTHS, rule)


def _between(example: Example, length: int, rarity: Rarity) -> str:
    question, context = example.texts
    asked = set(words(question))
    found = list(WORD.finditer(context))
    length = min(length, len(found))
    if not length:
        return ""
    weights = np.asarray([rarity.of(one[0].lower()) if one[0].lower() in asked else 0.0 for one in found])
    before, after = _faded(weights), _faded(weights[::-1])[::-1]
    starts = np.arange(len(found) - length + 1)
    inside = np.convolve(weights > 0, np.ones(length), "valid")
    score = before[starts] + after[starts + length - 1] - np.where(inside > 0, 1e6 * inside, 0.0)
    start = int(score.argmax())
    return context[found[start].start(): found[start + length - 1].end()]


def _faded(weights: np.ndarray) -> np.ndarray:
    """At each place, what stands before it, the further away the less."""
    found, sum_ = np.zeros(len(weights)), 0.0
    for place, weight in enumerate(weights):
        found[place] = sum_
        sum_ = NEAR * (sum_ + weight)
    return found


def most_shared_choice(task: LabelledTask) -> Baseline:
    """The answer that shares the rarest words with what is asked, in all or for each of its own."""
    rarity = Rarity(text for example in task.train for text in (*example.texts, *example.choices))

    def rule(power: float) -> Callable[[Sequence[Example]], list[Any]]:
        def one(example: Example) -> int:
            asked = " ".join(example.texts)
            return int(np.argmax([rarity.shared(asked, answer) / max(len(words(answer)), 1) ** power
                                  for answer in example.choices]))
        return lambda examples: list(map(one, examples))

    return _best(task, "most shared words", "length to the power {}", (0.0, 0.5, 1.0), rule)


def most_shared_candidate(task: LabelledTask) -> Baseline:
    """The more and the rarer the words a candidate shares with the query, the better, in all or for each of its own."""
    rarity = Rarity(text for example in task.train for text in example.texts)

    def rule(power: float) -> Callable[[Sequence[Example]], list[Any]]:
        return lambda examples: [rarity.shared(*example.texts) / max(len(words(example.texts[1])), 1) ** power
                                 for example in examples]

    return _best(task, "most shared words", "length to the power {}", (0.0, 0.5, 1.0), rule)


def _best(task: LabelledTask, name: str, setting: str, numbers: Sequence[float],
          rule: Callable[[Any], Callable[[Sequence[Example]], list[Any]]]) -> Baseline:
    """By the task's first metric on dev; of equals the first."""
    measure = METRICS[task.metrics[0]](task.labels)
    worth = [value(measure.metric, measure.judge(task.dev, rule(number)(task.dev))) for number in numbers]
    chosen = numbers[int(np.argmax(worth))]
    return judged(task, name, setting.format(chosen), rule(chosen))


RULES: dict[str, Callable[[LabelledTask], Baseline]] = {
    "tag": known_names, "span": between_shared_words, "choice": most_shared_choice, "rank": most_shared_candidate,
}
