"""More pieces for a tokenizer that is there: old ids keep their meaning, the field's words are whole, BPE merges on."""

from __future__ import annotations

import pytest

from foreword.basics.messages import Fault
from foreword.tokens import quick
from foreword.tokens.extension import extended, old_pieces
from foreword.tokens.kinds import ByteBPE, Unigram, WordPiece
from foreword.tokens.page import Page
from tests.tiny import documents

FIELD = ["The glomerulonephritis of the nephron. Glomerulonephritis is no nephrosis, and a nephron is small."] * 9
KINDS = {
    "wordpiece": WordPiece(vocabulary=400),
    "byte_bpe": ByteBPE(vocabulary=400),
    "tagged": ByteBPE(vocabulary=400, specials="roberta"),
}


@pytest.fixture(scope="module", params=KINDS)
def pair(request):
    old = KINDS[request.param].learn(iter(list(documents())[:12]))
    return old, extended(old, FIELD, 30)


def test_old_ids_keep_their_meaning_and_new_ones_come_behind(pair):
    old, new = pair
    assert 0 < len(new) - len(old) <= 30
    assert new.pieces(range(len(old))) == old.pieces(range(len(old)))
    assert all(new.special(name) == old.special(name) for name in old.specials)
    assert (new.kind, new.lossless) == (old.kind, old.lossless)


def test_the_fields_words_have_fewer_pieces_and_the_text_is_the_same(pair):
    old, new = pair
    assert len(new.encode(FIELD[0])) < 0.6 * len(old.encode(FIELD[0]))
    assert new.decode(new.encode(FIELD[0])) == old.decode(old.encode(FIELD[0]))
    seldom = "an unrelated sentence with other words"
    assert len(new.encode(seldom)) <= len(old.encode(seldom))


def test_a_new_piece_is_what_its_old_pieces_were(pair):
    old, new = pair
    for token, pieces in zip(range(len(old), len(new)), old_pieces(old, new)):
        assert len(pieces) > 1
        assert old.decode(pieces).replace(" ", "") == new.decode([token]).replace(" ", "")


def test_it_is_saved_and_the_quick_encoder_agrees(pair, tmp_path):
    _, new = pair
    new.save(tmp_path)
    again = type(new).load(tmp_path)
    assert again.fingerprint == new.fingerprint
    texts = [*FIELD, *list(documents())[:4]]
    encode = quick.quick_encoder(new.backend)
    if encode is not None:
        ids, sizes = encode(Page.of(texts))
        plain = [new.backend.encode(text, add_special_tokens=False).ids for text in texts]
        assert sizes.tolist() == [len(one) for one in plain]
        assert ids.tolist() == [token for one in plain for token in one]


def test_bpe_goes_on_as_if_it_had_never_stopped():
    """The merges after the first are those that a longer training on the same text makes."""
    texts = [" ".join(f"w{number % 7}x{number % 3}" for number in range(300))] * 2
    short, long = (ByteBPE(vocabulary=size).learn(iter(texts)) for size in (262, 272))
    grown = extended(short, texts, 10)
    assert set(grown.pieces(range(len(short), len(grown)))) == set(long.pieces(range(len(long)))) - set(
        short.pieces(range(len(short)))
    )
    assert [grown.pieces([token])[0] for token in grown.encode(texts[0])] == [
        long.pieces([token])[0] for token in long.encode(texts[0])
    ]


def test_what_extends_nothing_is_known(pair):
    old, new = pair
    assert old_pieces(new, old) is None
    other = WordPiece(vocabulary=300).learn(iter(FIELD))
    assert old_pieces(old, other) is None
    assert old_pieces(old, old) is None


def test_a_kind_that_cannot_is_told_so():
    unigram = Unigram(vocabulary=120).learn(iter(list(documents())[:6]))
    with pytest.raises(Fault, match="cannot take more pieces"):
        extended(unigram, FIELD, 5)


def test_what_is_seldom_becomes_no_piece():
    old = KINDS["byte_bpe"].learn(iter(list(documents())[:12]))
    assert len(extended(old, ["a small nephron."] * 4, 30)) == len(old)
    assert len(extended(old, ["a small nephron."] * 5, 30)) > len(old)
