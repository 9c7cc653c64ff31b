"""ERNIE's stages: the unit of a row depends on its number alone, and whole units are hidden in every stage."""

from __future__ import annotations

import numpy as np
import pytest

from foreword.basics.messages import Fault, Faults
from foreword.batches.row import Row
from foreword.objectives.base import NOTHING
from foreword.objectives.masked import Masked
from foreword.objectives.staged_masking import StagedMasking
from tests.tiny import tiny


def test_every_stage_has_its_rows():
    staged = StagedMasking(rows=[10, 5])
    units = [staged.unit_of(Row(np.empty(0), number, 0)) for number in range(30)]
    assert units == ["token"] * 10 + ["phrase"] * 5 + ["entity"] * 15
    assert staged.marks == ("phrase", "entity")


def test_earlier_stages_keep_their_share():
    staged = StagedMasking(rows=[10, 10], earlier=0.4)
    units = [staged.unit_of(Row(np.empty(0), number, 0)) for number in range(20, 4020)]
    assert np.mean([unit != "entity" for unit in units]) == pytest.approx(0.4, abs=0.035)
    assert units.count("token") == pytest.approx(800, abs=110)


def test_stages_that_do_not_add_up_are_named():
    with pytest.raises((Fault, Faults), match="3 stages need 2 numbers of rows, not 1"):
        tiny("ernie1", 'objective.parts=[{ kind = "staged_masking", rows = [5] }, { kind = "next_sentence" }]')


def test_the_first_stage_is_bert_and_the_others_never_split_a_unit(store):
    text = store("wordpiece")
    recipe = tiny("ernie1")
    cutter = recipe.batches.over(text, 64, 0)

    def rows():
        """With their chance unspent."""
        return [row for step in range(12) for row in cutter.rows(step, 0, 64)]

    staged = recipe.objective.parts[0]
    plain = Masked().collate(rows(), text.tokenizer)
    first = staged.collate(rows(), text.tokenizer)
    assert (plain.inputs.ids == first.inputs.ids).all()
    for unit in ("phrase", "entity"):
        objective = StagedMasking(stages=["token", unit], rows=[0], decide="unit")
        batch = objective.collate(rows(), text.tokenizer)
        ids, targets = batch.inputs.ids.numpy(), batch.targets["tokens"].numpy()
        mask, several, hidden, plain_tokens = text.tokenizer.special("[mask]"), 0, 0, 0
        for row, shown, wanted in zip(rows(), ids, targets):
            original = np.where(wanted != NOTHING, wanted, shown)
            there = len(row.ids) + len(row.second) + 3
            units = objective.units(row, original[:there], text.tokenizer)
            for one in np.unique(units[units >= 0]):
                inside = units == one
                guessed = (wanted[:there] != NOTHING)[inside]
                assert guessed.all() or not guessed.any()
                several += guessed.all() and inside.sum() > 1
                fates = (shown[:there] == mask)[inside & (wanted[:there] != NOTHING)]
                assert fates.all() or not fates.any()
            hidden, plain_tokens = hidden + (wanted != NOTHING).sum(), plain_tokens + len(row.ids) + len(row.second)
        assert several > 100
        assert hidden / plain_tokens == pytest.approx(0.15, abs=0.02)
