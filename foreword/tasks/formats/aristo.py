"""AI2's science questions: a stem, lettered choices and the letter of the right one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from foreword.tasks.files import Files, JsonLines
from foreword.text.rows import RowFault


class Aristo(Files):
    """AI2's questions: {"question": {"stem", "choices": [{"label", "text"}]}, "answerKey"}; ARC and QASC have it too."""

    kind: Literal["aristo"] = "aristo"

    def read(self, path: Path) -> Iterator[Mapping[str, Any]]:
        for number, row in enumerate(JsonLines.read(self, path), 1):        # type: ignore[arg-type]
            try:
                choices = row["question"]["choices"]
                labels = [choice["label"] for choice in choices]
                yield {**row, "question": row["question"]["stem"], "choices": [choice["text"] for choice in choices],
                       "gold": labels.index(row["answerKey"])}
            except (KeyError, TypeError, ValueError) as error:
                raise RowFault(number, f"this is not a question in AI2's form: {error!r} is missing or wrong.") from error
