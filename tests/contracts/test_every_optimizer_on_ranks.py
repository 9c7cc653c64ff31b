"""What every optimizer promises on several processes: the steps of one, and what it remembers goes on with any number of them."""

from __future__ import annotations

import pytest
import torch

from foreword.training import OPTIMIZERS
from foreword.training.hardware import Hardware
from foreword.training.ranks import Ranks, Replicas, Shards, whole
from tests.contracts.test_every_objective import without_chance
from tests.ranks import on_ranks
from tests.tiny import learner_for

HALF = 2  # steps before it is saved, and again after


def taken(learner, stream, steps):
    ranks = learner.ranks
    stream.rank, stream.world = ranks.rank, ranks.world
    return [learner.step(stream.batch(step), step, 0.0).values["loss"] for step in steps]


def saved(learner):
    """As a checkpoint gives it back, whoever wrote it."""
    return {name: whole(tensor).clone() for name, tensor in learner.save().items()}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", OPTIMIZERS.names())
def test_two_processes_take_the_steps_of_one_and_go_on_with_what_others_saved(kind, store, tmp_path):
    recipe = without_chance("gpt2")
    optimizer = OPTIMIZERS.find(kind)(learning_rate=0.01)
    recipe = recipe.model_copy(update={"training": recipe.training.model_copy(update={"optimizer": optimizer})})

    def learner(ranks: Ranks):
        return learner_for(recipe, store(), torch.float64, Hardware(ranks=ranks))

    alone, stream = learner(Ranks())
    losses, half = taken(alone, stream, range(HALF)), saved(alone)
    losses += taken(alone, stream, range(HALF, 2 * HALF))
    end = saved(alone)

    def work(rank):
        found = {}
        for name, ranks in (("rows", Replicas), ("weights", Shards)):
            unbroken, batches = learner(ranks(rank, 2))
            first, own = taken(unbroken, batches, range(HALF)), saved(unbroken)
            found[name, "unbroken"] = first + taken(unbroken, batches, range(HALF, 2 * HALF)), saved(unbroken)
            for whose, tensors in (("saved by one", half), ("saved by two", own)):
                again, batches = learner(ranks(rank, 2))
                again.restore(tensors)
                found[name, whose] = first + taken(again, batches, range(HALF, 2 * HALF)), saved(again)
        return found

    for found in on_ranks(2, work, tmp_path / "group"):
        for what, (again, tensors) in found.items():
            assert again == pytest.approx(losses, rel=1e-10), what
            assert tensors.keys() == end.keys(), what
            for name, tensor in tensors.items():
                assert torch.allclose(tensor, end[name], rtol=1e-8, atol=1e-8), (what, name)
