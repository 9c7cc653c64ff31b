"""Any labelled task as text: its name and what is read of an example become a source, its answer is written (T5)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from foreword.batches.encoded import EncodedExample
from foreword.objectives.text_to_text import TextToText
from foreword.parts.task_heads import Reading
from foreword.tasks.example import Example
from foreword.tasks.labelled.base import LabelledKind
from foreword.transfer.encoding import Encoder
from foreword.transfer.kinds.base import Answer, HeadScores, TransferKind


class TextTransfer(TransferKind):
    """`name` is the prefix by which one model knows which of several tasks it is asked."""

    objectives: ClassVar[tuple[str, ...]] = ("text_to_text",)

    def __init__(self, learn: LabelledKind, name: str):
        self.learn, self.name = learn, name
        self.labels: tuple[str, ...] = ()

    def objective(
        self, labels: Sequence[str], reading: Reading, dropout: float, train: Sequence[Example] = ()
    ) -> TextToText:
        return TextToText()

    def source(self, example: Example) -> str:
        return f"{self.name} {self.learn.as_source(example)}"

    def encode(self, examples: Sequence[Example], labels: Sequence[str], encoder: Encoder) -> list[EncodedExample]:
        self.labels = tuple(labels)
        sources = [self.source(example) for example in examples]
        targets = ["" if example.label is None else self.learn.as_target(example) for example in examples]
        encoder.tokenize([*sources, *targets])
        end = encoder.tokenizer.special("[end]")
        return [
            EncodedExample(
                (number,),
                (encoder.encode(source),),
                None if example.label is None else np.append(encoder.tokens(target)[0], end).astype(np.int64),
            )
            for number, (example, source, target) in enumerate(zip(examples, sources, targets))
        ]

    def answers(self, examples: Sequence[Example], read: HeadScores) -> list[Answer]:
        found = []
        for example, said in zip(examples, read.scores):
            chance, text = math.exp(min(float(said[0]), 0.0)), read.tokenizer.decode(said[1:].astype(np.int64)).strip()
            label = self.learn.from_text(text, chance, example, self.labels)
            found.append(Answer(label, {str(label): chance, "answer": chance, "none": 0.0}))
        return found
