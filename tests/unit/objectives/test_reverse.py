"""objective.reverse: the same text from its end to its start, also where rows go on from one another."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from foreword.networks.base import Inputs
from tests.contracts.test_every_objective import batches
from tests.tiny import drawn, learner_for, take_steps, tiny


@pytest.mark.parametrize("name", ["gpt2", "lstm"])
def test_every_token_is_guessed_from_those_behind_it(name, store_of):
    recipe, ahead = tiny(name, "objective.reverse=true"), tiny(name)
    store = store_of(recipe)
    rows = recipe.batches.over(store, 4, 0).rows(0, 0, 4)
    batch = recipe.objective.collate(rows, store.tokenizer)
    for row, ids, targets in zip(rows, batch.inputs.ids.numpy(), batch.targets["tokens"].numpy()):
        assert ids.tolist() == row.ids[:0:-1].tolist()
        assert targets.tolist() == row.ids[-2::-1].tolist()
    assert not recipe.abilities() & {"score", "generate"}, "those ask from left to right"
    assert ahead.abilities() >= {"score", "generate"}


def test_lanes_run_from_the_end_of_their_text_to_its_start(store_of):
    """What a row guesses last, the next reads first; together they are a column, backward, every token guessed once."""
    recipe = tiny("lstm", "objective.reverse=true")
    stream = batches(recipe, store_of(recipe), 2)
    steps = int(stream.cutter.epoch)
    taken = [stream.batch(step) for step in range(steps)]
    assert [batch.continues for batch in taken[:3]] == [False, True, True]
    assert not stream.batch(steps).continues
    for before, after in zip(taken, taken[1:]):
        assert torch.equal(before.targets["tokens"][:, -1], after.inputs.ids[:, 0])
    column = torch.cat([batch.targets["tokens"][0] for batch in taken]).numpy()
    ahead = batches(tiny("lstm"), store_of(recipe), 2)
    forward = torch.cat([ahead.batch(step).inputs.ids[0] for step in range(steps)]).numpy()
    assert np.array_equal(column[::-1], forward)


def test_it_learns_and_sees_only_what_is_behind(store_of):
    recipe = tiny(
        "lstm",
        "objective.reverse=true",
        "network.dropout=0.0",
        "training.clip=1.0",
        'training.optimizer={ kind = "adam", learning_rate = 0.02 }',
        'training.schedule={ kind = "constant" }',
    )
    store = store_of(recipe)
    learner, stream = learner_for(recipe, store)
    before = learner.measure([stream.batch(0)])["nll.tokens"]
    take_steps(learner, stream, range(60), same=True)
    assert learner.measure([stream.batch(0)])["nll.tokens"] < 0.6 * before
    network, batch = drawn(recipe, store.tokenizer).network, stream.batch(0)
    other = batch.inputs.ids.clone()
    other[:, -1] = 7  # the earliest token of the text that is read
    with torch.no_grad():
        assert torch.equal(network(batch.inputs).last[:, :-1], network(Inputs(other)).last[:, :-1])
