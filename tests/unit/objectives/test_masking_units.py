"""Whole units: never split, the budget kept, 80/10/10, and BERT's own masks where every unit is one token."""

from __future__ import annotations

import numpy as np
import pytest

from foreword.assembly import loader
from foreword.basics.seeds import chance
from foreword.batches.stream import Stream
from foreword.objectives.base import NOTHING
from foreword.objectives.masked import Masked, ordinary_ids
from foreword.objectives.units import NEVER, numbered, whole_units
from foreword.tokens import KINDS
from foreword.tokens.page import Page
from foreword.tokens.units import Units, encode_marked
from tests.tiny import documents, tiny

CHINESE = "我们在北京大学学习语言模型，今天天气很好。他喜欢看红楼梦，也喜欢中华人民共和国的历史！"


def test_units_of_one_token_are_masked_as_bert_does():
    ids = np.arange(10, 300)
    plain = Masked().hide(ids, 4, np.arange(5, 400), chance(3, 5))
    for decide in ("piece", "unit"):
        units = Masked(unit="word", decide=decide).hide(ids, 4, np.arange(5, 400), chance(3, 5), np.arange(len(ids)))
        assert all(np.array_equal(one, other) for one, other in zip(plain, units))


def test_a_unit_with_an_unknown_token_or_a_special_is_never_hidden():
    ids = np.array([2, 10, 11, 1, 12, 3, 13, 14, 3])
    starts = np.array([1, 1, 0, 0, 1, 1, 0, 0, 1], bool)
    units = numbered(ids, starts, np.arange(5, 20), unknown=1)
    assert units.tolist() == [NEVER, NEVER, NEVER, NEVER, 2, NEVER, 4, 4, NEVER]


@pytest.mark.parametrize("seed", range(20))
def test_the_budget_is_met_wherever_a_unit_fits(seed):
    draw = chance(9, seed)
    sizes = draw.integers(1, 6, 40)
    units = np.repeat(np.arange(40), sizes)
    for count in (1, 2, 7, 20, len(units)):
        chosen, taken = whole_units(units, count, draw)
        assert len(set(chosen.tolist())) == len(chosen) == taken.sum()
        left = np.setdiff1d(np.arange(40), units[chosen])
        assert len(chosen) == count or (len(chosen) < count and (sizes[left] > count - len(chosen)).all())
    only = np.repeat(np.arange(3), [4, 3, 5])
    assert len(whole_units(only, 2, draw)[0]) == 3  # nothing fits: a shortest one


def rows_of(kind, segmenter):
    """(ids, units, starts) of about a million tokens, a hundred to a row."""
    settings = {"wordpiece": {"vocabulary": 600}, "byte_bpe": {"vocabulary": 400}}[kind]
    texts = [CHINESE * 8] * 2 if segmenter == "jieba" else list(documents())[:24]
    tokenizer = KINDS.find(kind)(**settings, **({"specials": "roberta"} if kind == "byte_bpe" else {})).learn(
        iter(texts)
    )
    encoded = encode_marked(tokenizer, Page.of(texts), ("word",), Units(("word",), segmenter))
    return tokenizer, encoded.ids.astype(np.int64), encoded.flags == 1


