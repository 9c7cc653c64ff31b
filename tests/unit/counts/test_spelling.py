"""Unknown words, spelled out: what bits per byte of a word model must pay for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from foreword.counts.smoothed import SmoothedNGram
from foreword.counts.spelling import END, Spelling
from foreword.evaluate.bits_per_byte import score_texts, text_of
from foreword.tokens.kinds import Word

KNOWN = "the cat sat on the mat . the dogs sat on the cats .\nthe mat sat"


@pytest.fixture
def tokenizer():
    return Word().train(iter([KNOWN]))


def scored(tokenizer, text):
    model = SmoothedNGram(order=2).build(tokenizer.vocabulary())
    model.count(np.append(tokenizer.encode(KNOWN), tokenizer.special("[end]")))
    model.estimate()
    return score_texts(model, tokenizer, [text_of(text, tokenizer)]).score


def test_a_word_costs_more_the_longer_and_the_stranger_it_is():
    spelling = Spelling(["walking", "talking", "walked", "talked", "walks", "talks"])
    assert spelling.nats(["balked"]) < spelling.nats(["zxqjvk"])
    assert spelling.nats(["walk"]) < spelling.nats(["walkwalkwalk"])
    assert np.isclose(spelling.nats(["walk", "水"]), spelling.nats(["walk"]) + spelling.nats(["水"]))


def test_all_words_together_have_probability_one():
    """Every string of two letters up to length four, and the mass of longer ones, by going through the bytes."""
    model = Spelling(["ab", "ba", "aab"]).model
    total = 0.0
    for length in range(3):
        for word in itertools.product(range(256), repeat=length) if length < 2 else ():
            total += np.exp(model.score([np.array([END, *word, END])], [1])[0].sum())
    single, _ = model.begin([np.array([END, letter]) for letter in range(256)])
    open_after_one = np.exp(model.begin([np.array([END])])[0][0, :256])
    still_open = (open_after_one * (1 - np.exp(single[:, END]))).sum()
    assert np.isclose(total + still_open, 1, atol=1e-10)


def test_which_words_are_unknown_is_found_in_the_text(tokenizer):
    def unknown(text):
        return tokenizer.unknown_words(text, tokenizer.encode(text))

    assert unknown("the hyena sat on\nthe <unk> rug") == ["hyena", "rug"]
    assert unknown("the cat") == []
    assert unknown("the  hyena") is None  # how many spaces there were is lost as well


def test_bits_per_byte_pays_for_every_letter_and_perplexity_per_token_does_not(tokenizer):
    known, short, long = (scored(tokenizer, f"the {word} sat") for word in ("cat", "hyena", "hyenahyena"))
    assert known.spelled == 0
    assert 0 < short.spelled < long.spelled
    assert short.perplexity == long.perplexity
    assert np.isclose(short.bits_per_byte, (short.nats + short.spelled) / np.log(2) / len("the hyena sat"))
    assert short.lossless
    assert scored(tokenizer, "the  hyena sat").bits_per_byte is None
