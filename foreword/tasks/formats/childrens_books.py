"""The Children's Book Test: twenty sentences and one with a gap."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from foreword.tasks.files import Files, numbered
from foreword.tasks.template import Row
from foreword.text.rows import RowFault


class ChildrensBooks(Files):
    """The Children's Book Test: twenty numbered sentences, then one with XXXXX, the right word and ten candidates."""

    kind: Literal["cbt"] = "cbt"

    def read(self, path: Path) -> Iterator[Row]:
        sentences: list[str] = []
        for number, line in numbered(path):
            place, _, rest = line.partition(" ")
            if place == "21":
                parts = rest.split("\t")
                if len(parts) < 4 or "XXXXX" not in parts[0]:
                    raise RowFault(
                        number, "line 21 of a passage must hold XXXXX, the right word and the candidates, by tabs."
                    )
                before, _, after = parts[0].partition("XXXXX")
                candidates = [word for word in parts[-1].split("|") if word]
                if parts[1] not in candidates:
                    raise RowFault(number, f"the right word {parts[1]!r} is not among the candidates.")
                yield {
                    "passage": " ".join(sentences),
                    "before": before.rstrip(),
                    "after": after,
                    "choices": candidates,
                    "gold": candidates.index(parts[1]),
                }
                sentences = []
            elif rest.strip():
                sentences.append(rest.strip())
