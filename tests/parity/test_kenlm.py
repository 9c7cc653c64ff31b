"""Our ARPA files, read by KenLM, give our numbers; and Kneser-Ney behaves on WikiText-2 as the literature says."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from foreword.counts.arpa import names, read_arpa, write_arpa
from foreword.counts.ngrams import NGram
from foreword.counts.smoothed import SmoothedNGram
from foreword.counts.smoothing import Katz, WittenBell
from foreword.tokens.vocabulary import Vocabulary

DATA = Path(os.environ["FOREWORD_DATA"])

PROSE = (
    """The old harbour lies below the town, and the town lies below the hill.
Every morning the boats go out, and every evening the boats come back.
Nobody in the town can say when the first boat went out of the old harbour.

In winter the hill is white, the town is grey and the harbour is black.
The boats stay in, and the old men say that the winter will be long.
Every winter the old men say that, and every winter they are right — or nearly.
"""
    * 3
)


def words(text: str) -> tuple[list[list[int]], list[str]]:
    documents = [line.split() for line in text.splitlines()]
    pieces = ["[pad]", *sorted({word for document in documents for word in document}), "<unk>"]
    return [[pieces.index(word) for word in document] for document in documents], pieces


def chunks(text: str) -> tuple[list[list[int]], list[str]]:
    """Like byte-BPE: pieces with leading spaces, line ends and escaped-looking strings."""
    documents = [re.findall(r" ?\w{1,3}|\s|[^\w\s]", part, re.S) for part in text.split("\n\n")]
    pieces = ["<s>", "\\u{20}", "\x00", *sorted({piece for document in documents for piece in document})]
    return [[pieces.index(piece) for piece in document] for document in documents], pieces


def single_bytes(text: str) -> tuple[list[list[int]], list[str]]:
    """All 256 bytes; those that are no character on their own all look the same."""
    pieces = [bytes([value]).decode("utf-8", "replace") for value in range(256)]
    return [list(part.encode()) for part in text.split("\n\n")], pieces


SPECS = [
    *(SmoothedNGram(order=order) for order in (2, 3, 5)),
    SmoothedNGram(order=3, smoothing=Katz()),
    SmoothedNGram(order=4, smoothing=WittenBell()),
    SmoothedNGram(order=4, prune=[0, 0, 1]),
    SmoothedNGram(order=4, entropy=3e-4),
    SmoothedNGram(order=4, quantize=6, hashed=True),
    SmoothedNGram(order=3, smoothing=Katz(), prune=[0, 1], entropy=1e-4),
]


@pytest.mark.parametrize(
    "spec", SPECS, ids=lambda spec: f"{spec.smoothing.kind}-{spec.order}-{spec.prune}-{spec.entropy}"
)
@pytest.mark.parametrize("level", [words, chunks, single_bytes])
def test_kenlm_reads_our_file_and_gives_our_numbers(level, spec, tmp_path):
    kenlm = pytest.importorskip("kenlm", reason="kenlm is not installed: OUR ARPA FILES ARE NOT CHECKED AGAINST IT")
    documents, pieces = level(PROSE)
    end = len(pieces)
    vocabulary = Vocabulary(size=end + 1, end=end, silent=(0,) if pieces[0] == "[pad]" else ())
    model = spec.build(vocabulary)
    model.count(np.concatenate([[*document, end] for document in documents]))
    model.estimate(None)
    path = tmp_path / "ours.arpa"
    write_arpa(model, [*pieces, "[end]"].__getitem__, path)
    theirs, again = kenlm.Model(str(path)), read_arpa(path)
    assert theirs.order == spec.order
    called = names(vocabulary, [*pieces, "[end]"].__getitem__)
    there = {name: token for token, name in enumerate(again.pieces)}
    unusual = [[], documents[0][::-1], [end - 1, 1, 2, end - 1], documents[1][3:9] * 2]
    for document in [*documents[:8], *unusual]:
        ids = np.array([end, *document, end])
        mine = model.score([ids], [1])[0] / np.log(10)
        sentence = " ".join(called[token] for token in document)
        scored = list(theirs.full_scores(sentence, bos=True, eos=True))
        assert len(scored) == len(mine)
        np.testing.assert_allclose([entry[0] for entry in scored], mine, rtol=0, atol=1e-4)
        back = again.score([np.array([there[called[token]] for token in ids])], [1])[0] / np.log(10)
        np.testing.assert_allclose(back, mine, rtol=0, atol=1e-7)
        # without a begin symbol: the middle of a document
        if len(document) > 1:
            middle = list(theirs.full_scores(sentence, bos=False, eos=False))[1:]
            inside = model.score([np.array(document)], [1])[0] / np.log(10)
            np.testing.assert_allclose([entry[0] for entry in middle], inside, rtol=0, atol=1e-4)


def wikitext(name: str) -> list[list[str]]:
    path = DATA / "wikitext-2" / name
    if not path.exists():
        pytest.skip(f"{path} IS NOT THERE: Kneser-Ney was not tried on WikiText-2 (set FOREWORD_DATA)")
    articles = re.split(r"(?m)^(?= = [^=].*[^=] = $)", path.read_text(encoding="utf-8"))
    return [article.replace("\n", " <line> ").split() for article in articles if article.strip()]


def test_on_wikitext_kneser_ney_gains_by_order_and_add_k_loses():
    train, valid, test = wikitext("train.part1.txt"), wikitext("valid.txt"), wikitext("test.txt")
    table = {word: token for token, word in enumerate(dict.fromkeys(word for part in train for word in part))}
    unknown, end = table.setdefault("<unk>", len(table)), len(table)

    def ids(articles: list[list[str]]) -> np.ndarray:
        return np.concatenate([[*(table.get(word, unknown) for word in article), end] for article in articles])

    seen, held_out, tested = ids(train), ids(valid), np.append(end, ids(test))
    assert len(seen) > 900_000
    vocabulary = Vocabulary(size=end + 1, end=end, silent=())

    def bits(spec: NGram | SmoothedNGram) -> float:
        model = spec.build(vocabulary)
        model.count(seen)
        model.estimate(held_out)
        return float(-model.score([tested], [1])[0].mean() / np.log(2))

    kneser_ney = {order: bits(SmoothedNGram(order=order)) for order in (1, 2, 3, 5)}
    add_k = {order: bits(NGram(order=order)) for order in (1, 2, 3, 5)}
    assert kneser_ney[5] < kneser_ney[3] < kneser_ney[2] < kneser_ney[1]
    assert add_k[2] < add_k[3] < add_k[5]
    assert kneser_ney[2] < add_k[2] < add_k[1] < np.log2(end)
