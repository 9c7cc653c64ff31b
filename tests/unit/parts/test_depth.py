"""Universal Transformer: blocks gone through again, halting by its own arithmetic, and transitions that see neighbours."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from foreword.networks.base import Inputs
from foreword.networks.bidirectional import BidirectionalTransformerSpec
from foreword.networks.causal import CausalTransformerSpec
from foreword.networks.encoder_decoder import EncoderDecoderSpec
from foreword.networks.segment import SegmentTransformerSpec
from foreword.parts.depth import Halting, Recurring
from foreword.parts.positions import Sinusoid
from foreword.parts.separable import Separable
from foreword.parts.stack import StackSpec
from foreword.parts.visible import FullPattern
from foreword.tokens.vocabulary import Vocabulary

WIDTH, ROWS, LENGTH, TOKENS = 16, 3, 7, 11
KINDS = {
    "causal": CausalTransformerSpec,
    "bidirectional": BidirectionalTransformerSpec,
    "encoder-decoder": EncoderDecoderSpec,
}
every_network = pytest.mark.parametrize("kind", KINDS)


def made(kind: str = "bidirectional", layers: int = 1, depth: Recurring | None = None, **more):
    spec = KINDS[kind](
        layers=layers,
        width=WIDTH,
        heads=2,
        inner=24,
        context=32,
        norm="after",
        positions=Sinusoid(),
        depth=depth,
        **more,
    )
    torch.manual_seed(0)
    network = spec.build(Vocabulary(TOKENS, -1, ())).double().eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(0, 0.2)
    return network


def text(rows: int = ROWS, length: int = LENGTH, seed: int = 0) -> torch.Tensor:
    return torch.randint(TOKENS, (rows, length), generator=torch.Generator().manual_seed(seed))


def given(network, ids: torch.Tensor, **more) -> Inputs:
    return Inputs(ids, **more, **({"source": text(len(ids), 5, 9)} if "source" in network.reads else {}))


def constant(network, chance: float):
    """Every position halts with the same probability at every step."""
    with torch.no_grad():
        for part in network.modules():
            if getattr(part, "halt", None) is not None:
                part.halt.weight.zero_()
                part.halt.bias.fill_(math.log(chance / (1 - chance)) if 0 < chance < 1 else 40.0 if chance else -40.0)
    return network


def halting_of(network, ids: torch.Tensor, **more) -> Halting:
    network.depth.shown = []
    with torch.no_grad():
        network(given(network, ids, **more))
    return network.depth.shown[-1]


# ---------------------------------------------------------------------------------------------------- the same block


@pytest.mark.parametrize("passes", [1, 3])
def test_without_time_it_is_a_stack_whose_layers_are_one(passes):
    """The layer of torch, over and over; positions are added before each."""
    spec = StackSpec(layers=1, width=WIDTH, heads=2, inner=24, context=32, norm="after", activation="relu")
    block = spec.blocks()[0].double().eval()
    theirs = nn.TransformerEncoderLayer(WIDTH, 2, 24, 0.0, batch_first=True, dtype=torch.float64).eval()
    ours = dict(block.named_parameters())
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            parameter.normal_(0, 0.4)
            ours[THEIR_NAMES[name]].copy_(parameter)
        x = torch.randn(2, 5, WIDTH, dtype=torch.float64)
        depth = Recurring(passes=passes, time="none").build(spec)
        found = depth(x, [lambda y, past: block(y, FullPattern(), past)], None, lambda y: y + 0.1, None).layers[-1]
        for _ in range(passes):
            x = theirs(x + 0.1)
    assert (found - x).abs().max() < 1e-10


THEIR_NAMES = {
    "self_attn.in_proj_weight": "attention.project.weight",
    "self_attn.in_proj_bias": "attention.project.bias",
    "self_attn.out_proj.weight": "attention.out.weight",
    "self_attn.out_proj.bias": "attention.out.bias",
    "linear1.weight": "feedforward.inner.weight",
    "linear1.bias": "feedforward.inner.bias",
    "linear2.weight": "feedforward.out.weight",
    "linear2.bias": "feedforward.out.bias",
    "norm1.weight": "first.norm.weight",
    "norm1.bias": "first.norm.bias",
    "norm2.weight": "second.norm.weight",
    "norm2.bias": "second.norm.bias",
}


@every_network
def test_more_passes_need_no_more_parameters(kind):
    one, many = (sum(p.numel() for p in made(kind, depth=Recurring(passes=n)).parameters()) for n in (1, 9))
    assert one == many


def test_the_signal_of_no_two_places_and_steps_is_the_same():
    """But for one thing of the paper's sum: place i at step t has what place t has at step i."""
    depth = Recurring(passes=64).build(StackSpec(layers=1, width=32, heads=2, context=512))
    x = torch.zeros(1, 512, 32)
    places = Sinusoid().build(StackSpec(layers=1, width=32, heads=2, context=512)).add(x, torch.arange(512))[0]
    signals = torch.stack([places + depth.signal(step, x) for step in range(64)])  # [steps, places, width]
    assert torch.allclose(signals[4, 2], signals[1, 5], atol=1e-6)
    seen = torch.tensor([(t, i) for t in range(64) for i in range(512) if not (i < 64 and t > i - 1)])
    kept = (1e4 * signals[seen[:, 0], seen[:, 1]]).round()
    assert len(torch.unique(kept, dim=0)) == len(kept)


