"""bAbI: short stories of numbered facts, a question here and there, and the numbers of the facts that answer it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from foreword.basics.messages import Fault
from foreword.tasks.files import ExampleSource, Line, Missing, SearchPath, numbered
from foreword.tasks.template import Row
from foreword.text.rows import RowFault

NAMES = (
    "single-supporting-fact",
    "two-supporting-facts",
    "three-supporting-facts",
    "two-arg-relations",
    "three-arg-relations",
    "yes-no-questions",
    "counting",
    "lists-sets",
    "simple-negation",
    "indefinite-knowledge",
    "basic-coreference",
    "conjunction",
    "compound-coreference",
    "time-reasoning",
    "basic-deduction",
    "basic-induction",
    "positional-reasoning",
    "size-reasoning",
    "path-finding",
    "agents-motivations",
)
FOLDERS = {"1k": "en", "10k": "en-10k"}


class Babi(ExampleSource):
    """One of the 20 tasks. Fields: story, question, answer (several words with spaces between), facts, supporting."""

    kind: Literal["babi"] = "babi"
    task: int
    size: Literal["1k", "10k"] = "1k"  # questions to learn from

    def faults(self) -> list[tuple[str, str]]:
        wrong = not 1 <= self.task <= len(NAMES)
        return [("task", f"the tasks are 1 to {len(NAMES)} (it says {self.task}).")] if wrong else []

    def splits(self) -> list[str]:
        return ["train", "test"]

    def shown(self, split: str) -> str:
        return f"babi/{FOLDERS[self.size]}/qa{self.task}_{NAMES[self.task - 1]}_{split}.txt"

    def rows(self, split: str, where: SearchPath) -> Sequence[Row]:
        path = where.find(self.shown(split))
        try:
            found = list(questions(path))
        except RowFault as fault:
            raise Fault(fault.what, fault.do, where=f"{path}:{fault.number}") from fault
        if not found:
            raise Missing(f"{path} holds no question.")
        return found


def questions(path: Path) -> Iterator[Row]:
    """Every question of a file, with the facts of its story that stand before it."""
    facts: dict[int, str] = {}
    before = 0
    for place, line in numbered(path):
        number, _, text = line.strip().partition(" ")
        if not number.isdigit() or not text:
            raise RowFault(place, f"a line of bAbI is a number and a sentence (it says {line.strip()[:60]!r}).")
        if int(number) == 1:
            facts = {}
        elif int(number) != before + 1:
            raise RowFault(place, f"line {number} of a story stands behind line {before}.", "Is the file cut off?")
        before = int(number)
        asked, *rest = text.split("\t")
        if not rest:
            facts[before] = text.strip()
            continue
        if len(rest) != 2 or not rest[0].strip() or not all(one.isdigit() for one in rest[1].split()):
            raise RowFault(
                place, "a question has its answer and the numbers of the facts that show it, with tabs between."
            )
        supporting = [int(one) for one in rest[1].split()]
        if missing := [one for one in supporting if one not in facts]:
            raise RowFault(place, f"fact {missing[0]} of the story, which shows the answer, does not stand before it.")
        yield Line(
            {
                "story": " ".join(facts.values()),
                "question": asked.strip(),
                "answer": rest[0].strip().replace(",", " "),
                "facts": list(facts.values()),
                "supporting": [list(facts).index(one) for one in supporting],
            },
            place,
        )
