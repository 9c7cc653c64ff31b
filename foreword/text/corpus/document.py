"""A document of a corpus knows where it came from and what the stages noted of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from foreword.basics.files import JsonObject
from foreword.text.document import Dialogue, Document
from foreword.text.rows import json_rows


@dataclass(frozen=True)
class CorpusDocument(Document):
    """`source` is the file it was read from, `name` the source in the plan that the file belongs to."""

    id: str = ""  # shard and place in it, as in 3.17: the same however many processes work
    name: str = ""
    address: str = ""  # of a page
    date: str = ""
    passed: Mapping[str, Any] = field(default_factory=dict, hash=False)  # stage -> what it noted

    def noted(self, stage: str, note: object) -> CorpusDocument:
        return replace(self, passed={**self.passed, stage: note})

    def row(self) -> JsonObject:
        said = self.dialogue
        content: JsonObject = {"turns": said.turns, "weights": said.learned} if said else {"text": self.text}
        about = {"id": self.id, "name": self.name, "source": self.source, "address": self.address, "date": self.date}
        return {**content, **{key: value for key, value in about.items() if value}, "passed": dict(self.passed)}


def of_row(row: JsonObject) -> CorpusDocument:
    said = Dialogue(tuple(row["turns"]), tuple(row["weights"])) if "turns" in row else None
    about = {key: row.get(key, "") for key in ("source", "id", "name", "address", "date")}
    return CorpusDocument(said.text if said else row["text"], dialogue=said, passed=row["passed"], **about)


def read_rows(path: Path) -> Iterator[CorpusDocument]:
    """The documents of a file that a build has written."""
    with open(path, encoding="utf-8", newline="\n") as file:
        for _, row in json_rows(enumerate(file, 1)):
            yield of_row(row)
