"""Short rows first, long rows later: one run, one optimizer, one count of steps."""

from __future__ import annotations

import pytest
import torch

from foreword.assembly import loader
from foreword.basics.messages import Fault, Faults
from foreword.runs.folder import RunFolder
from foreword.runs.train import in_phases, text_run
from tests.tiny import tiny

PHASES = "training.phases=[{ length = 12, until = 3 }, { length = 20, until = 6, batch_size = 4 }]"


def test_rows_are_as_long_as_their_phase_says(store_of):
    recipe = tiny("roberta", PHASES)
    cutter = in_phases(recipe, store_of(recipe))
    shapes = [
        (len(rows), max(len(row.ids) + 2 for row in rows)) for rows in (cutter.rows(step, 0, 8) for step in range(9))
    ]
    assert [rows for rows, _ in shapes] == [8] * 3 + [4] * 3 + [8] * 3
    for step, (_, longest) in enumerate(shapes):
        limit = 12 if step < 3 else 20 if step < 6 else 32
        assert limit - 10 < longest <= limit
    fresh = in_phases(recipe, store_of(recipe))
    for step in (8, 4, 0):
        assert [r.ids.tolist() for r in cutter.rows(step, 0, 8)] == [r.ids.tolist() for r in fresh.rows(step, 0, 8)]
    halves = [row.number for rank in range(2) for row in cutter.rows(4, rank * 4, rank * 4 + 4)]
    assert halves == [row.number for row in cutter.rows(4, 0, 8)]


def test_the_last_phase_is_the_run_without_phases(store_of):
    recipe, plain = tiny("roberta", PHASES), tiny("roberta")
    store = store_of(recipe)
    late = in_phases(recipe, store).rows(6, 0, 8)
    assert [row.ids.tolist() for row in late] == [row.ids.tolist() for row in in_phases(plain, store).rows(0, 0, 8)]


def test_the_switch_keeps_the_optimizer_and_the_step(store_of):
    recipe = tiny(
        "roberta",
        "training.phases=[{ length = 12, until = 4 }]",
        'training.optimizer={ kind = "lamb", learning_rate = 0.01 }',
    )
    loop = text_run(recipe, store_of(recipe), None, RunFolder("nowhere"))
    means = []
    for step in range(6):
        loop.learner.step(loop.trainer.stream.batch(step), step, step / 9)
        saved = loop.learner.save()
        name = "optimizer/network.blocks.0.attention.out.weight"
        means.append((float(saved[f"{name}/step"]), saved[f"{name}/mean"]))
    assert [steps for steps, _ in means] == [1, 2, 3, 4, 5, 6]
    before, after = means[3][1], means[4][1]
    assert torch.nn.functional.cosine_similarity(before.flatten(), after.flatten(), dim=0) > 0.5, (
        "momentum is carried over"
    )


def test_bert_reads_short_rows_for_nine_tenths_of_its_steps():
    recipe = loader.load("bert")
    assert recipe.training.phase_ends() == [900_000]
    assert (recipe.training.phases[0].length, recipe.batches.length, recipe.batches.copies) == (128, 512, 10)
    assert loader.load("bert", "laptop").training.phases == []


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (['training.budget="10m"'], "needs a budget in steps, not '10m'"),
        (
            ["training.phases=[{ length = 64, until = 0.5 }, { length = 128, until = 0.25 }]"],
            "must end after the one before",
        ),
        (["training.phases=[{ length = 0, until = 5 }]"], "at least 1"),
    ],
)
def test_phases_that_cannot_be_are_faults(settings, words):
    with pytest.raises((Fault, Faults)) as caught:
        loader.load("bert", "", settings)
    assert words in str(caught.value)
