"""What every kind of labelled task says of learning it: objective, encoding, answers, baseline, plot and mistakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from foreword.basics.files import JsonObject, read_json_lines
from foreword.batches.encoded import EncodedExample
from foreword.objectives import LABELLED
from foreword.objectives.examples import FromExamples
from foreword.parts.task_heads import Reading
from foreword.report import Plot
from foreword.tasks.example import Example, Prediction, Span
from foreword.tasks.labelled_task import LabelledTask
from foreword.tokens.tokenizer import Tokenizer
from foreword.transfer import baselines
from foreword.transfer.encoding import Encoder

Line = Mapping[str, Any]  # of predictions.jsonl


@dataclass(frozen=True)
class Answer:
    """What a model says of one example, and how sure it is."""

    label: Prediction  # as it is judged: of a span its text, "" for none
    scores: dict[str, float] = field(default_factory=dict)
    span: Span | None = None  # where it stands


@dataclass(frozen=True)
class HeadScores:
    """What a model's head says of encoded examples, and what turns that into answers."""

    encoded: Sequence[EncodedExample]
    scores: Sequence[np.ndarray]  # of each
    objective: FromExamples
    tokenizer: Tokenizer


class TransferKind:
    """How one kind of labelled task is learned, answered and shown."""

    objectives: ClassVar[tuple[str, ...]] = ()  # kinds of objective by which it is learned
    caption: ClassVar[str] = ""  # of the plot
    combines: ClassVar[bool] = True  # the answers of several models can be made one
    regresses: ClassVar[bool] = False  # a regression on features of the texts is a baseline

    def objective(
        self, labels: Sequence[str], reading: Reading, dropout: float, train: Sequence[Example] = ()
    ) -> FromExamples:
        """What is learned, as the training examples show it."""
        spec = LABELLED.find(self.objectives[0])
        settings = {"labels": tuple(labels), "reading": reading, "dropout": dropout}
        made: FromExamples = spec(**{name: value for name, value in settings.items() if name in spec.model_fields})
        return made

    def encode(self, examples: Sequence[Example], labels: Sequence[str], encoder: Encoder) -> list[EncodedExample]:
        """What is learned from, or asked. Several of one example are windows."""
        encoder.tokenize(text for example in examples for text in example.texts)
        return [
            EncodedExample((number,), self.sequences(example, encoder), self.target(example, labels))
            for number, example in enumerate(examples)
        ]

    def sequences(self, example: Example, encoder: Encoder) -> tuple[Any, ...]:
        """What is read for one example."""
        return (encoder.encode(*example.texts),)

    def target(self, example: Example, labels: Sequence[str]) -> np.ndarray | None:
        """The label as the objective needs it; None: it has none."""
        return None if example.label is None else np.asarray(example.label)

    def answers(self, examples: Sequence[Example], read: HeadScores) -> list[Answer]:
        """For each example."""
        raise NotImplementedError

    def combined(self, lines: Sequence[Line]) -> Any:
        """One answer from those of several models to one example: the highest mean probability, or the mean."""
        if "scores" not in lines[0]:
            return float(np.mean([line["answer"] for line in lines]))
        return max(lines[0]["scores"], key=lambda name: sum(line["scores"][name] for line in lines))

    def regression(self, strength: float) -> Any:
        """What fits features of the texts to the labels, if it `regresses`: of scikit-learn."""
        raise NotImplementedError

    def baseline(self, task: LabelledTask) -> baselines.Baseline:
        """The best that can be done without a network in a few seconds."""
        return baselines.words(task)

    def plot(self, task: LabelledTask, predicted: Sequence[Prediction], note: str = "") -> Plot:
        """The predictions for test, beside the labels; `note` stands before what the plot shows."""
        return self.draw(task, predicted, f"{note} {self.caption}".strip())

    def draw(self, task: LabelledTask, predicted: Sequence[Prediction], note: str) -> Plot:
        raise NotImplementedError

    def mistake(self, example: Example, line: Line) -> float | None:
        """How bad a mistake is: how sure the model was, or how far from the label; None: it is none."""
        return None if line["answer"] == example.label else float(line["scores"][str(line["answer"])])

    def shown(self, example: Example, answer: object) -> str:
        """A label or an answer for people."""
        return f"{answer:.2f}" if isinstance(answer, float) else str(answer)


def prediction_record(example: Example, answer: Answer) -> JsonObject:
    """One line of predictions.jsonl."""
    gold = example.label
    true = [one.text if isinstance(one, Span) else one for one in gold] if isinstance(gold, tuple) else gold
    said = {"id": example.id, "label": true, "answer": answer.label}
    if answer.span is not None:
        said["span"] = [answer.span.start, answer.span.end]
    if answer.scores:
        said["scores"] = {name: round(share, 6) for name, share in answer.scores.items()}
    return said


def read_predictions(folder: Path, split: str = "test", task: str = "") -> list[JsonObject]:
    """The lines of a run's predictions.jsonl; none where there is no such file."""
    file = folder / "predictions.jsonl"
    every = read_json_lines(file) if file.is_file() else []
    return [one for one in every if one.get("split") == split and one.get("task", "") == task]


def softmax(scores: np.ndarray) -> np.ndarray:
    shares = np.exp(scores - scores.max())
    return shares / shares.sum()
