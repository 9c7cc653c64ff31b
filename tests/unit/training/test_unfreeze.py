"""training.unfreeze: layers begin to learn one after another, from above."""

from __future__ import annotations

import pytest
import torch

from tests.tiny import learner_for, tiny


@pytest.mark.parametrize("name", ["gpt2", "lstm", "bert"])
def test_layers_begin_to_learn_one_after_another(name, store_of):
    recipe = tiny(name, "training.unfreeze=0.2")
    learner, stream = learner_for(recipe, store_of(recipe))
    levels = learner.model.network.levels()
    for spent, learning in ((0.0, 0), (0.19, 0), (0.2, 1), (0.4, 2), (0.99, len(levels))):
        before = [[weight.detach().clone() for weight in level] for level in levels]
        head = [weight.detach().clone() for weight in learner.model.heads.parameters()]
        learner.step(stream.batch(0), 1, spent)
        changed = [any(not torch.equal(a, b) for a, b in zip(*pair)) for pair in zip(before, levels)]
        tied = any(weight is learner.model.network.table() for weight in learner.model.heads.parameters())
        assert changed[1:] == [number >= len(levels) - learning for number in range(1, len(levels))], spent
        assert changed[0] == (learning >= len(levels)) or tied
        assert tied or any(not torch.equal(a, b) for a, b in zip(head, learner.model.heads.parameters()))


def test_a_share_that_cannot_be_is_refused():
    from foreword.basics.messages import Faults

    with pytest.raises(Faults, match="unfreeze"):
        tiny("lstm", "training.unfreeze=1.5")