@pytest.mark.parametrize("time", ["sinusoid", "learned"])
def test_a_step_knows_which_it_is(time):
    plain, told = (made(depth=Recurring(passes=2, time=one)) for one in ("none", time))
    told.load_state_dict(plain.state_dict(), strict=False)
    with torch.no_grad():
        assert (plain(Inputs(text())).last - told(Inputs(text())).last).abs().max() > 1e-3


# ---------------------------------------------------------------------------------------------------------- halting


@every_network
@pytest.mark.parametrize("passes", [1, 2, 8])
def test_weights_of_every_position_sum_to_one(kind, passes):
    """Also where the last pass has to take what is left."""
    for bias in (-4.0, 0.0, 2.0):
        network = made(kind, depth=Recurring(passes=passes, adaptive=True))
        with torch.no_grad():
            network.depth.halt.bias.fill_(bias)
        found = halting_of(network, text())
        assert torch.allclose(sum(found.weights), torch.ones(ROWS, LENGTH, dtype=torch.float64), atol=1e-12)
        assert ((found.steps >= 1) & (found.steps <= passes)).all()
        assert ((found.remainder > 0) & (found.remainder <= 1)).all()
        assert not found.running.any()


@pytest.mark.parametrize("chance", [0.07, 0.2, 0.3, 0.5, 0.98, 1.0, 0.0])
def test_a_constant_probability_halts_where_its_sum_is_enough(chance):
    passes = 9
    found = halting_of(constant(made(depth=Recurring(passes=passes, adaptive=True)), chance), text())
    steps = next((k for k in range(1, passes + 1) if k * chance > 0.99), passes)
    assert (found.steps == steps).all()
    assert torch.allclose(found.remainder, torch.tensor(1 - (steps - 1) * chance, dtype=torch.float64), atol=1e-9)


def test_who_halts_at_once_emits_the_first_state():
    adaptive = constant(made(depth=Recurring(passes=4, adaptive=True)), 1.0)
    fixed = made(depth=Recurring(passes=1))
    fixed.load_state_dict({name: adaptive.state_dict()[name] for name in fixed.state_dict()})
    with torch.no_grad():
        assert (adaptive(Inputs(text())).last - fixed(Inputs(text())).last).abs().max() < 1e-12


@pytest.mark.parametrize("emits", ["interpolate", "weighted"])
def test_what_is_emitted_is_mixed_as_written(emits):
    torch.manual_seed(1)
    chances = [torch.full((1, 1), value, dtype=torch.float64) for value in (0.3, 0.4, 0.5)]
    states = [torch.randn(1, 1, 4, dtype=torch.float64) for _ in range(4)]
    found, x = Halting(states[0], Recurring(emits=emits)), states[0]
    for number, (chance, after) in enumerate(zip(chances, states[1:])):
        x = found.step(chance, x, after, last=number == 2)
    wanted = torch.zeros_like(x)
    for weight, state in zip((0.3, 0.4, 0.3), states[1:]):
        wanted = weight * state + (wanted if emits == "weighted" else (1 - weight) * wanted)
    assert torch.allclose(found.emitted, wanted)


