"""Metrics of replies: against other people's programs, by hand, and at their ends (a perfect reply, a constant one, none)."""

import math

import pytest

from foreword.basics.seeds import chance
from foreword.tasks import replies
from foreword.tasks.replies import (
    bleu,
    compared,
    distinct,
    dull,
    entropy,
    length,
    metrics,
    nist,
    tokens,
)

REFERENCES = [
    "I went to the market yesterday.",
    "The cat sat on the mat, I think.",
    "Yes, we can go home now.",
    "你想去公园看花吗？",
]
SAID = ["I went to the old market.", "A cat sat on a mat.", "Yes, we can go.", "我想去公园。"]


def test_bleu_is_sacrebleus():
    sacrebleu = pytest.importorskip("sacrebleu")
    assert bleu().of(SAID[:3], REFERENCES[:3]) == pytest.approx(sacrebleu.corpus_bleu(SAID[:3], [REFERENCES[:3]]).score)
    assert bleu().of(SAID[3:], REFERENCES[3:]) == pytest.approx(
        sacrebleu.corpus_bleu(SAID[3:], [REFERENCES[3:]], tokenize="zh").score
    )


def test_nist_is_nltks():
    nltk = pytest.importorskip("nltk.translate.nist_score")
    for n in (1, 2, 4):
        theirs = nltk.corpus_nist([[tokens(one)] for one in REFERENCES], [tokens(one) for one in SAID], n=n)
        assert nist(REFERENCES, n).of(SAID, REFERENCES) == pytest.approx(theirs, rel=1e-10)
    assert nist(REFERENCES).of([""] * 4, REFERENCES) == 0.0


def test_distinct_entropy_and_length_by_hand():
    said = ["a b a b", "a b"]
    assert distinct(1).of(said, said) == 2 / 6
    assert distinct(2).of(said, said) == 2 / 4  # ab ba ab | ab
    assert entropy(1).of(said, said) == pytest.approx(math.log(2))
    assert entropy(4).of(["a b c d e", "a b c d"], ["", ""]) == pytest.approx(
        -(2 / 3) * math.log(2 / 3) - (1 / 3) * math.log(1 / 3)
    )
    assert entropy(4).of(["a b"], [""]) == 0.0
    assert distinct(2).of(["a"], [""]) == 0.0
    assert length().of(["你好 ok !", "a"], ["", ""]) == 2.5


@pytest.mark.parametrize(
    ("reply", "is_dull"),
    [
        ("I don't know .", True),
        ("i don ’ t know!", True),
        ("I don't know, I'm not sure.", True),
        ("嗯", True),
        ("嗯，好的。", True),
        ("", True),
        ("I don't know him .", False),
        ("Okay , at seven then .", False),
        ("嗯，我明天去。", False),
        ("I see you .", False),
    ],
)
def test_a_reply_is_dull_when_all_of_its_sentences_are(reply, is_dull):
    assert dull().of([reply], [""]) == is_dull


def test_words_of_both_languages():
    assert tokens("Don't, 你好ok!") == ["don't", ",", "你", "好", "ok", "!"]


def test_a_person_is_best_and_a_constant_reply_is_neither_distinct_nor_near():
    for metric in metrics(REFERENCES):
        if metric.better:
            perfect = metric.better * metric.of(REFERENCES, REFERENCES)
            assert perfect > metric.better * metric.of(["I don't know."] * 4, REFERENCES), metric.name


def test_a_paired_comparison_says_nothing_of_equals_and_is_sure_of_what_is_plain():
    same = compared(distinct(1), SAID, SAID, REFERENCES)
    assert (same.difference.interval, same.sign) == ((0.0, 0.0), 0)
    empty = ["I don't know."] * 30
    full = [f"the number is {i}" for i in range(30)]
    worse, better = (compared(dull(), one, other, full) for one, other in ((full, empty), (empty, full)))
    assert worse.sign == -1
    assert better.sign == 1
    assert (better.first, better.second, better.difference.interval[1]) == (1.0, 0.0, -1.0)
    half = [f"the number is {i}" if i % 2 else "I don't know." for i in range(30)]
    other = [f"the number is {i}" if i % 2 == 0 else "I don't know." for i in range(30)]
    unsure = compared(dull(), half, other, full)
    assert unsure.sign == 0
    assert unsure.difference.interval[0] < 0 < unsure.difference.interval[1]
    again = compared(dull(), half, other, full)
    assert again.difference.interval == unsure.difference.interval, "the same seed draws the same"


def test_an_interval_holds_what_it_promises():
    """Of many samples of prompts, about 95 in 100 intervals hold the true difference (0.3)."""
    held = 0
    for trial in range(60):
        draw = chance(trial)
        first = ["i don't know" if draw.random() < 0.5 else "so" for _ in range(80)]
        second = ["i don't know" if draw.random() < 0.2 else "so" for _ in range(80)]
        low, high = compared(dull(), first, second, first, trial).difference.interval
        held += low <= -0.3 <= high
    assert held >= 52


def test_dull_phrases_are_in_both_languages():
    assert any(phrase.isascii() for phrase in replies.DULL)
    assert any(not phrase.isascii() for phrase in replies.DULL)
