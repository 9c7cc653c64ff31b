"""RACE: a folder of exam passages with their questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from foreword.basics.files import parse_json
from foreword.basics.messages import Fault
from foreword.tasks.files import BySplit, SearchPath, text_of
from foreword.tasks.template import Row


class Race(BySplit):
    """RACE: a folder of passages, each a JSON file {"article", "questions", "options", "answers"}. Fields: one question each."""

    kind: Literal["race"] = "race"
    train: str = ""
    valid: str = ""
    test: str = ""

    def rows(self, split: str, where: SearchPath) -> Sequence[Row]:
        found: list[Row] = []
        for path in sorted(where.find(getattr(self, split), folder=True).rglob("*.txt")):
            try:
                passage = parse_json(text_of(path))
                asked = zip(passage["questions"], passage["options"], passage["answers"], strict=True)
                for question, options, answer in asked:
                    row = {"article": passage["article"], "question": question, "options": options, "answer": answer}
                    found.append({"id": f"{path.stem}-{len(found)}", **row})
            except (KeyError, TypeError, ValueError) as error:
                raise Fault(f"this is not a passage of RACE: {error!r}.", where=str(path)) from error
        if not found:
            raise Fault(f"{getattr(self, split)} holds no passage.")
        return found
