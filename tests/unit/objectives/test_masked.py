"""BERT's masking over 200,000 tokens: 15%, of which 80/10/10, specials never, replacements uniform."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from foreword.basics.seeds import chance
from foreword.batches.row import Row
from foreword.batches.sentence_pairs import SentencePairs
from foreword.objectives.base import NOTHING
from foreword.objectives.masked import Masked, ordinary_ids
from foreword.objectives.next_sentence import FOLLOWS, RANDOM, NextSentence
from tests.rows import paired

SPECIALS = ("[pad]", "[unknown]", "[cls]", "[separator]", "[mask]", "[end]")


@pytest.fixture(scope="module")
def tokenizer(store):
    return store("wordpiece").tokenizer


@pytest.fixture(scope="module")
def hidden(store, tokenizer):
    """(original, shown, targets) of rows that carry every special among their ids: more than 200,000 tokens."""
    ordinary, mask = ordinary_ids(tokenizer), tokenizer.special("[mask]")
    text = store("wordpiece").read(0, store("wordpiece").tokens)
    specials = np.array([tokenizer.special(name) for name in SPECIALS])
    found = []
    for number in range(1100):
        start = number * 97 % (len(text) - 200)
        ids = np.concatenate([specials, text[start : start + 200], specials])
        found.append((ids, *Masked().hide(ids, mask, ordinary, chance(0, number))))
    return [np.concatenate(each) for each in zip(*found)]


def test_the_shares_are_the_papers(hidden, tokenizer):
    ids, shown, targets = hidden
    ordinary = np.isin(ids, ordinary_ids(tokenizer))
    guessed = targets != NOTHING
    assert ordinary.sum() > 200_000
    assert guessed.sum() / ordinary.sum() == pytest.approx(0.15, abs=0.003)
    mask = tokenizer.special("[mask]")
    assert (shown[guessed] == mask).mean() == pytest.approx(0.8, abs=0.01)
    other = (shown[guessed] != mask) & (shown[guessed] != ids[guessed])
    assert other.mean() == pytest.approx(0.1, abs=0.01)
    assert (shown[guessed] == ids[guessed]).mean() == pytest.approx(0.1, abs=0.01)


def test_specials_are_never_hidden_and_never_put_in(hidden, tokenizer):
    ids, shown, targets = hidden
    special = ~np.isin(ids, ordinary_ids(tokenizer))
    assert special.sum() >= 12_000
    assert (targets[special] == NOTHING).all()
    assert (shown[special] == ids[special]).all()
    swapped = (targets != NOTHING) & (shown != ids) & (shown != tokenizer.special("[mask]"))
    assert np.isin(shown[swapped], ordinary_ids(tokenizer)).all()
    named = {tokenizer.special(name) for name in tokenizer.specials}
    assert not named & set(ordinary_ids(tokenizer).tolist())
    assert len(ordinary_ids(tokenizer)) == len(tokenizer) - len(named)


def test_targets_are_the_tokens_that_stood_there(hidden):
    ids, shown, targets = hidden
    guessed = targets != NOTHING
    assert (targets[guessed] == ids[guessed]).all()
    assert (shown[~guessed] == ids[~guessed]).all()


def test_replacements_are_uniform(hidden, tokenizer):
    ids, shown, targets = hidden
    swapped = (targets != NOTHING) & (shown != ids) & (shown != tokenizer.special("[mask]"))
    counts = np.bincount(shown[swapped], minlength=len(tokenizer))[ordinary_ids(tokenizer)]
    # a replacement that equals the token shows as kept: what is expected is a little less where tokens are frequent
    frequency = np.bincount(ids[np.isin(ids, ordinary_ids(tokenizer))], minlength=len(tokenizer))[
        ordinary_ids(tokenizer)
    ]
    expected = 1 - frequency / frequency.sum()
    assert chisquare(counts, expected / expected.sum() * counts.sum()).pvalue > 0.001


def test_every_place_is_equally_likely(tokenizer):
    ordinary = ordinary_ids(tokenizer)
    ids = ordinary[:40]
    times = np.zeros(40)
    for number in range(2000):
        times += Masked().hide(ids, tokenizer.special("[mask]"), ordinary, chance(1, number))[1] != NOTHING
    assert chisquare(times).pvalue > 0.001


def test_a_short_row_still_has_one_guess(tokenizer):
    ordinary = ordinary_ids(tokenizer)
    for length in (1, 2, 3):
        targets = Masked().hide(ordinary[:length], 4, ordinary, chance(0))[1]
        assert (targets != NOTHING).sum() == 1
    nothing = Masked().hide(np.array([tokenizer.special("[cls]")]), 4, ordinary, chance(0))[1]
    assert (nothing == NOTHING).all()


def test_pairs_are_laid_out_as_bert_reads_them(tokenizer):
    cls, sep = tokenizer.special("[cls]"), tokenizer.special("[separator]")
    a, b = ordinary_ids(tokenizer)[:3], ordinary_ids(tokenizer)[3:5]
    rows = [Row(a, 0, 0, b, follows=False), Row(a[:1], 1, 0, b[:1], follows=True)]
    batch = NextSentence().collate(rows, tokenizer)
    assert batch.inputs.ids[0].tolist() == [cls, *a, sep, *b, sep]
    assert batch.inputs.segments[0].tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    assert batch.inputs.real[1].tolist() == [True] * 5 + [False] * 3
    assert batch.inputs.ids[1, 5:].tolist() == [tokenizer.special("[pad]")] * 3
    assert batch.targets["next_sentence"].tolist() == [RANDOM, FOLLOWS]
    masked = Masked().collate(rows, tokenizer)
    assert (masked.inputs.segments == batch.inputs.segments).all()
    assert (masked.targets["tokens"][1, 5:] == NOTHING).all()


def test_statistics_say_what_is_true(store, tokenizer):
    objective, open_store = Masked(), store("wordpiece")
    rows = paired(SentencePairs(length=64)).over(open_store, 300, 0).rows(0, 0, 300)
    said = objective.statistics(objective.collate(rows, tokenizer), tokenizer)
    assert said["of tokens: to guess"] == pytest.approx(0.15, abs=0.01)
    assert said["special tokens to guess"] == 0
    assert sum(
        said[f"of guesses: shown as {what}"] for what in ("[mask]", "another token", "they are")
    ) == pytest.approx(1)
    follows = NextSentence().statistics(NextSentence().collate(rows, tokenizer), tokenizer)
    assert follows["pairs"] == 300
    assert follows["of pairs: the second text follows the first"] == pytest.approx(
        np.mean([row.follows for row in rows])
    )


def test_settings_that_cannot_be_are_faults():
    assert Masked(rate=1.0).faults()[0][0] == "rate"
    assert Masked(hidden=0.8, random=0.3).faults()[0][0] == "hidden"
    assert not Masked().faults()