def test_a_halted_state_stays_and_is_still_seen():
    """Position 0 halts after the first pass, the others go on; what it was given is read by them to the end."""
    network = made(depth=Recurring(passes=5, adaptive=True, time="none"))
    states = []

    def halts(entering):
        states.append(entering)
        chance = torch.full((*entering.shape[:2], 1), -40.0, dtype=entering.dtype)
        chance[:, 0] = 40.0
        return chance

    network.depth.halt.forward = halts
    with torch.no_grad():
        network(Inputs(text()))
        first, states[:] = [x.clone() for x in states], []
        other = text()
        other[:, 0] = (other[:, 0] + 1) % TOKENS
        network(Inputs(other))
    for step in range(2, 5):
        assert torch.equal(first[step][:, 0], first[1][:, 0]), "its state went on changing"
        assert not torch.equal(first[step][:, 1], first[step - 1][:, 1])
        assert (first[step][:, 1:] - states[step][:, 1:]).abs().amax(-1).min() > 1e-6, "others no longer see it"


def test_a_halted_position_emits_what_it_did():
    network = made(depth=Recurring(passes=5, adaptive=True))
    found = halting_of(network, text())
    for number, weight in enumerate(found.weights):
        assert (weight[found.steps <= number] == 0).all()


def test_ponder_time_learns_through_remainders_alone():
    """d(n + R)/dp is -1 at every step before the last, and 0 at the last."""
    spec = Recurring(passes=6)
    chances = torch.tensor([[0.3, 0.2], [0.3, 0.1], [0.6, 0.2], [0.9, 0.2], [0.5, 0.2], [0.5, 0.2]]).double()
    chances.requires_grad_()

    def pondered(given: torch.Tensor) -> torch.Tensor:
        found, x = Halting(torch.zeros(1, 2, 1, dtype=torch.float64), spec), torch.zeros(1, 2, 1, dtype=torch.float64)
        for step, chance in enumerate(given):
            x = found.step(chance[None], x, x, last=step == 5)
        return found.time(None)

    (slope,) = torch.autograd.grad(pondered(chances), chances)
    wanted = torch.zeros(6, 2, dtype=torch.float64)
    wanted[:2, 0] = wanted[:5, 1] = (
        -1 / 2
    )  # of two positions; the first halts at step 3, the other is stopped at step 6
    assert torch.equal(slope, wanted)
    assert torch.autograd.gradcheck(pondered, (chances,))


def test_what_a_network_charges_is_the_mean_over_tokens():
    network = made(depth=Recurring(passes=6, adaptive=True, ponder=0.5))
    real = torch.arange(LENGTH) < torch.tensor([[LENGTH], [3], [1]])
    found = halting_of(network, text(), real=real)
    took = found.steps + found.remainder
    with torch.no_grad():
        charged = network(Inputs(text(), real)).costs["ponder"]
        alone = [network(Inputs(text()[row : row + 1, : int(n)])).costs["ponder"] for row, n in enumerate(real.sum(1))]
    assert charged == pytest.approx(0.5 * sum(float(took[i][real[i]].mean()) for i in range(ROWS)) / ROWS)
    assert charged == pytest.approx(float(sum(alone)) / ROWS), "parts of a batch do not add up"


def test_both_sides_of_an_encoder_decoder_ponder():
    network = made("encoder-decoder", depth=Recurring(passes=6, adaptive=True))
    real = torch.arange(LENGTH) < torch.tensor([[LENGTH], [3], [1]])
    with torch.no_grad():
        costs = network(given(network, text(), real=real)).costs
        unmasked = network(given(network, text())).costs
    assert set(costs) == {"encoder ponder", "ponder"}
    assert costs["ponder"] != unmasked["ponder"]
    assert costs["encoder ponder"] == unmasked["encoder ponder"]


# ------------------------------------------------------------------------------------------------ leaks and caches

