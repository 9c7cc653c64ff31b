"""Stories of four sentences and two endings, cut from text: the true fifth sentence, and one that stands elsewhere.

ROCStories, the set of the story cloze, may not be handed on. Where the wrong ending is another author's, style gives it away;
where it is from the same text, it cannot (Schwartz et al. 2017 on the endings that people wrote).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from numpy.random import Generator

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance, number_of
from foreword.tasks.files import Generated, SearchPath, text_of
from foreword.tasks.template import Row

SENTENCES = 4  # sentences of a story
_END = re.compile(r"(?<=[.!?])\s+(?=\S)")
SHORTEST, LONGEST = 20, 200  # characters of a sentence


class Endings(Generated):
    """Four sentences of a text, its fifth, and another sentence of it (or of `other`, by another author)."""

    kind: Literal["endings"] = "endings"
    text: str  # a text file
    other: str = ""  # where wrong endings are from; the same text by default
    examples: int = 4000

    def drawn(self, where: SearchPath) -> Sequence[Row]:
        stories = [
            part[at : at + SENTENCES + 1]
            for part in paragraphs(text_of(where.find(self.text)))
            for at in range(0, len(part) - SENTENCES, SENTENCES + 1)
        ]
        if not stories:
            raise Fault(f"{self.text} has no paragraph of {SENTENCES + 1} sentences.", "Give a text of paragraphs.")
        wrong = (
            [sentence for part in paragraphs(text_of(where.find(self.other))) for sentence in part]
            if self.other
            else [story[-1] for story in stories]
        )
        found = []
        for number in chance(self.seed, number_of("endings")).permutation(len(stories))[: self.examples].tolist():
            *sentences, right = stories[number]
            rng = chance(self.seed, number_of("ending", number))
            choices = [right, _other_than(right, wrong, rng)]
            place = int(rng.integers(2))
            found.append(
                {"story": " ".join(sentences), "endings": choices if not place else choices[::-1], "right": place}
            )
        return found


def _other_than(right: str, wrong: Sequence[str], rng: Generator) -> str:
    picked = right
    while picked == right:
        picked = wrong[int(rng.integers(len(wrong)))]
    return picked


def paragraphs(text: str) -> list[list[str]]:
    """The sentences of each line; those that are no sentences, by their length, end a paragraph."""
    found: list[list[str]] = []
    for line in text.split("\n"):
        found.append([])
        for sentence in _END.split(line.strip()):
            if SHORTEST <= len(sentence) <= LONGEST:
                found[-1].append(sentence)
            else:
                found.append([])
    return found
