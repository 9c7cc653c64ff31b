"""What every gradient recipe promises on several processes: the numbers of one, whether they share out rows or weights too."""

from __future__ import annotations

import pytest
import torch

from foreword.batches.stream import Stream
from foreword.training.hardware import Hardware
from foreword.training.ranks import Ranks, Replicas, Shards, whole
from tests.contracts.test_every_objective import without_chance
from tests.ranks import on_ranks
from tests.tiny import GRADIENT, learner_for, tiny

KINDS = {"rows": Replicas, "weights": Shards}
# in the tier of minutes; every other recipe is thorough
FAMILIES = {"gpt2", "bert", "lstm", "transformer", "electra"}


def learned(recipe, store, ranks: Ranks, dtype, steps=2):
    """Reports of some steps, what held-out batches cost, and the weights after them."""
    learner, _ = learner_for(recipe, store, dtype, Hardware(ranks=ranks))
    spec = recipe.training
    cutter = recipe.batches.over(store, spec.batch_size, spec.seed)
    stream = Stream(cutter, learner.collate, spec.batch_size, ranks.rank, ranks.world)
    reports = [learner.step(stream.batch(step), step, 0.0).values for step in range(steps)]
    weights = {name: whole(weight.detach()).clone() for name, weight in learner.model.weights().items()}
    return reports, learner.measure([stream.batch(steps)]), weights


def own_training(name, *more):
    """Without dropout, but with the optimizer, the schedule and the clipping of the recipe."""
    given = tiny(name, *more)
    plain = without_chance(name, *more)
    return plain.model_copy(update={"training": given.training})


def assert_same(one, other, rel, most):
    (reports, measured, weights), (others, again, changed) = one, other
    for a, b in zip(reports, others):
        assert b == pytest.approx(a, rel=rel)
    assert again == pytest.approx(measured, rel=rel)
    apart = {
        name: float((weights[name] - changed[name]).abs().max()) / max(1.0, float(weights[name].abs().max()))
        for name in weights
    }  # of weights beyond one (T5's table has a deviation of one), relative to the largest, as their rounding is
    assert max(apart.values()) < most, {name: gap for name, gap in apart.items() if gap >= most}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FAMILIES else pytest.mark.thorough) for name in GRADIENT]
)
def test_two_processes_have_the_numbers_of_one(name, store_of, tmp_path):
    """Loss, gradient (weights after two steps of plain descent) and its norm; whole, and in parts of unequal shares. Lanes go on."""
    exact = {
        "whole": without_chance(name),
        "parts": without_chance(name, "training.batch_size=7", "training.micro_batch=2"),  # 1 + 2 rows beside 2 + 2
    }
    store = store_of(exact["whole"])

    def work(rank):
        return {
            (kind, cut): learned(recipe, store, ranks(rank, 2), torch.float64)
            for kind, ranks in KINDS.items()
            for cut, recipe in exact.items()
        }

    alone = {
        "whole": learned(exact["whole"], store, Ranks(), torch.float64),
        "parts": learned(without_chance(name, "training.batch_size=7"), store, Ranks(), torch.float64),
    }
    for found in on_ranks(2, work, tmp_path / "group"):
        for (_, cut), other in found.items():
            assert_same(alone[cut], other, 1e-10, 1e-10)


def rounding(recipe) -> float:
    """How far apart five float32 steps may end. Muon's polynomial raises what is small in a gradient, its rounding too,
    by up to 3.4445 ** 4 = 141 before it is scaled by the rate: 141 * 6e-8 * 0.02 * 5 steps is 1e-6 by itself."""
    gates = hasattr(
        getattr(recipe.network, "between", None), "experts"
    )  # gates begin at zero: Adam divides by tiny slopes
    fed_back = hasattr(recipe.network, "attention")  # what was said enters again at every step, from zero
    again = getattr(
        recipe.network, "depth", None
    )  # a slope is a sum over passes that nearly cancel: Adam divides by it
    return 1e-5 if recipe.training.optimizer.kind == "muon" or gates or fed_back or again else 1e-6


@pytest.mark.thorough
@pytest.mark.parametrize("name", GRADIENT)
def test_five_steps_of_its_own_training_end_at_the_same_weights(name, store_of, tmp_path):
    """With its optimizer, schedule and clipping. Of shared-out weights Muon gathers whole matrices for its step."""
    recipe = own_training(name)
    store = store_of(recipe)

    def work(rank):
        return {
            (kind, dtype): learned(recipe, store, ranks(rank, 2), dtype, 5)
            for kind, ranks in KINDS.items()
            for dtype in (torch.float32, torch.float64)
        }

    alone = {dtype: learned(recipe, store, Ranks(), dtype, 5) for dtype in (torch.float32, torch.float64)}
    for found in on_ranks(2, work, tmp_path / "group"):
        for (_, dtype), other in found.items():
            close = (1e-4, rounding(recipe)) if dtype == torch.float32 else (1e-8, 1e-8)
            assert_same(alone[dtype], other, *close)
