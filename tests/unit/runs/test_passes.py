"""How often a text will be read, and runs that do without tables of n-grams because it is read too often."""

from __future__ import annotations

import pytest

from foreword.runs.folder import RunFolder
from foreword.runs.train import expected_passes, with_tables_that_pay
from foreword.training.hardware import Hardware
from tests.tiny import tiny


@pytest.mark.parametrize(
    ("budget", "passes"),
    [("3epochs", 3.0), ("10ktok", 10_000 / 5_000), ("7", 7 * 8 * 32 / 5_000)],
)
def test_budgets_are_counted_in_passes(budget, passes, store):
    class Text:
        tokens = 5_000

    recipe = tiny("ngram-gpt", f'training.budget="{budget}"')
    assert expected_passes(recipe, Text(), Hardware()) == pytest.approx(passes)


def test_a_budget_of_time_is_counted_by_the_pace(store):
    text = store()
    short, long = (
        expected_passes(tiny("ngram-gpt", f'training.budget="{budget}"', "training.passes=1e9"), text, Hardware())
        for budget in ("1s", "1000s")
    )
    assert 0 < short < long
    most = expected_passes(tiny("ngram-gpt", 'training.budget="1000h"', "training.passes=4"), text, Hardware())
    assert most == 4.0


def test_a_text_that_is_read_too_often_gets_no_tables_and_a_run_that_goes_on_keeps_what_it_has(store, tmp_path, capsys):
    text, seldom = store(), RunFolder(tmp_path / "seldom")
    recipes = {often: tiny("ngram-gpt", f'training.budget="{often}epochs"') for often in (1, 2)}
    kept = with_tables_that_pay(recipes[1], text, seldom, Hardware())
    assert kept == recipes[1]
    left = with_tables_that_pay(recipes[2], text, RunFolder(tmp_path / "often"), Hardware())
    assert left.network.ngrams is None
    assert left.network.model_copy(update={"ngrams": kept.network.ngrams}) == recipes[2].network
    seldom.claim(kept, "text")
    assert with_tables_that_pay(recipes[2], text, seldom, Hardware()).network.ngrams is not None
    plain = tiny("modern-gpt", 'training.budget="9epochs"')
    assert with_tables_that_pay(plain, text, RunFolder(tmp_path / "plain"), Hardware()) is plain
