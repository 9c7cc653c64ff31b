"""The text stream: whole characters only, nothing of a stop string, and in the end all of the text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foreword.generate.text_stream import BROKEN, TextStream


@pytest.fixture(scope="module")
def bytes_(store):
    return store("byte").tokenizer


def told(tokenizer, ids, stop=()):
    stream = TextStream(tokenizer, stop)
    pieces = []
    for token in ids:
        pieces.append(stream.add(token))
        if stream.stopped:
            break
    pieces.append(stream.close())
    return stream, pieces


@settings(max_examples=200, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
@example("naïve 今天 😀👍🏽 e\u0301")
@example(BROKEN + "a" + BROKEN)
def test_characters_are_told_whole_and_at_once(bytes_, text):
    ids = bytes_.encode(text)
    stream, pieces = told(bytes_, ids)
    assert "".join(pieces) == text == stream.text
    # each character comes with its last byte (a real U+FFFD looks like half a character and waits)
    if BROKEN not in text:
        lengths = [len(character.encode()) for character in text]
        assert [i + 1 for i, piece in enumerate(pieces[:-1]) if piece] == np.cumsum(lengths).tolist()


@settings(max_examples=300, deadline=None)
@given(ids=st.lists(st.integers(0, 255), max_size=30))
@example([0xE4] * 12 + [0xBB, 0x8A])
@example([0xF0, 0x9F, 0x98] * 5 + [0x80])
@example([0x80] * 20)
@example([0x80] * 8 + [0xE4, 0xBB, 0x8A, 0x41])
def test_bytes_that_are_no_text_end_as_the_decoder_has_them(bytes_, ids):
    stream, pieces = told(bytes_, ids)
    assert "".join(pieces) == stream.text == bytes_.decode(ids)


@settings(max_examples=200, deadline=None)
@given(
    text=st.text("ab今😀\n", max_size=25),
    stop=st.lists(st.text("ab今😀\n", min_size=1, max_size=4), min_size=1, max_size=3),
)
@example("aab", ["aab"])
@example("aaab", ["aab"])
@example("ab", ["abb"])
def test_nothing_of_a_stop_string_is_told(bytes_, text, stop):
    _, pieces = told(bytes_, bytes_.encode(text), stop)
    ends = [text.find(word) for word in stop if word in text]
    stream, _ = told(bytes_, bytes_.encode(text), stop)
    assert "".join(pieces) == stream.text
    assert stream.stopped == bool(ends)
    if not ends:
        assert stream.text == text
    else:
        # whichever stop string was complete first; of several, the one that began first
        spans = [(text.find(word) + len(word), text.find(word)) for word in stop if word in text]
        assert stream.text == text[: min(spans)[1]]


def test_of_several_stop_strings_in_one_token_the_earliest_counts(store):
    tokenizer = store().tokenizer
    ids = tokenizer.encode(" are not")
    for stop in (("e ", " n"), (" n", "e ")):
        assert told(tokenizer, ids, stop)[0].text == " ar"


@pytest.mark.parametrize("kind", ["byte_bpe", "wordpiece"])
def test_pieces_of_other_tokenizers_join_to_their_text(store, kind):
    tokenizer = store(kind).tokenizer
    for document in range(3):
        ids = store(kind).document(document)[:200].tolist()
        stream, pieces = told(tokenizer, ids)
        assert "".join(pieces) == stream.text == tokenizer.decode(ids)


def test_random_tokens_join_to_their_text(store):
    tokenizer = store("byte_bpe").tokenizer
    for seed in range(40):
        ids = np.random.default_rng(seed).integers(0, 511, 60).tolist()
        stream, pieces = told(tokenizer, ids)
        assert "".join(pieces) == stream.text == tokenizer.decode(ids)
