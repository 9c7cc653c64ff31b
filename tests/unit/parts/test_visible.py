"""Patterns against their definition, and leaks in both directions: i changes with j if and only if i may see j."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from foreword.parts.attention import Attention
from foreword.parts.block import Block, FeedForward, NormBefore
from foreword.parts.visible import (
    Alternating,
    BandedPattern,
    CachedPattern,
    CausalPattern,
    Dense,
    FullPattern,
    LocalPattern,
    Packed,
)
from foreword.training.compiling import able

HEADS, SIZE = 2, 4
PADDINGS = ("none", "left", "right", "both")


def by_definition(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
    """softmax(q k / sqrt(size)) v over what is visible [batch, queries, keys]; nothing where that is nothing."""
    scores = (q @ k.mT / math.sqrt(q.size(-1))).masked_fill(~visible[:, None], -math.inf)
    return scores.softmax(-1).nan_to_num(0.0) @ v


def drawn(batch: int, queries: int, keys: int, seed: int = 0) -> list[Tensor]:
    """Queries, keys and values as Attention makes them: the heads of a position lie side by side."""
    chance = torch.Generator().manual_seed(seed)
    return [
        torch.randn(batch, length, HEADS, SIZE, dtype=torch.float64, generator=chance).transpose(1, 2).requires_grad_()
        for length in (queries, keys, keys)
    ]


def real_of(padding: str, batch: int, keys: int) -> Tensor | None:
    """Rows with ever more padding; the first has none."""
    if padding == "none":
        return None
    real = torch.ones(batch, keys, dtype=torch.bool)
    for row in range(1, batch):
        short = min(3 * row, keys - 1)
        if padding in ("left", "both"):
            real[row, :short] = False
        if padding in ("right", "both"):
            real[row, keys - min(short, keys - int(padding == "both") * short - 1) :] = False
    return real


def written_out(queries: int, keys: int, window: int) -> list[list[bool]]:
    """0 <= i - j < window, where the last query stands at the last key."""
    return [[0 <= keys - queries + i - j < window for j in range(keys)] for i in range(queries)]


@pytest.mark.parametrize(("queries", "keys", "window"), [(5, 5, 3), (2, 7, 3), (7, 7, 1), (4, 4, 9), (1, 6, 2)])
def test_a_band_is_what_it_says(queries, keys, window):
    assert BandedPattern(window).mask(queries, keys).tolist() == written_out(queries, keys, window)


# shorter than a block, whole blocks, a last block that is short, a band of one, a band wider than the text
@pytest.mark.parametrize(
    ("length", "window"), [(3, 4), (4, 4), (5, 4), (8, 4), (11, 4), (16, 4), (17, 5), (7, 1), (9, 2), (6, 50)]
)
@pytest.mark.parametrize("before", [0, 1, 3, 4, 9])
@pytest.mark.parametrize("padding", PADDINGS)
def test_blocks_give_the_values_and_gradients_of_the_definition(length, window, before, padding):
    """With and without remembered keys before the queries; a query that is padding counts for nothing."""
    q, k, v = drawn(3, length, before + length)
    real = real_of(padding, 3, before + length)
    visible = torch.tensor(written_out(length, before + length, window)).expand(3, -1, -1)
    counts = torch.ones(3, length, dtype=torch.bool)
    if real is not None:
        visible, counts = visible & real[:, None], real[:, before:]
    found = BandedPattern(window).attend(q, k, v, real)
    assert torch.isfinite(found).all()
    slope = (
        torch.randn(found.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
        * counts[:, None, :, None]
    )
    wanted = by_definition(q, k, v, visible)
    where = counts[:, None, :, None].expand_as(found)
    assert (found - wanted)[where].abs().max() < 1e-10
    for mine, other in zip(torch.autograd.grad(found, (q, k, v), slope), torch.autograd.grad(wanted, (q, k, v), slope)):
        assert (mine - other).abs().max() < 1e-10


def test_dropout_falls_on_what_is_visible_and_keeps_the_mean():
    q, k, v = (x.detach() for x in drawn(2, 11, 11))
    torch.manual_seed(0)
    tries = torch.stack([BandedPattern(4).attend(q, k, v, None, 0.3) for _ in range(4000)])
    assert tries.std(0).min() > 0.01
    assert (tries.mean(0) - BandedPattern(4).attend(q, k, v, None)).abs().max() < 6 * tries.std(0).max() / math.sqrt(
        4000
    )


@pytest.mark.parametrize("window", [None, 1, 3, 50])
def test_packed_texts_and_reached_tokens_keep_to_the_band(window):
    lengths = (2, 5, 5, 9)
    q, k, v = drawn(1, sum(lengths), sum(lengths))
    packed = Packed(lengths).within(window)
    visible = torch.zeros(1, sum(lengths), sum(lengths), dtype=torch.bool)
    at = 0
    for length in lengths:
        visible[0, at : at + length, at : at + length] = torch.tensor(written_out(length, length, window or length))
        at += length
    assert torch.equal(packed.mask(at, at), visible[0])
    assert (packed.attend(q, k, v) - by_definition(q, k, v, visible)).abs().max() < 1e-10
    reached = CachedPattern(torch.tensor([1, 4, 9])).within(window)
    seen = torch.stack([torch.tensor(written_out(1, n, window or n)[0] + [False] * (12 - n)) for n in (1, 4, 9)])
    assert torch.equal(reached.mask(1, 12), seen[:, None])
    for dtype, near in (
        (torch.float64, 1e-10),
        (torch.float32, 1e-5),
    ):  # torch's way, and the compiled one if there is one
        q, k, v = (x.detach().to(dtype).contiguous() for x in drawn(3, 1, 12))
        assert (reached.attend(q, k, v) - by_definition(q, k, v, seen[:, None])).abs().max() < near


def test_layers_alternate_from_the_first():
    assert Dense().windows(3, 8) == [None, None, None]
    assert Alternating(window=7).windows(5, 8) == [None, 7, None, 7, None]
    assert Alternating(window=7, order=("banded", "dense", "banded")).windows(4, 8) == [7, None, 7, 7]


# --- leaks -----------------------------------------------------------------------------------------------------------

LENGTH = 11


def stack_of(patterns: list, seed: int = 0) -> list[Block]:
    torch.manual_seed(seed)
    width = HEADS * SIZE
    blocks = [
        Block(
            Attention(width, HEADS),
            FeedForward(width, 16, "gelu_tanh"),
            (NormBefore(torch.nn.LayerNorm(width), 0.0), NormBefore(torch.nn.LayerNorm(width), 0.0)),
        ).double()
        for _ in patterns
    ]
    with torch.no_grad():
        for parameter in (p for block in blocks for p in block.parameters() if p.dim() > 1):
            parameter.normal_(0, 0.4)
    return blocks


def influence(blocks: list[Block], patterns: list, x: Tensor, real: Tensor | None = None) -> Tensor:
    """[positions, positions]: whether the output at i moves when the input at j does, by the slope of each number."""

    def through(x: Tensor) -> Tensor:
        for block, pattern in zip(blocks, patterns):
            x, _ = block(x, pattern, None, real)
        return x[0]

    slopes = torch.autograd.functional.jacobian(through, x)[:, :, 0]  # [i, width, j, width]
    return slopes.abs().amax((1, 3)) > 0


def reachable(masks: list[Tensor]) -> Tensor:
    """What can come from j to i through the layers, one after the other."""
    found = torch.eye(LENGTH, dtype=torch.bool)
    for mask in masks:
        one = (mask | torch.eye(LENGTH, dtype=torch.bool)).long()  # the stream carries every position on
        found = (one @ found.long()) > 0
    return found


LAYERS = {
    "causal": [CausalPattern()],
    "banded": [BandedPattern(3)],
    "a band of one": [BandedPattern(1)],
    "two bands": [BandedPattern(3), BandedPattern(4)],
    "alternating": [CausalPattern(), BandedPattern(3)],
    "banded first": [BandedPattern(2), CausalPattern()],
    "packed": [Packed((4, 2, 5))],
    "packed and banded": [Packed((4, 2, 5), 2), Packed((4, 2, 5), 3)],
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_position_moves_with_those_it_may_see_and_with_no_others(name):
    patterns = LAYERS[name]
    x = torch.randn(1, LENGTH, HEADS * SIZE, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    wanted = reachable([pattern.mask(LENGTH, LENGTH) for pattern in patterns])
    assert torch.equal(influence(stack_of(patterns), patterns, x), wanted)


@pytest.mark.parametrize("name", [name for name in LAYERS if not name.startswith("packed")])
@pytest.mark.parametrize("side", ["left", "right"])
def test_the_same_holds_beside_padding_which_nobody_sees(name, side):
    patterns = LAYERS[name]
    real = torch.arange(LENGTH)[None] >= 3 if side == "left" else torch.arange(LENGTH)[None] < LENGTH - 3
    x = torch.randn(1, LENGTH, HEADS * SIZE, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    wanted = reachable([pattern.mask(LENGTH, LENGTH) & real for pattern in patterns])
    found = influence(stack_of(patterns), patterns, x, real)
    tokens = real[0].nonzero()[:, 0]
    assert torch.equal(found[tokens], wanted[tokens])
    assert not found[tokens][:, ~real[0]].any()


def test_an_edit_at_4_with_a_window_of_3_reaches_6():
    block = stack_of([BandedPattern(3)])
    x = torch.randn(1, LENGTH, HEADS * SIZE, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    other = x.clone()
    other[0, 4] = torch.randn(HEADS * SIZE, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        changed = (block[0](x, BandedPattern(3))[0] != block[0](other, BandedPattern(3))[0]).any(-1)[0]
    assert changed.nonzero()[:, 0].tolist() == [4, 5, 6]


@pytest.mark.thorough
def test_compiled_blocks_that_see_differently_give_the_same():
    if not able(torch.device("cpu"), "auto"):
        pytest.skip("no C++ compiler")
    patterns = [CausalPattern(), BandedPattern(3)]
    x = torch.randn(2, LENGTH, HEADS * SIZE, dtype=torch.float64)
    plain, compiled = stack_of(patterns), stack_of(patterns)
    for block in compiled:
        block.compile(backend="aot_eager")
    found = []
    for blocks in (plain, compiled):
        y = x
        for block, pattern in zip(blocks, patterns):
            y, _ = block(y, pattern)
        y.square().sum().backward()
        found.append((y, [p.grad for block in blocks for p in block.parameters()]))
    assert torch.allclose(found[0][0], found[1][0], atol=1e-10)
    assert all(torch.allclose(a, b, atol=1e-8) for a, b in zip(found[0][1], found[1][1]))


@pytest.mark.parametrize("reach", [0, 1, 3, 20])
@pytest.mark.parametrize("padded", [False, True])
def test_a_window_to_both_sides_is_what_its_mask_says(reach, padded):
    """Against a softmax over the scores that the mask leaves; one place more gives something else."""
    torch.manual_seed(reach)
    q, k, v = (torch.randn(2, 2, 9, 4, dtype=torch.float64) for _ in range(3))
    real = torch.arange(9)[None] < torch.tensor([[9], [6]]) if padded else None
    far = (torch.arange(9)[:, None] - torch.arange(9)).abs()
    assert torch.equal(LocalPattern(reach).mask(9, 9), far <= reach)
    assert FullPattern().within(2 * reach + 1) == LocalPattern(reach)

    def by_hand(reach):
        seen = (far <= reach)[None, None].expand(2, 1, 9, 9)
        seen = seen if real is None else (seen & real[:, None, None]) | torch.eye(9, dtype=torch.bool)
        scores = (q @ k.mT / 2).masked_fill(~seen, float("-inf"))
        return scores.softmax(-1) @ v

    there = slice(None) if real is None else slice(0, 6)  # what stands at padding means nothing
    found = LocalPattern(reach).attend(q, k, v, real)[:, :, there]
    assert torch.allclose(found, by_hand(reach)[:, :, there], atol=1e-12)
    assert reach > 8 or not torch.allclose(found, by_hand(reach + 1)[:, :, there], atol=1e-6)


# ------------------------------------------------------------------------------------------------- layouts of blocks


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(
    ("kind", "length"), [("watts_strogatz", 32), ("barabasi_albert", 32), ("balanced", 32), ("balanced", 27)]
)
def test_blocks_that_a_layout_ties_attend_as_their_mask_says(kind, length, causal):
    """Forward and backward; and a position sees nothing of a block that its own is not tied to."""
    from foreword.parts import LAYOUTS
    from foreword.parts.visible import LayoutPattern

    spec = LayoutPattern(block=4, layout=LAYOUTS.find(kind)(**({"neighbours": 2} if kind == "watts_strogatz" else {})))
    if kind != "watts_strogatz":
        spec = spec.model_copy(update={"layout": spec.layout.model_copy(update={"each": 2, "attached": 1})})
    layout = spec.windows(2, 32)[1]
    pattern = (CausalPattern() if causal else FullPattern()).within(layout)
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 3, length, 5, dtype=torch.float64, requires_grad=True) for _ in range(3))
    mask = pattern.mask(length, length)
    assert mask.diagonal().all()
    assert not mask.all()
    assert (mask.triu(1).any().item()) != causal
    wanted = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    ours = pattern.attend(q, k, v, None)
    assert (ours - wanted).abs().max() < 1e-12
    slopes = [torch.autograd.grad(out.square().sum(), (q, k, v)) for out in (ours, wanted)]
    assert max(float((a - b).abs().max()) for a, b in zip(*slopes)) < 1e-10
    blocks = torch.kron(layout.tied | torch.eye(8, dtype=torch.bool), torch.ones(4, 4, dtype=torch.bool))[
        :length, :length
    ]
    assert torch.equal(mask, blocks.tril() if causal else blocks)


def test_a_network_of_blocks_sees_what_they_see_whole_in_pieces_and_padded_at_the_left():
    from foreword.assembly import loader
    from foreword.assembly.build import model_for
    from foreword.networks.base import Inputs
    from foreword.tokens.vocabulary import Vocabulary

    small = ["network.layers=2", "network.width=16", "network.heads=2", "network.context=32"]
    small += ["network.visible={ kind = 'blocks', block = 4, layout = { kind = 'watts_strogatz', neighbours = 2 } }"]
    torch.manual_seed(0)
    made = model_for(loader.load("gpt2", "", small), Vocabulary(40, 0, ())).network.double().eval()
    ids = torch.randint(1, 40, (1, 29))
    with torch.no_grad():
        whole, parts, state = made(Inputs(ids)).last, [], None
        for start in range(0, 29, 5):
            output = made(Inputs(ids[:, start : start + 5]), state)
            parts.append(output.last)
            state = output.state
        assert (torch.cat(parts, 1) - whole).abs().max() < 1e-10
        padded = torch.cat([ids.new_zeros(1, 3), ids], 1)
        real = torch.arange(32)[None] >= 3
        assert (made(Inputs(padded, real)).last[:, 3:] - whole).abs().max() < 1e-10
