import pytest
import torch

from foreword.training import OPTIMIZERS
from foreword.training.optimizers import AdamW, groups
from tests.tiny import GRADIENT, drawn, learner_for, take_steps, tiny


@pytest.mark.parametrize("name", GRADIENT)
def test_decay_touches_matrices_only(name, store_of):
    recipe = tiny(name)
    model = drawn(recipe, store_of(recipe).tokenizer)
    found = groups(model, 0.1)
    decayed = {id(p) for group in found if group["weight_decay"] > 0 for p in group["params"]}
    kept = {id(p) for group in found if group["weight_decay"] == 0 for p in group["params"]}
    for key, parameter in model.named_parameters():
        assert (id(parameter) in decayed) == (parameter.dim() >= 2), key
        assert (id(parameter) in kept) == (parameter.dim() < 2), key
    assert sum(len(group["params"]) for group in found) == len(list(model.parameters())), "tied weights count once"


def test_without_a_gradient_matrices_shrink_and_vectors_stay():
    model = torch.nn.Linear(3, 3)
    with torch.no_grad():
        model.bias.fill_(1.0)
        model.weight.fill_(1.0)
    optimizer = AdamW(learning_rate=0.1, weight_decay=0.5).build(model)[0]
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    assert model.weight.detach().flatten().tolist() == pytest.approx([0.95] * 9)
    assert model.bias.tolist() == [1.0] * 3


@pytest.mark.parametrize("kind", OPTIMIZERS.names())
def test_what_an_optimizer_remembers_is_saved(kind, store):
    """Two steps, saved and restored in a fresh learner, then two more: the same as four."""
    more = "momentum = 0.9" if kind == "sgd" else "epsilon = 1e-7"
    recipe = tiny("gpt2", f'training.optimizer={{ kind = "{kind}", learning_rate = 0.01, {more} }}')
    unbroken, stream = learner_for(recipe, store())
    take_steps(unbroken, stream, range(4))
    first, _ = learner_for(recipe, store())
    take_steps(first, stream, range(2))
    saved = first.save()
    assert any(name.startswith("optimizer/") for name in saved)
    again, _ = learner_for(recipe, store())
    again.restore(saved)
    take_steps(again, stream, range(2, 4))
    wanted = unbroken.save()
    assert wanted.keys() == again.save().keys()
    assert all(torch.equal(value, again.save()[name]) for name, value in wanted.items())


@pytest.mark.parametrize("kind", OPTIMIZERS.names())
def test_a_rate_of_nothing_is_a_fault(kind):
    assert OPTIMIZERS.find(kind)(learning_rate=0.0).faults()[0][0] == "learning_rate"
    assert not OPTIMIZERS.find(kind)(learning_rate=0.1).faults()
