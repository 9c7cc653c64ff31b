"""Do the choices alone say which is right? Style, and what a language model adds (Schwartz et al. 2017, the story cloze).

Each choice is classified as right or wrong by logistic regression; the likelier right one is the answer. Content words keep their
letters: the paper's tags of speech need a tagger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from foreword.evaluate.bits_per_byte import text_of
from foreword.model import LoadedModel
from foreword.report import Report, Section, Table, Text
from foreword.tasks.example import Example
from foreword.tasks.labelled_task import LabelledTask
from foreword.tasks.metrics import PairedDifference, Proportion, difference
from foreword.transfer.baselines import STRENGTHS, Baseline, judged_together, library
from foreword.transfer.label_subset import with_permuted_labels

OFTEN = 5  # a feature counts if train has it so often


class ChoiceFeatures(Protocol):
    """From choices to a row of numbers each."""

    def fit(self, examples: Sequence[Example]) -> Any: ...

    def of(self, examples: Sequence[Example]) -> Any: ...


class EndingStyle:
    """The choice alone: how many words, 1 to 5 words in a row, 4 characters in a row."""

    def fit(self, examples: Sequence[Example]) -> EndingStyle:
        make = library("sklearn.feature_extraction.text").CountVectorizer
        self.parts = [
            make(ngram_range=(1, 5), token_pattern=r"(?u)\S+", binary=True),
            make(analyzer="char", ngram_range=(4, 4), binary=True),
        ]
        for part in self.parts:
            counts = part.fit_transform(flat(examples)).sum(0).A1
            often = [word for word, place in part.vocabulary_.items() if counts[place] >= OFTEN]
            part.vocabulary_ = {word: number for number, word in enumerate(sorted(often))}
        return self

    def of(self, examples: Sequence[Example]) -> Any:
        sparse, texts = library("scipy.sparse"), flat(examples)
        words = sparse.csr_matrix(np.asarray([[len(text.split()) / 10] for text in texts]))
        return sparse.hstack([words, *(part.transform(texts) for part in self.parts)], format="csr")


class LikelihoodFeatures:
    """log p(choice | text), log p(choice), and their difference, each brought to mean 0 and spread 1."""

    def __init__(self, model: LoadedModel):
        model.need("score")
        self.model = model
        self.known: dict[tuple[str, str], tuple[float, float, float]] = {}

    def fit(self, examples: Sequence[Example]) -> LikelihoodFeatures:
        raw = self.raw(examples)
        self.mean, self.spread = raw.mean(0), np.maximum(raw.std(0), 1e-6)
        return self

    def of(self, examples: Sequence[Example]) -> Any:
        return library("scipy.sparse").csr_matrix((self.raw(examples) - self.mean) / self.spread)

    def raw(self, examples: Sequence[Example]) -> np.ndarray:
        """[choices, 3]"""
        pairs = [(" ".join(one.texts), choice) for one in examples for choice in one.choices]
        if new := list(dict.fromkeys(pair for pair in pairs if pair not in self.known)):
            self.known |= dict(zip(new, self._scored(new)))
        return np.asarray([self.known[pair] for pair in pairs])

    def _scored(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, float, float]]:
        tokenizer = self.model.tokenizer
        end = [tokenizer.special("[end]")] if tokenizer.has("[end]") else tokenizer.encode("\n")
        context = self.model.language_model.context
        given, alone, starts = [], [], []
        for text, choice in pairs:
            before, said = [*end, *text_of(text, tokenizer).ids], list(text_of(f" {choice}", tokenizer).ids)
            room = len(before) if context is None else max(1, context + 1 - len(said))
            before = before[-room:]
            given.append(np.asarray([*before, *said], np.int64))
            alone.append(np.asarray([*end, *said], np.int64))
            starts.append(len(before))
        score = self.model.language_model.score
        with_text = [float(np.sum(logs)) for logs in score(given, starts)]
        without = [float(np.sum(logs)) for logs in score(alone, [len(end)] * len(alone))]
        return [(one, other, one - other) for one, other in zip(with_text, without)]


@dataclass(frozen=True)
class EndingResults:
    task: LabelledTask
    rows: tuple[Baseline, ...]
    style: PairedDifference  # accuracy of style alone above the favourite place
    added: PairedDifference | None  # of all features above style alone


def probe(task: LabelledTask, model: LoadedModel | None = None, seed: int = 0) -> EndingResults:
    task = replace(task, learn=task.learn.model_copy(update={"metrics": ("accuracy",)}))
    style, common = classified(task, [EndingStyle()], "style: the choice alone"), majority_place(task)
    control = classified(with_permuted_labels(task, seed), [EndingStyle()], "style, right choices by lot")
    rows = [common, control, style]
    if model is not None:
        likely = LikelihoodFeatures(model)
        for column, name in enumerate(("log p(choice | text)", "log p(choice)", "their difference")):
            rows.append(highest(task, likely, column, name))
        rows.append(classified(task, [likely], "the three together"))
        rows.append(classified(task, [EndingStyle(), likely], "style and the three"))
    added = apart(task, style, rows[-1]) if model is not None else None
    return EndingResults(task, tuple(rows), apart(task, common, style), added)


def apart(task: LabelledTask, first: Baseline, second: Baseline) -> PairedDifference:
    before, after = ([one.label == said for one, said in zip(task.test, each.predictions)] for each in (first, second))
    return difference(Proportion(), before, after)


def majority_place(task: LabelledTask) -> Baseline:
    places = [int(one.number) for one in task.train]
    most = max(sorted(set(places)), key=places.count)
    return judged_together(task, "always one place", f"choice {most + 1}", lambda some: [most] * len(some))


def highest(task: LabelledTask, likely: LikelihoodFeatures, column: int, name: str) -> Baseline:
    """No training: the choice whose number is largest."""
    return judged_together(task, name, "", lambda some: chosen(some, likely.raw(some)[:, column]))


def classified(task: LabelledTask, features: Sequence[ChoiceFeatures], name: str) -> Baseline:
    for one in features:
        one.fit(task.train)

    def read(examples: Sequence[Example]) -> Any:
        return library("scipy.sparse").hstack([one.of(examples) for one in features], format="csr")

    right = [place == one.label for one in task.train for place in range(len(one.choices))]
    train, dev = read(task.train), read(task.dev)
    make = library("sklearn.linear_model").LogisticRegression
    models = [make(C=strength / 10, max_iter=300).fit(train, right) for strength in STRENGTHS]
    hits = [
        np.mean([said == one.label for one, said in zip(task.dev, chosen(task.dev, model.decision_function(dev)))])
        for model in models
    ]
    best = int(np.argmax(hits))

    def answer(examples: Sequence[Example]) -> list[int]:
        return chosen(examples, models[best].decision_function(read(examples)))

    return judged_together(task, name, f"strength {STRENGTHS[best] / 10:g}", answer)


def chosen(examples: Sequence[Example], numbers: np.ndarray) -> list[int]:
    """The place of the highest of each example's choices; of equals the first."""
    ends = np.cumsum([len(one.choices) for one in examples])
    return [int(part.argmax()) for part in np.split(np.asarray(numbers), ends[:-1])]


def flat(examples: Sequence[Example]) -> list[str]:
    return [choice for one in examples for choice in one.choices]


def report(found: EndingResults, task: LabelledTask) -> Report:
    rows: list[tuple[str, ...]] = [("answered by", "accuracy", "95% interval", "chosen on dev")]
    rows += [(one.name, one.test[0].shown, one.test[0].between, one.setting) for one in found.rows]
    value, interval = found.style.cells
    given = "the right choice is given away." if found.style.sign > 0 else "no sign that the choices give it away."
    lead = [f"Style alone is {value} points ({interval}) above always one place: {given}"]
    if found.added is not None:
        value, interval = found.added.cells
        lead.append(f"What the model's probabilities add to it: {value} points ({interval}).")
    return Report(
        f"{task.name}: endings",
        lead,
        [Section("Answers", Table(rows, left=(0, 3))), Section("The data", Text(list(task.notes)))],
        {
            "task": task.name,
            "accuracy": {
                one.name: {"value": one.test[0].value, "interval": one.test[0].interval} for one in found.rows
            },
            "style_above": found.style.value,
            "style_interval": list(found.style.interval),
        },
    )
