"""Attention with dropout: the definition in double precision with the same weights dropped, forward and back."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from foreword.kernels import dropout_attention, elementwise
from foreword.parts.attention import Attention
from foreword.parts.visible import BandedPattern, CausalPattern, FullPattern, Pattern
from tests.widths import every_width, use

SHARE = 0.3
SHAPES = [
    (1, 1, 1, 1, 4),
    (3, 2, 5, 5, 4),
    (2, 3, 17, 17, 8),
    (5, 2, 7, 33, 16),
    (3, 4, 40, 40, 32),
]  # b, heads, q, k, size


@pytest.fixture(autouse=True)
def compiled() -> None:
    if not elementwise.usable():
        pytest.skip("no C compiler here")


def drawn(batch: int, heads: int, queries: int, keys: int, size: int) -> list[Tensor]:
    """As Attention makes them: the heads of a place lie side by side."""
    chance = torch.Generator().manual_seed(batch + keys)
    return [
        torch.randn(batch, length, heads, size, generator=chance).transpose(1, 2).requires_grad_()
        for length in (queries, keys, keys)
    ]


def masks(batch: int, queries: int, keys: int) -> dict[str, Tensor | None]:
    real = torch.ones(batch, keys, dtype=torch.bool)
    real[1:, keys - keys // 3 :] = False
    some = torch.rand(batch, 1, queries, keys, generator=torch.Generator().manual_seed(3)) > 0.4
    some[..., 0] = True
    return {
        "none": None,
        "padding": real[:, None, None],
        "of each query": some[0, 0],
        "of each query and row": some,
        "with gaps": some.mT.contiguous().mT,
    }


def by_definition(q: Tensor, k: Tensor, v: Tensor, seen: Tensor | None, seed: int, share: float = SHARE) -> Tensor:
    """In double precision; the weights that are dropped are those numbers that `dropped` would drop after the same seed."""
    scores = q.double() @ k.double().mT / math.sqrt(q.size(-1))
    scores = scores if seen is None else scores.masked_fill(~seen, -math.inf)
    torch.manual_seed(seed)
    return (scores.softmax(-1) * elementwise.dropout(torch.ones(scores.shape), share).double()) @ v.double()


def same(given: list[Tensor], seen: Tensor | None, share: float = SHARE, within: float = 2e-5) -> None:
    wanted = by_definition(*given, seen, 7, share)
    torch.manual_seed(7)
    mine = dropout_attention.attention(*given, seen, share)
    assert mine.dtype is torch.float32
    upstream = torch.randn_like(mine)
    torch.testing.assert_close(mine.double(), wanted, rtol=1e-5, atol=within)
    slopes = torch.autograd.grad(mine, given, upstream)
    for slope, right in zip(slopes, torch.autograd.grad(wanted, given, upstream.double()), strict=True):
        torch.testing.assert_close(slope, right, rtol=1e-5, atol=within)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["none", "padding", "of each query", "of each query and row", "with gaps"])
def test_it_is_softmax_dropout_and_a_product(shape: tuple[int, ...], name: str) -> None:
    batch, _, queries, keys, _ = shape
    same(drawn(*shape), masks(batch, queries, keys)[name])


@pytest.mark.parametrize("piece", [1, 2 * 40 * 40 * 4, 2**19], ids=["row by row", "two rows at once", "all at once"])
def test_in_how_many_pieces_does_not_matter(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dropout_attention, "PIECE", piece)
    for seen in masks(3, 40, 40).values():
        same(drawn(3, 4, 40, 40, 32), seen)


@pytest.mark.thorough
@every_width
def test_every_width_of_vector_gives_the_same(flags: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    use(flags, monkeypatch, elementwise, dropout_attention)
    for shape in SHAPES:
        for seen in masks(shape[0], shape[2], shape[3]).values():
            same(drawn(*shape), seen)


def test_scores_far_apart_and_rows_that_see_nothing() -> None:
    q, k, v = drawn(2, 2, 9, 9, 8)
    same([(q * 30).detach().requires_grad_(), k, v], None, within=1e-3)  # weights of nearly zero and nearly one
    seen = torch.ones(9, 9, dtype=torch.bool)
    seen[4] = False
    mine = dropout_attention.attention(q, k, v, seen, SHARE)
    assert not mine[:, :, 4].any()
    assert all(slope.isfinite().all() for slope in torch.autograd.grad(mine.square().sum(), (q, k, v)))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_so_large_a_share_of_the_weights_is_dropped(share: float) -> None:
    keys = 257
    q, k, v = (
        torch.zeros(2, 3, keys, 4),
        torch.zeros(2, 3, keys, 4),
        torch.eye(keys).expand(2, 3, keys, keys).contiguous(),
    )
    torch.manual_seed(1)
    weights = (
        dropout_attention.attention(q, k, v, None, share) * keys * (1 - share)
    )  # 1 where kept: all keys weigh the same
    torch.testing.assert_close(weights, weights.round().clamp(0, 1), rtol=0, atol=1e-4)
    kept = float(weights.double().mean())
    assert abs(kept - (1 - share)) < 4 * (share * (1 - share) / weights.numel()) ** 0.5
    assert not torch.equal(
        dropout_attention.attention(q, k, v, None, share), dropout_attention.attention(q, k, v, None, share)
    )


@pytest.mark.parametrize("pattern", [FullPattern(), CausalPattern(), BandedPattern(3)], ids=str)
def test_patterns_keep_their_secrets_while_dropping(pattern: Pattern) -> None:
    """What a query may not see changes nothing in it, with the same weights dropped."""
    attention = Attention(8, 2, dropout=0.2).train()
    x = torch.randn(2, 11, 8)
    real = torch.ones(2, 11, dtype=torch.bool)
    real[1, 8:] = False

    def read(x: Tensor) -> Tensor:
        torch.manual_seed(4)
        return attention(x, pattern, real=real)[0]

    before, seen = read(x), pattern.mask(11, 11) & real[:, None]
    for place in range(11):
        other = x.clone()
        other[:, place] += 1.0
        changed = (read(other) != before).any(-1)  # [batch, queries]
        blind = real & ~seen[:, :, place]
        blind[:, place] = False  # its own query is another one
        assert not (changed & blind).any()


@pytest.mark.thorough
def test_torch_s_own_checks_of_the_operator() -> None:
    q, k, v = drawn(2, 2, 5, 7, 4)
    seen = torch.ones(2, 1, 1, 7, dtype=torch.bool)
    torch.library.opcheck(torch.ops.foreword.dropout_attention.default, (q, k, v, seen, torch.tensor([5]), 0.2))


@pytest.mark.thorough
def test_torch_compile_leaves_it_as_it_is() -> None:
    given = drawn(2, 2, 5, 5, 4)
    compiled = torch.compile(
        lambda q, k, v: dropout_attention.attention(q * 2, k, v, None, 0.2).square().sum(), backend="aot_eager"
    )
    torch.manual_seed(2)
    mine = torch.autograd.grad(compiled(*given), given)
    torch.manual_seed(2)
    for slope, right in zip(
        mine,
        torch.autograd.grad(dropout_attention.attention(given[0] * 2, *given[1:], None, 0.2).square().sum(), given),
    ):
        torch.testing.assert_close(slope, right)


@every_width
@pytest.mark.parametrize("kind", ["none", "of each query and row"])
def test_with_and_without_the_kernels_the_same_weights_are_dropped(
    flags, kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = drawn(3, 2, 7, 9, 8)
    seen = None if kind == "none" else torch.rand(3, 1, 7, 9) < 0.6
    if seen is not None:
        seen[1, 0, 2] = False  # this query sees nothing
    found = []
    for kernels in (True, False):
        use(flags, monkeypatch, elementwise, dropout_attention)
        if not kernels:
            monkeypatch.setattr(elementwise, "library", lambda: None)
            monkeypatch.setattr(dropout_attention, "library", lambda: None)
        torch.manual_seed(11)
        out = dropout_attention.attention(*given, seen, 0.4)
        found.append([out, *torch.autograd.grad(out.square().sum(), given)])
    for mine, plain in zip(*found):
        torch.testing.assert_close(mine, plain, rtol=1e-5, atol=1e-5)


def test_elsewhere_torch_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v = drawn(2, 2, 5, 5, 4)
    plain = by_definition(q, k, v, torch.ones(5, 5).tril().bool(), 0, 0.0)
    torch.testing.assert_close(dropout_attention.attention(q, k, v, causal=True).double(), plain, rtol=1e-5, atol=1e-5)
    monkeypatch.setattr(elementwise, "library", lambda: None)
    monkeypatch.setattr(dropout_attention, "library", lambda: None)
    torch.manual_seed(0)
    many = torch.stack([dropout_attention.attention(q, k, v, None, 0.2, causal=True) for _ in range(4000)])
    torch.testing.assert_close(many.mean(0).double(), plain, rtol=0, atol=0.1)
    assert many.std(0)[:, :, 1:].min() > 0
