"""Frozen models: the same numbers from the same tensors; in int8 nearly the same, from a quarter of them."""

from __future__ import annotations

import pytest
import torch

from foreword.basics.messages import Fault
from foreword.networks.base import Inputs
from foreword.parts.frozen import FrozenLinear, QuantizedLinear, freeze, left_in_float32, quantized
from tests.tiny import GRADIENT, able_to, drawn, tiny

every_network = pytest.mark.parametrize(
    "name", [name for name in GRADIENT if name in {*able_to("score"), *able_to("fill")}]
)


@pytest.fixture
def model(name, store_of):
    recipe = tiny(name)
    return drawn(recipe, store_of(recipe).tokenizer)


def logits(model, rows: int, length: int) -> torch.Tensor:
    ids = torch.randint(5, 500, (rows, length), generator=torch.Generator().manual_seed(3))
    with torch.inference_mode():
        return model.heads["tokens"].logits(model.network(Inputs(ids)).last)


def error(found: torch.Tensor, wanted: torch.Tensor) -> float:
    return float((found - wanted).norm() / wanted.norm())


@pytest.mark.parametrize("spread", [1e-6, 1.0, 1e4])
def test_int8_weights_are_within_half_a_step(spread):
    weight = torch.randn(33, 50, generator=torch.Generator().manual_seed(0)) * spread
    weight[7] = 0
    weight[8, 1:] = 0
    weight[9] = spread
    numbers, (step, middle) = quantized(weight)
    assert numbers.dtype is torch.int8
    assert (int(numbers.min()), int(numbers.max())) == (-128, 127)
    back = numbers.double() * step.double()[:, None] + middle.double()[:, None]
    assert ((back - weight.double()).abs() <= step.double()[:, None] * (0.5 + 1e-4)).all()
    assert torch.equal(back[7], torch.zeros(50, dtype=torch.float64))


@every_network
@pytest.mark.parametrize(("rows", "length"), [(1, 1), (2, 5), (4, 16)], ids=["one row", "few rows", "many rows"])
def test_frozen_logits_are_the_logits(model, rows, length):
    assert error(logits(freeze(model), rows, length), logits(model, rows, length)) < 1e-5


@every_network
@pytest.mark.parametrize(("rows", "length"), [(1, 1), (4, 16)], ids=["one row", "many rows"])
def test_int8_logits_are_near(model, rows, length):
    found = error(logits(freeze(model, "int8"), rows, length), logits(model, rows, length))
    # 0.043 for big-lstm, where what was rounded enters again; 0.027 for modern-bert, whose gates multiply two rounded numbers
    assert 0 < found < (0.06 if "cell" in dict(model.network.named_children()) else 0.03)


@every_network
def test_freezing_copies_no_weight_and_changes_none(model):
    before = {name: tensor.clone() for name, tensor in model.weights().items()}
    frozen = freeze(model)
    assert {name: tensor.data_ptr() for name, tensor in frozen.weights().items()} == {
        name: tensor.data_ptr() for name, tensor in model.weights().items()
    }
    assert not any(isinstance(part, FrozenLinear) for part in model.modules())
    freeze(model, "int8")
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.weights().items())


@every_network
def test_a_frozen_model_may_be_frozen_again(model):
    twice = freeze(freeze(model), "int8")
    assert torch.equal(logits(twice, 2, 4), logits(freeze(model, "int8"), 2, 4))


@every_network
@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_a_frozen_head_answers_all_its_questions(model, precision):
    frozen = freeze(model, precision)
    head, hidden, targets = frozen.heads["tokens"], torch.randn(40, frozen.network.width), torch.arange(40)
    with torch.inference_mode():
        each = head.nll(hidden, targets)
        assert head.total(hidden, targets) == pytest.approx(float(each.sum()), rel=1e-5)
        assert torch.allclose(-head.log_probs(hidden)[targets, targets], each, atol=1e-4)


def test_gradients_still_flow_where_they_are_asked_for(store):
    model = drawn(tiny("gpt2"), store().tokenizer)
    frozen = freeze(model)
    frozen.network(Inputs(torch.tensor([[5, 6]]))).last.sum().backward()
    assert model.network.blocks[0].attention.project.weight.grad is not None  # the tensors are the same


def test_what_int8_leaves_alone_is_known(store):
    assert left_in_float32(freeze(drawn(tiny("gpt2"), store().tokenizer), "int8")) == []
    assert left_in_float32(freeze(drawn(tiny("lstm"), store().tokenizer), "int8")) == []


def test_int8_takes_a_quarter_of_the_memory():
    linear = torch.nn.Linear(256, 512)
    quarter = QuantizedLinear(linear)
    assert sum(tensor.nbytes for tensor in quarter.state_dict().values()) < 0.27 * sum(
        t.nbytes for t in linear.state_dict().values()
    )


def test_an_unknown_precision_is_answered_with_the_known_ones():
    with pytest.raises(
        Fault, match=r"there is no precision 'int4'\. Did you mean int8\?\n    Precisions: float32, int8\."
    ):
        freeze(torch.nn.Linear(2, 2), "int4")
