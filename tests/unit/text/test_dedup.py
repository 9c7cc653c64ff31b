"""Planted copies are found, different documents survive."""

import random
from pathlib import Path

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.text.dedup import (
    SignatureFiles,
    content_key,
    repeated,
    rows_per_band,
    signatures,
    without_near_duplicates,
)
from foreword.text.document import Document

WORDS = [f"{a}{b}" for a in ("ba", "do", "ki", "lu", "me", "no") for b in ("r", "st", "lling", "ven", "tic", "ph", "x")]


def prose(seed: int, length: int = 200) -> list[str]:
    chance = random.Random(seed)
    return [chance.choice(WORDS) + str(chance.randrange(50)) for _ in range(length)]


def changed(words: list[str], share: float, seed: int) -> list[str]:
    chance = random.Random(seed)
    return [f"other{chance.random()}" if chance.random() < share else word for word in words]


def kept(texts: list[str], **settings) -> tuple[list[str], dict]:
    report: dict = {}
    found = [document.text for document in without_near_duplicates(map(Document, texts), report=report, **settings)]
    return found, report


def test_planted_copies_are_removed_and_the_first_is_kept():
    originals = [" ".join(prose(seed)) for seed in range(60)]
    near = [" ".join([*prose(seed)[:100], "altered", *prose(seed)[101:]]) for seed in range(30)]
    exact = ["  " + text + "\n" for text in originals[:10]]
    found, report = kept(originals + near + exact)
    assert found == originals
    assert report == {"read": 100, "exact": 10, "near": 30, "kept": 60}


def test_documents_that_share_a_little_survive():
    halves = [" ".join(changed(prose(7), 0.3, seed)) for seed in range(20)]  # a Jaccard similarity near 0.1
    different = [" ".join(prose(seed)) for seed in range(300, 400)]
    found, report = kept(halves + different)
    assert found == halves + different
    assert report["near"] == 0


def test_a_candidate_below_the_threshold_is_let_go():
    pairs = [
        " ".join(words) for seed in range(20) for words in (prose(seed, 400), changed(prose(seed, 400), 0.03, seed))
    ]
    assert kept(pairs, threshold=0.9)[1]["near"] == 0  # similarities near 0.75
    assert kept(pairs, threshold=0.5)[1]["near"] == 20


def test_chinese_and_short_texts_are_compared_by_characters():
    chance = random.Random(0)
    pages = ["".join(chr(chance.randrange(0x4E00, 0x6000)) for _ in range(400)) for _ in range(20)]
    copies = [page[:200] + "改" + page[201:] for page in pages]
    found, _ = kept(pages + copies + ["a short line of words", "a short line of words!", "quite another short line"])
    assert found == [*pages, "a short line of words", "quite another short line"]


def test_agreement_of_signatures_estimates_jaccard_similarity():
    first, errors = prose(1, 2000), []
    for share in (0.01, 0.03, 0.1):
        second = changed(first, share, 3)
        a, b = ({tuple(words[i : i + 5]) for i in range(len(words) - 4)} for words in (first, second))
        one, two = signatures([" ".join(first), " ".join(second)])
        errors.append((one == two).mean() - len(a & b) / len(a | b))
    assert np.abs(errors).max() < 0.15  # four standard deviations of 128 draws
    assert abs(np.mean(errors)) < 0.08


def test_a_signature_does_not_depend_on_its_neighbours():
    texts = [" ".join(prose(seed, 20 + seed)) for seed in range(9)] + ["", "词", "x y"]
    together = signatures(texts)
    assert all((signatures([text])[0] == row).all() for text, row in zip(texts, together))


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.9, 1.0])
def test_bands_bring_together_pairs_at_the_threshold(threshold):
    rows = rows_per_band(threshold)
    assert 1 - (1 - threshold**rows) ** (128 // rows) >= 0.99


def test_a_threshold_outside_zero_to_one_is_a_fault():
    with pytest.raises(Fault, match=r"1\.5"):
        kept(["x"], threshold=1.5)


def varied(number: int, seed: int = 0) -> list[str]:
    """Texts of which some repeat an earlier one, wholly or nearly, and copies of copies drift away."""
    chance = np.random.default_rng(seed)
    words = [f"word{i}" for i in range(400)]
    texts: list[str] = []
    for _ in range(number):
        kind = chance.random() if texts else 1.0
        if kind < 0.2:
            texts.append(f" {texts[chance.integers(len(texts))]}\n")
        elif kind < 0.5:
            text = texts[chance.integers(len(texts))].split()
            for place in chance.integers(len(text), size=2):
                text[place] = "other"
            texts.append(" ".join(text))
        else:
            texts.append(" ".join(chance.choice(words, chance.integers(5, 80))))
    return texts


@pytest.mark.parametrize("threshold", [0.3, 0.7, 0.9, 1.0])
def test_all_at_once_finds_what_one_by_one_finds(threshold: float, tmp_path: Path) -> None:
    texts = varied(400)
    report: dict[str, int] = {}
    kept = [one.text for one in without_near_duplicates(map(Document, texts), threshold, report)]
    keys = np.frombuffer(b"".join(map(content_key, texts)), "S16")
    minima = signatures(texts)
    paths = [tmp_path / f"{at}.npy" for at in (0, 150)]
    for path, some in zip(paths, (minima[:150], minima[150:])):
        np.save(path, some)
    exact, near = repeated(keys, SignatureFiles(paths), threshold)
    assert [text for text, *copied in zip(texts, exact, near) if max(copied) < 0] == kept
    assert ((exact >= 0).sum(), (near >= 0).sum()) == (report["exact"], report["near"])
    assert report["exact"] > 20
    assert report["near"] > (10 if threshold < 0.9 else -1)
    assert all(texts[first].strip() == texts[copy].strip() for copy, first in enumerate(exact) if first >= 0)
    assert (np.maximum(exact, near) < np.arange(len(texts))).all(), "the first of its kind stays"
