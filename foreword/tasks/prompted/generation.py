"""Write: the model goes on until a stop string, and its text is compared with what people wrote."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from foreword.tasks.example import UnusableExample
from foreword.tasks.metrics import Bleu, Mean, Metric, Proportion
from foreword.tasks.prompted.request import GenerationRequest, Judged, PromptedKind, Request
from foreword.tasks.template import Row, items, names, render, value
from foreword.tasks.text_match import TEXT

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
NAMES = {
    "exact": "exact",
    "exact_match": "exact match",
    "f1": "F1",
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "bleu": "BLEU",
}


class Generation(PromptedKind):
    """What does the model write, and how near is it to the references?"""

    templated: ClassVar[tuple[str, ...]] = ("context", "answer", "completion")
    own_fields: ClassVar[tuple[str, ...]] = ("answer",)
    kind: Literal["write"] = "write"
    context: str
    answer: str | tuple[str, ...]  # a template, a field that holds a list, or a template for each reference
    completion: str = " {answer}"  # an answer behind its context, in a shot
    stop: tuple[str, ...] = ("\n",)
    most: int = 32  # tokens
    top_k: int = 1  # 1: always the likeliest token
    sentences: int | None = None  # only the first so many sentences count
    compare: tuple[Literal["exact", "exact_match", "f1", "rouge1", "rouge2", "rougeL", "bleu"], ...] = ("exact",)

    def references(self, row: Row) -> list[str]:
        if isinstance(self.answer, str):
            named = names(self.answer)
            whole = (
                len(named) == 1 and self.answer == f"{{{named[0]}}}" and isinstance(value(named[0], row), (list, tuple))
            )
            found = items(self.answer, row) if whole else [render(self.answer, row)]
        else:
            found = [render(template, row) for template in self.answer]
        if not found:
            raise UnusableExample("it has no answer")
        return found

    def requests(self, row: Row) -> list[Request]:
        self.references(row)
        return [GenerationRequest(render(self.context, row), self.most, self.stop, self.top_k)]

    def solved(self, row: Row) -> str:
        return render(self.context, row) + render(self.completion, {**row, "answer": self.references(row)[0]})

    def judge(self, row: Row, answers: Sequence[Any]) -> Judged:
        text, references = self.kept(answers[0]), self.references(row)
        values = {
            NAMES[name]: (text, references) if name == "bleu" else TEXT[name](text, references) for name in self.compare
        }
        return Judged(values, {"written": text, "references": references})

    def kept(self, text: str) -> str:
        """What counts of what was written."""
        text = text.strip()
        return text if self.sentences is None else " ".join(_SENTENCE.split(text)[: self.sentences])

    def metrics(self) -> dict[str, Metric]:
        return {
            NAMES[name]: Bleu() if name == "bleu" else Proportion() if name.startswith("exact") else Mean()
            for name in self.compare
        }
