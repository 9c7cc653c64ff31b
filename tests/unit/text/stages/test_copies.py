"""Planted near-duplicates are found as often as bands and rows predict; lines and three sentences stay once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from foreword.text.corpus.document import CorpusDocument
from foreword.text.corpus.stage import Tally, WholeStage
from foreword.text.dedup import HASHES, SHINGLE, rows_per_band, signatures
from foreword.text.stages import repeats as module
from foreword.text.stages.copies import Dedup
from foreword.text.stages.repeats import Repeats


def through(stage: WholeStage, shards: list[list[str]], folder: Path) -> tuple[list[list[str]], Tally]:
    places, tally = [folder / f"{number:05d}" for number in range(len(shards))], Tally()
    given = [
        [CorpusDocument(text, id=f"{number}.{at}") for at, text in enumerate(some)]
        for number, some in enumerate(shards)
    ]
    for some, place in zip(given, places):
        assert list(stage.sketch(iter(some), place)) == some
    stage.compare(places)
    return [[one.text for one in stage.run(iter(some), tally, place)] for some, place in zip(given, places)], tally


def pair(chance: np.random.Generator, jaccard: float, size: int = 400) -> tuple[str, str, float]:
    """Two texts of words used once whose shingles overlap by about this much, and by how much exactly.

    They share a beginning of n shingles and have m more each: n / (n + 2m).
    """
    shared = round(2 * jaccard * size / (1 + jaccard))
    words = [f"w{one}" for one in chance.integers(0, 2**40, shared + SHINGLE - 1 + 2 * (size - shared))]
    begin, rest = words[: shared + SHINGLE - 1], words[shared + SHINGLE - 1 :]
    half = len(rest) // 2
    return " ".join(begin + rest[:half]), " ".join(begin + rest[half:]), shared / (2 * size - shared)


@pytest.mark.parametrize("jaccard", [0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
def test_planted_near_duplicates_share_a_band_as_often_as_predicted(jaccard: float) -> None:
    threshold, number = 0.7, 400
    rows, chance = rows_per_band(threshold), np.random.default_rng(int(100 * jaccard))
    pairs = [pair(chance, jaccard) for _ in range(number)]
    left, right = signatures([one[0] for one in pairs]), signatures([one[1] for one in pairs])
    bands = HASHES // rows
    same = (left == right)[:, : bands * rows].reshape(number, bands, rows).all(2).any(1).mean()
    predicted = 1 - (1 - pairs[0][2] ** rows) ** bands
    print(f"Jaccard {pairs[0][2]:.2f}: {same:.3f} share a band, predicted {predicted:.3f}")
    assert abs(same - predicted) <= 4 * (predicted * (1 - predicted) / number) ** 0.5 + 1 / number


def test_copies_are_found_over_shards_and_name_what_they_repeat(tmp_path: Path) -> None:
    chance = np.random.default_rng(0)
    first, near, _ = pair(chance, 0.95)
    other, _, _ = pair(chance, 0.5)
    kept, tally = through(Dedup(), [[first, other], [other, near, "and a text of its own"]], tmp_path)
    assert kept == [[first, other], ["and a text of its own"]]
    assert [(row["id"], row["rule"], row["like"]) for row in tally.gone] == [
        ("1.0", "exact duplicate", "0.1"),
        ("1.1", "near duplicate", "0.0"),
    ]
    assert through(Dedup(near=False), [[first, other], [other, near]], tmp_path)[0] == [[first, other], [near]]


def test_distinct_texts_are_kept(tmp_path: Path) -> None:
    chance = np.random.default_rng(1)
    texts = [" ".join(f"w{one}" for one in chance.integers(0, 10_000, 100)) for _ in range(500)]
    assert through(Dedup(), [texts], tmp_path)[0] == [texts]


@pytest.mark.parametrize("together", [2, 2**22])
def test_a_line_stands_once_in_the_whole_corpus(tmp_path: Path, monkeypatch, together: int) -> None:
    monkeypatch.setattr(module, "TOGETHER", together)
    footer = "All rights reserved by the owners."
    shards = [[f"First text of all.\n{footer}", "Short.\nShort."], [f"Another text is here.\n{footer.upper()}", footer]]
    kept, tally = through(Repeats(of="lines"), shards, tmp_path)
    assert kept == [[f"First text of all.\n{footer}", "Short.\nShort."], ["Another text is here."]]
    assert tally.changed == {"lines": 2}
    assert tally.removed == {"all of it stood before": 1}


def test_three_sentences_in_a_row_stand_once(tmp_path: Path) -> None:
    three = "One came. Two went! Did three stay?"
    texts = [
        f"Begin here. {three} End here.",
        f"Another begins. {three} Another ends.",
        "Begin here. One came. It left.",
        "一来了。二走了！三呢？",
        "先说。一来了。二走了！三呢？后说。",
    ]
    kept, tally = through(Repeats(), [texts], tmp_path)
    assert kept == [[texts[0], "Another begins.  Another ends.", texts[2], texts[3], "先说。后说。"]]
    assert tally.changed == {"three sentences": 2}
