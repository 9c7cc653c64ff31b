"""A whole text, read from end to end: bits per byte and perplexity per word of the original, however it was fed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from foreword.tasks.metrics import Metric
from foreword.tasks.prompted.request import Judged, PromptedKind, Request
from foreword.tasks.template import Row, render
from foreword.text.detokenise import FORMATS, Format

STRETCHES = 100  # a text is one example; how sure its score is shows in how unlike its stretches are


@dataclass(frozen=True)
class RollingRequest(Request):
    """How likely is this text, every token guessed once from what is before it? It need not fit: it is read in windows."""

    query: str = ""
    shots: bool = field(default=False, kw_only=True)
    original: str = ""
    format: Format | None = None

    @property
    def text(self) -> str:
        """What is read."""
        return self.format.fitted(self.original).text(self.original) if self.format else self.original


class PerUnit(Metric):
    """Cost per byte or word; each example (nats of each stretch, units of each stretch)."""

    def __init__(self, unit: float, perplexity: bool = False):
        super().__init__(scale=1.0, digits=2 if perplexity else 4)
        self.per, self.perplexity = unit, perplexity

    def columns(self, judged: Sequence[Any]) -> np.ndarray:
        return np.concatenate([np.stack(one, 1) for one in judged])

    def of(self, sums: np.ndarray, examples: int) -> np.ndarray:
        each = sums[..., 0] / sums[..., 1] / self.per
        with np.errstate(over="ignore"):
            return np.exp(each) if self.perplexity else each


class WholeText(PromptedKind):
    """What a text costs: de-tokenised before it is read if its format is said, paid for by bytes and words of the original."""

    templated: ClassVar[tuple[str, ...]] = ("text",)
    kind: Literal["text"] = "text"
    text: str = "{text}"
    format: str = ""  # wikitext, ptb, text8; nothing: as it is

    def faults(self) -> list[tuple[str, str]]:
        known = not self.format or self.format in FORMATS
        return super().faults() + (
            [] if known else [("format", f"{self.format!r} is not one of {', '.join(FORMATS)}.")]
        )

    @property
    def written(self) -> Format | None:
        return FORMATS[self.format] if self.format else None

    def requests(self, row: Row) -> list[Request]:
        return [RollingRequest(original=render(self.text, row), format=self.written)]

    def solved(self, row: Row) -> str:
        return render(self.text, row)

    def judge(self, row: Row, answers: Sequence[Any]) -> Judged:
        original, logs = render(self.text, row), answers[0].logs
        words = self.written.words(original) if self.written else len(original.split())
        parts = min(STRETCHES, max(1, len(logs)))
        nats = [-float(part.sum()) for part in np.array_split(logs, parts)]
        sizes = {"bytes": len(original.encode("utf-8")), "words": words}
        # a stretch of the tokens is taken to be the same stretch of the text
        values = {name: (nats, [sizes[unit] / parts] * parts) for name, unit in UNITS.items()}
        return Judged(values, {"nats": sum(nats), "tokens": len(logs), **sizes})

    def metrics(self) -> dict[str, Metric]:
        return {"bits per byte": PerUnit(float(np.log(2))), "word perplexity": PerUnit(1.0, perplexity=True)}

    def scored(self, metric: str) -> str:
        if UNITS[metric] == "bytes":
            return "per byte of the original"
        return f"per word of the original: {self.written.counted if self.written else 'words between spaces'}"


UNITS = {"bits per byte": "bytes", "word perplexity": "words"}
