"""Phrases: joined by the published score, found again by the tokenizer, wherever the words stand so."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from foreword.tokens.kinds import Words
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.word2phrase import count_pairs, find_phrases, pattern, with_phrases

APART = r"\w+(?:'\w+)*|[^\s\w]"


def text(draw, lines: int = 400) -> list[str]:
    """Words at random, "new york" always together and "new york city" often."""
    found = []
    for _ in range(lines):
        words = [f"w{n}" for n in draw.zipf(1.3, 12).clip(1, 60)]
        words[draw.integers(9)] = "new york city" if draw.random() < 0.5 else "new york"
        found.append(" ".join(words))
    return found


def scored(lines, threshold, discount):
    """The original program's loop: a word, the one before it, their counts."""
    words = [line.split() for line in lines]
    one = Counter(word for line in words for word in line)
    both = Counter(pair for line in words for pair in zip(line, line[1:]))
    total = sum(one.values())
    score = {pair: (times - discount) / one[pair[0]] / one[pair[1]] * total for pair, times in both.items()}
    return sorted(" ".join(pair) for pair, value in score.items() if value > threshold)


def test_phrases_are_those_of_the_original_programs_score():
    lines = text(np.random.default_rng(0))
    for threshold, discount in ((3.0, 1), (10.0, 5), (20.0, 0)):
        assert find_phrases(lines, APART, 1, threshold, discount) == scored(lines, threshold, discount) != []
    assert find_phrases(lines, APART, 1, 10.0, 10**6) == []
    once, twice = (find_phrases(lines, APART, passes, 10.0, 5) for passes in (1, 2))
    assert "new york city" in twice
    assert "new york city" not in once
    shuffled = [" ".join(np.random.default_rng(n).permutation(line.split())) for n, line in enumerate(lines)]
    assert find_phrases(shuffled, APART, 2, 10.0, 5) == []  # the same counts, and no order


def test_pairs_are_words_with_one_space_between_them():
    one, both = count_pairs(["a b, a b\na  b a_b a b"], re.compile(APART))
    assert one["a"] == 4
    assert both == {("a", "b"): 3, ("a_b", "a"): 1, ("b", "a_b"): 1}


def test_the_longest_phrase_is_found_and_only_whole_words():
    phrases = ["new york", "new york city", "new year", "york times", "c d", "a+ b"]
    found = pattern(phrases, APART).findall(
        "new york city new york times, renew york; new yorkers new york's new  year a+ b"
    )
    assert found == [
        "new york city",
        "new york",
        "times",
        ",",
        "renew",
        "york",
        ";",
        "new",
        "yorkers",
        "new",
        "york's",
        "new",
        "year",
        "a+ b",
    ]
    assert with_phrases([], APART) == APART


def test_a_tokenizer_with_phrases_encodes_decodes_and_comes_back(tmp_path):
    lines = text(np.random.default_rng(0))
    tokenizer = Words(phrases=2, phrase_score=10.0).train(iter(lines))
    tokenizer.save(tmp_path)
    for one in (tokenizer, Tokenizer.load(tmp_path)):
        ids = one.encode("New York City w1 new  york\nnew york")
        pieces = one.pieces(ids)
        assert (len(pieces), pieces[0], pieces[1], pieces[-1]) == (6, "new york city", "w1", "new york")
        assert one.decode(one.encode("new york city w1")) == "new york city w1"
    assert Tokenizer.load(tmp_path).fingerprint == tokenizer.fingerprint
    assert Words().train(iter(lines)).fingerprint != tokenizer.fingerprint
    # what was counted in training is what is encoded
    seen = Counter(piece for line in lines for piece in tokenizer.pieces(tokenizer.encode(line)))
    assert seen == Counter(
        piece for line in lines for piece in pattern([p for p in seen if " " in p], APART).findall(line)
    )


@pytest.mark.thorough
def test_thousands_of_phrases_are_found_quickly():
    draw = np.random.default_rng(0)
    names = [
        f"{a} {b}"
        for a, b in zip(*(["".join(map(chr, 97 + draw.integers(26, size=5))) for _ in range(5000)] for _ in range(2)))
    ]
    found = pattern(names, APART).findall(" ".join(names))
    assert found == names