@pytest.mark.parametrize(("kind", "segmenter"), [("wordpiece", "plain"), ("byte_bpe", "plain"), ("wordpiece", "jieba")])
def test_over_a_million_tokens_no_word_is_split_and_the_shares_are_the_papers(kind, segmenter):
    tokenizer, ids, starts = rows_of(kind, segmenter)
    ordinary, mask, objective = ordinary_ids(tokenizer), tokenizer.special("[mask]"), Masked(unit="word")
    unknown = tokenizer.special("[unknown]")
    counts, split, seen, off, number = np.zeros(3, np.int64), 0, 0, 0, 0
    while seen < 1_000_000:
        start = number * 97 % max(len(ids) - 200, 1)
        row, begins = ids[start : start + 200], starts[start : start + 200]
        units = numbered(row, begins, ordinary, unknown)
        shown, targets = objective.hide(row, mask, ordinary, chance(1, number), units)
        hidden, plain = targets != NOTHING, np.isin(row, ordinary)
        assert not (hidden & ~plain).any()
        named = units != NEVER
        total, mine = np.bincount(units[named]), np.bincount(units[hidden], minlength=units.max() + 1)
        split += int(((mine > 0) & (mine < total)).sum())
        off += abs(int(hidden.sum()) - round(0.15 * plain.sum()))
        kept, masked = (shown == row)[hidden].sum(), (shown == mask)[hidden].sum()
        counts += [masked, hidden.sum() - masked - kept, kept]
        seen, number = seen + int(plain.sum()), number + 1
    assert split == 0
    assert off / number < 0.05  # tokens of the budget that no whole word would fill, a row
    guesses = counts.sum()
    for share, count in zip((0.8, 0.1 * (1 - 1 / len(ordinary)), 0.1 + 0.1 / len(ordinary)), counts):
        assert abs(count - share * guesses) < 4 * np.sqrt(guesses * share * (1 - share))


def test_decided_by_unit_a_word_is_all_mask_or_all_another_or_all_itself():
    tokenizer, ids, starts = rows_of("wordpiece", "jieba")
    ordinary, mask = ordinary_ids(tokenizer), tokenizer.special("[mask]")
    alike, mixed = 0, {"unit": 0, "piece": 0}
    for decide in mixed:
        for number in range(300):
            row, units = ids[:200], numbered(ids[:200], starts[:200], ordinary, 1)
            shown, targets = Masked(unit="word", decide=decide).hide(row, mask, ordinary, chance(2, number), units)
            for unit in np.unique(units[targets != NOTHING]):
                fates = {
                    "mask" if one == mask else "kept" if one == was else "other"
                    for one, was in zip(shown[units == unit], row[units == unit])
                }
                mixed[decide] += len(fates) > 1 and fates != {"kept", "other"}  # another token may be the same one
                alike += 1
    assert alike > 3000
    assert mixed["unit"] == 0
    assert mixed["piece"] > 50  # the control: Google's code decides by piece


def test_two_ranks_mask_what_one_does(store):
    recipe = tiny("bert-wwm")
    text = store("wordpiece")
    cutter = recipe.batches.over(text, 8, 0)

    def batch(rank, world):
        return Stream(cutter, lambda rows: recipe.objective.collate(rows, text.tokenizer), 8, rank, world).batch(3)

    whole, halves = batch(0, 1), [batch(0, 2), batch(1, 2)]
    for at, half in enumerate(halves):
        width = half.inputs.ids.size(1)
        assert (whole.inputs.ids[4 * at : 4 * at + 4, :width] == half.inputs.ids).all()
        assert (whole.targets["tokens"][4 * at : 4 * at + 4, :width] == half.targets["tokens"]).all()


def test_a_whole_word_recipe_hides_whole_words_of_a_real_store(store):
    recipe, text = tiny("bert-wwm"), store("wordpiece")
    rows = recipe.batches.over(text, 64, 0).rows(0, 0, 64)
    batch = recipe.objective.collate(rows, text.tokenizer)
    several = 0
    for row, ids, targets in zip(rows, batch.inputs.ids.numpy(), batch.targets["tokens"].numpy()):
        pieces = text.tokenizer.pieces(np.where(targets != NOTHING, targets, ids))
        hidden = targets != NOTHING
        for at, piece in enumerate(pieces[1:], 1):
            if piece.startswith("##") and not pieces[at - 1].startswith("["):
                assert hidden[at] == hidden[at - 1], (pieces, at)
                several += hidden[at]
        assert len(row.ids) == len(row.marks["word"])
    assert several > 20


def test_the_recipe_differs_from_bert_only_in_what_is_hidden():
    ours, bert = loader.load("bert-wwm"), loader.load("bert")
    assert ours.network == bert.network
    assert ours.head == bert.head
    assert ours.objective.parts[0].unit == "word"