SETTINGS = [
    {"depth": Recurring(passes=3, adaptive=True)},
    {"depth": Recurring(passes=3), "layers": 2},
    {"feedforward": Separable()},
    {"feedforward": Separable(), "depth": Recurring(passes=3, adaptive=True)},
]
settings = pytest.mark.parametrize("settings", SETTINGS, ids=["adaptive", "two blocks", "separable", "both"])


@pytest.mark.parametrize("kind", ["causal", "encoder-decoder"])
@settings
def test_the_future_is_invisible_and_the_past_is_visible(kind, settings):
    network, ids = made(kind, **settings), text(1)
    with torch.no_grad():
        plain = network(given(network, ids)).last[0]
        for j in range(LENGTH):
            other = ids.clone()
            other[0, j] = (other[0, j] + 1) % TOKENS
            changed = (network(given(network, other)).last[0] - plain).abs().amax(-1) > 1e-12
            assert changed.tolist() == [i >= j for i in range(LENGTH)], f"token {j}"


@pytest.mark.parametrize("kind", ["causal", "encoder-decoder"])
@settings
@pytest.mark.parametrize("piece", [1, 3])
def test_read_in_pieces_it_halts_where_it_did(kind, settings, piece):
    network, ids, parts, state = made(kind, **settings), text(), [], None
    with torch.no_grad():
        inputs = given(network, ids)
        whole = network(inputs).last
        for start in range(0, LENGTH, piece):
            output = network(replace(inputs, ids=ids[:, start : start + piece]), state)
            parts.append(output.last)
            state = output.state
    assert (torch.cat(parts, 1) - whole).abs().max() < 1e-10


@settings
def test_padding_changes_nothing(settings):
    real = torch.arange(LENGTH) < torch.tensor([[LENGTH], [4], [2]])
    network = made("bidirectional", **settings)
    with torch.no_grad():
        together = network(Inputs(text(), real)).last
        for row, length in enumerate(real.sum(1).tolist()):
            alone = network(Inputs(text()[row : row + 1, :length])).last[0]
            assert (together[row, :length] - alone).abs().max() < 1e-10
    left = made("causal", **settings)
    real = real.flip(1)
    with torch.no_grad():
        together = left(Inputs(text(), real))
        more = left(Inputs(text(ROWS, 2, 4)), together.state).last
        for row, length in enumerate(real.sum(1).tolist()):
            alone = left(Inputs(text()[row : row + 1, -length:]))
            assert (together.last[row, -length:] - alone.last[0]).abs().max() < 1e-10
            after = left(Inputs(text(ROWS, 2, 4)[row : row + 1]), alone.state).last
            assert (more[row] - after[0]).abs().max() < 1e-10, "what is remembered differs"


def test_a_separable_transition_is_two_convolutions_of_torch():
    network = made("bidirectional", feedforward=Separable(), activation="relu")
    part, x = network.blocks[0].feedforward, torch.randn(2, 6, WIDTH, dtype=torch.float64)
    with torch.no_grad():
        inner = torch.relu(part.inner(nn.functional.conv1d(x.mT, part.first.weight, padding=1, groups=WIDTH).mT))
        wanted = part.out(nn.functional.conv1d(inner.mT, part.second.weight, padding=2, groups=24).mT)
        assert (part.both_ways(x, None) - wanted).abs().max() < 1e-12
        assert part.first.weight.shape == (WIDTH, 1, 3)
        assert part.second.weight.shape == (24, 1, 5)


def test_settings_that_cannot_be_are_named():
    assert any("between 0 and 1" in text for _, text in Recurring(epsilon=0.0).faults())
    for wrong in ({"passes": 0}, {"ponder": -1.0}):
        with pytest.raises(ValidationError, match=next(iter(wrong))):
            Recurring(**wrong)


def test_what_does_not_go_together_is_named():
    spec = {"layers": 1, "width": 16, "heads": 2, "context": 8}
    assert any("gated or made" in text for _, text in StackSpec(**spec, gated=True, feedforward=Separable()).faults())
    assert any("as wide" in text for _, text in StackSpec(**spec, embedding=8, depth=Recurring()).faults())
    segments = SegmentTransformerSpec(layers=1, width=16, heads=2, depth=Recurring())
    assert any("gone through once" in text for _, text in segments.faults())
