import pytest
import torch
from pydantic import ValidationError

from foreword.training import OPTIMIZERS
from foreword.training.optimizers import Adamax, AdamW, Muon, groups, orthogonal
from tests.tiny import GRADIENT, drawn, learner_for, take_steps, tiny


@pytest.mark.parametrize("name", GRADIENT)
def test_decay_touches_matrices_only(name, store_of):
    recipe = tiny(name)
    model = drawn(recipe, store_of(recipe).tokenizer)
    found = groups(model.parameters(), 0.1)
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


REMEMBERING = {"sgd": ", momentum = 0.9"}  # without it there is nothing to save


@pytest.mark.parametrize("kind", OPTIMIZERS.names())
def test_what_an_optimizer_remembers_is_saved(kind, store):
    """Two steps, saved and restored in a fresh learner, then two more: the same as four."""
    recipe = tiny("gpt2", f'training.optimizer={{ kind = "{kind}", learning_rate = 0.01{REMEMBERING.get(kind, "")} }}')
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
    with pytest.raises(ValidationError, match="learning_rate"):
        OPTIMIZERS.find(kind)(learning_rate=0.0)
    assert not OPTIMIZERS.find(kind)(learning_rate=0.1).faults()


def plain_muon(weight, slopes, rate, momentum, decay):
    """One matrix, as the authors describe it, in a loop."""
    average = torch.zeros_like(weight)
    for slope in slopes:
        average = momentum * average + (1 - momentum) * slope
        x = (1 - momentum) * slope + momentum * average
        tall = x.size(0) > x.size(1)
        x = x.T if tall else x
        x = x / (x @ x.T).abs().sum(1, keepdim=True).sqrt()
        for _ in range(4):
            a = x @ x.T
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        x = x.T if tall else x
        weight = weight * (1 - rate * decay) - rate * max(1, x.size(0) / x.size(1)) ** 0.5 * x
    return weight


def test_muon_takes_the_steps_of_its_definition_for_every_matrix_and_every_piece():
    torch.manual_seed(0)
    weights = [
        torch.randn(6, 4, dtype=torch.float64),
        torch.randn(12, 4, dtype=torch.float64),
        torch.randn(4, 6, dtype=torch.float64),
    ]
    slopes = [[torch.randn_like(weight) for _ in range(3)] for weight in weights]
    parameters = [torch.nn.Parameter(weight.clone()) for weight in weights]
    muon = Muon(zip(parameters, (1, 3, 1)), lr=0.1, momentum=0.9, weight_decay=0.2)
    for turn in range(3):
        for parameter, each in zip(parameters, slopes):
            parameter.grad = each[turn]
        muon.step()
    assert torch.allclose(parameters[0], plain_muon(weights[0], slopes[0], 0.1, 0.9, 0.2), atol=1e-12)
    assert torch.allclose(parameters[2], plain_muon(weights[2], slopes[2], 0.1, 0.9, 0.2), atol=1e-12)
    for i, piece in enumerate(parameters[1].split(4)):
        alone = plain_muon(weights[1].split(4)[i], [slope.split(4)[i] for slope in slopes[1]], 0.1, 0.9, 0.2)
        assert torch.allclose(piece, alone, atol=1e-12)


def test_a_step_is_near_the_nearest_orthogonal_matrix():
    torch.manual_seed(0)
    x = torch.randn(5, 32, 16)
    scaled = x.mT / (x.mT @ x).abs().sum(-1, keepdim=True).sqrt()
    left, _, right = torch.linalg.svd(scaled, full_matrices=False)
    nearest, found = (left @ right).mT, orthogonal(x)
    alike = torch.nn.functional.cosine_similarity(found.flatten(1), nearest.flatten(1))
    assert float(alike.min()) > 0.97


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 16, 4), (2, 4, 16)])
def test_an_orthogonal_step_moves_all_directions_alike(shape):
    torch.manual_seed(1)
    values = torch.linalg.svdvals(orthogonal(torch.randn(shape)))
    assert float(values.min()) > 0.3
    assert float(values.max()) < 1.3


def test_muon_has_the_matrices_of_the_network_and_adam_the_rest(store_of):
    recipe = tiny("modern-gpt", "head.tied=false")
    model = drawn(recipe, store_of(recipe).tokenizer)
    muon, adam = recipe.training.optimizer.build(model)
    taken = [{id(p) for group in each.param_groups for p in group["params"]} for each in (muon, adam)]
    for name, parameter in model.named_parameters():
        inside = "blocks" in name and parameter.dim() == 2
        assert (id(parameter) in taken[0]) == inside, name
        assert (id(parameter) in taken[1]) != inside, name


def test_adamax_divides_by_the_largest_recent_gradient():
    """Algorithm 2 of Kingma & Ba 2015 by hand: u = max(beta2 u, |g|), and the step is rate / (1 - beta1^t) m / u."""
    weight = torch.nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        weight.weight.fill_(1.0)
    optimizer = Adamax(learning_rate=0.1, betas=(0.5, 0.25), epsilon=0.0).build(weight)[0]
    value, m, u = 1.0, 0.0, 0.0
    for step, slope in enumerate((4.0, -1.0, 2.0), 1):
        weight.weight.grad = torch.full((1, 1), slope)
        optimizer.step()
        m, u = 0.5 * m + 0.5 * slope, max(0.25 * u, abs(slope))
        value -= 0.1 / (1 - 0.5**step) * m / u
        assert weight.weight.item() == pytest.approx(value, rel=1e-6)
