"""AI2's science questions: a stem, lettered choices and the letter of the right one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from foreword.tasks.files import Files, json_lines
from foreword.tasks.template import Row
from foreword.text.rows import RowFault


class Aristo(Files):
    """AI2's questions: {"question": {"stem", "choices": [{"label", "text"}]}, "answerKey"}; ARC and QASC have it too."""

    kind: Literal["aristo"] = "aristo"

    def read(self, path: Path) -> Iterator[Row]:
        for number, row in enumerate(json_lines(path), 1):
            try:
                choices = row["question"]["choices"]
                labels = [choice["label"] for choice in choices]
                yield {
                    **row,
                    "question": row["question"]["stem"],
                    "choices": [choice["text"] for choice in choices],
                    "gold": labels.index(row["answerKey"]),
                }
            except (KeyError, TypeError, ValueError) as error:
                raise RowFault(
                    number, f"this is not a question in AI2's form: {error!r} is missing or wrong."
                ) from error
