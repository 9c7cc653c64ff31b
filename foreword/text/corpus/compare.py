"""How two corpora differ: sizes, documents they share, and the words that tell them apart."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from foreword.text.corpus.why import rows
from foreword.text.dedup import content_key
from foreword.text.words import words

READ = 20 * 2**20  # characters of each whose words are counted
TELLING, FEWEST = 12, 5  # words shown for each, and how often one has to occur in both together


@dataclass(frozen=True)
class CorpusDifference:
    shared: int  # documents that are in both, to the letter
    first: list[str]  # words that the first has more of
    second: list[str]


def difference(first: Path, second: Path) -> CorpusDifference:
    keys, counts = zip(*(_looked_through(folder) for folder in (first, second)))
    return CorpusDifference(len(keys[0] & keys[1]), _telling(*counts), _telling(*reversed(counts)))


def _looked_through(folder: Path) -> tuple[set[bytes], Counter[str]]:
    keys, counts, read = set[bytes](), Counter[str](), 0
    for kept, row in rows(folder):
        if not kept:
            break  # what was removed comes last
        text = row.get("text") or "\n".join(row["turns"])
        keys.add(content_key(text))
        if read < READ:
            counts.update(words(text))
            read += len(text)
    return keys, counts


def _telling(mine: Counter[str], others: Counter[str]) -> list[str]:
    """The words with the largest difference of log shares, in standard errors of it (Monroe et al. 2008, prior 0.5)."""
    total, other = sum(mine.values()) + 1, sum(others.values()) + 1

    def score(word: str) -> float:
        here, there = mine[word] + 0.5, others[word] + 0.5
        return (math.log(here / total) - math.log(there / other)) / math.sqrt(1 / here + 1 / there)

    known = [word for word in mine if mine[word] + others[word] >= FEWEST and score(word) > 2]
    return sorted(known, key=lambda word: (-score(word), word))[:TELLING]
