"""A rate that is halved once held-out text gets no likelier, and a run that ends when halving brings nothing."""

from __future__ import annotations

import math

import pytest

from foreword.runs.loop import Evaluation
from foreword.runs.train import TextWorkload, train
from tests.tiny import interrupted_at, store_kind, tiny

LOSSES = [5.0, 4.0, 3.995, 3.5, 3.0, 2.999, 2.5]  # better, better, not by 0.3%, better, better, not again: the end


@pytest.fixture
def scripted(monkeypatch):
    """Evaluations that say what the test wants, by the step they are made at."""
    monkeypatch.setattr(
        TextWorkload,
        "evaluate",
        lambda self, loop: Evaluation({"nll.tokens": LOSSES[loop.trainer.progress.step // 2 - 1]}, {}),
    )


def rates(run):
    return [round(math.log2(record["learning_rate"] / 0.5)) for record in run.metrics() if "learning_rate" in record]


def test_the_rate_is_halved_after_each_evaluation_from_the_first_that_brings_nothing(
    stores, tmp_path, scripted, monkeypatch
):
    settings = ["training.schedule={ kind = 'halving' }", "training.log=2", "training.save=2", 'training.evaluate="2"']
    settings += ["training.optimizer.learning_rate=0.5", 'training.budget="14"']
    recipe = tiny("rnnlm", *settings)
    data = stores[store_kind(recipe)]
    run = train(recipe, data, tmp_path / "whole")
    assert rates(run) == [0, 0, 0, -1, -2, -3], "it ends at the sixth evaluation, before its budget"
    assert run.passport()["finished"]
    records = run.metrics()
    again = train(recipe, data, tmp_path / "whole")
    assert again.metrics() == records, "what has ended goes on no further"
    with interrupted_at(8, monkeypatch):
        train(recipe, data, tmp_path / "broken")
    assert rates(train(recipe, data, tmp_path / "broken")) == rates(run)


def test_other_schedules_judge_nothing(stores, tmp_path, scripted):
    recipe = tiny("lstm", "training.log=2", 'training.evaluate="2"', 'training.budget="14"')
    run = train(recipe, stores[store_kind(recipe)], tmp_path / "run")
    assert run.metrics()[-1]["step"] == 14
