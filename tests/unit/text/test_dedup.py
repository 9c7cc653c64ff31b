"""Planted copies are found, different documents survive."""

import random

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.text.dedup import rows_per_band, signatures, without_near_duplicates
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
