"""Loops of our own: torch's numbers, forward and back, at every length and layout; and torch's own where ours cannot be had."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from foreword.kernels import elementwise
from tests.widths import every_width, torch_compiles, use

EDGES = torch.tensor(
    [0.0, -0.0, 1e-30, -1e-30, 1e-4, 0.5, -0.5, 3.0, -3.0, 5.5, -5.5, 9.9, -9.9, 40.0, -40.0, 1e4, -1e4]
)
ANGLES = torch.randn(5, 6, generator=torch.Generator().manual_seed(1))

Function = Callable[[Tensor], Tensor]
KERNELS: dict[str, Function] = {
    "gelu": elementwise.gelu_tanh,
    "relu_squared": elementwise.relu_squared,
    "rms_norm": lambda x: elementwise.rms_norm(x, 1e-3),
    "rotary": lambda x: elementwise.rotary(x, ANGLES.cos().to(x.dtype), ANGLES.sin().to(x.dtype)),
}
MANY = [1, 3, 15, 16, 17, 33, 4096, 3 * 4096 + 5, 100_003]


def both(function: Function, x: Tensor, upstream: Tensor) -> tuple[Tensor, Tensor]:
    x = x.detach().requires_grad_()
    y = function(x)
    return y.detach(), torch.autograd.grad(y, x, upstream)[0]


def same(function: Function, x: Tensor, upstream: Tensor | None = None) -> None:
    """As torch has it in double precision, where ours is never used."""
    upstream = torch.randn_like(x) if upstream is None else upstream
    for mine, wanted in zip(both(function, x, upstream), both(function, x.double(), upstream.double())):
        assert mine.dtype is torch.float32
        torch.testing.assert_close(mine.double(), wanted, rtol=3e-6, atol=1e-5)
        assert (mine.double() - wanted).abs().mean() < 3e-7 * max(1.0, float(wanted.abs().max()))


@pytest.fixture
def compiled() -> None:
    if not elementwise.usable():
        pytest.skip("no C compiler here")


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("name", ["gelu", "relu_squared"])
@pytest.mark.parametrize("size", MANY)
def test_each_number(name: str, size: int) -> None:
    same(KERNELS[name], 3 * torch.randn(size, generator=torch.Generator().manual_seed(size)))


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("name", ["gelu", "relu_squared", "rms_norm"])
@pytest.mark.parametrize(
    "layout",
    [
        torch.randn(7, 9).t(),
        torch.randn(4, 5, 6, 8).transpose(1, 2),
        torch.randn(6, 20)[:, 3:11],
        torch.randn(3, 8).expand(2, 3, 8),
    ],
    ids=["transposed", "heads and places exchanged", "with gaps", "expanded"],
)
def test_any_layout(name: str, layout: Tensor) -> None:
    same(KERNELS[name], layout)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(("rows", "width"), [(1, 1), (1, 7), (3, 16), (5, 33), (300, 64), (40, 1000)])
def test_each_row(rows: int, width: int) -> None:
    same(
        KERNELS["rms_norm"],
        torch.randn(rows, width) * torch.logspace(-3, 3, rows)[:, None] if rows < 6 else torch.randn(rows, width),
    )


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(
    "x",
    [
        torch.randn(2, 3, 5, 12),
        torch.randn(2, 5, 3, 12).transpose(1, 2),
        torch.randn(2, 5, 9, 12)[:, :, 2:5].transpose(1, 2),
        torch.randn(40, 24, 5, 12),
    ],
    ids=["by head", "by place", "within a projection", "for two threads"],
)
def test_rotations(x: Tensor) -> None:
    same(KERNELS["rotary"], x)


@pytest.mark.usefixtures("compiled")
def test_rotations_of_any_head_size() -> None:
    for size in (2, 8, 16, 34, 64):
        angles = torch.randn(5, size // 2)
        same(
            lambda x, a=angles: elementwise.rotary(x, a.cos().to(x.dtype), a.sin().to(x.dtype)),
            torch.randn(2, 3, 5, size),
        )


@pytest.mark.usefixtures("compiled")
def test_a_gradient_of_another_layout_meets_its_own_rows() -> None:
    x = torch.randn(2, 5, 3, 8).transpose(1, 2)
    same(KERNELS["rms_norm"], x, torch.randn(2, 3, 5, 8))
    same(KERNELS["gelu"], x, torch.randn(2, 5, 3, 8).transpose(1, 2))


@pytest.mark.usefixtures("compiled")
def test_far_from_zero_gelu_is_zero_or_x_and_never_not_a_number() -> None:
    y, slope = both(elementwise.gelu_tanh, EDGES, torch.ones_like(EDGES))
    torch.testing.assert_close(y, F.gelu(EDGES, approximate="tanh"), rtol=2e-6, atol=1e-7)
    assert slope.isfinite().all()
    assert slope[EDGES > 8].eq(1).all()
    assert slope[EDGES < -9].abs().max() < 1e-6
    assert both(elementwise.gelu_tanh, torch.tensor([1e12, -1e12]), torch.ones(2))[1].isfinite().all()


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("name", KERNELS)
def test_torch_s_own_checks_of_an_operator(name: str) -> None:
    x = torch.randn(2, 5, 3, 12).transpose(1, 2).requires_grad_()
    operators = {"rms_norm": ("rms_norm", None, 1e-3), "rotary": ("rotary", ANGLES.cos(), ANGLES.sin(), 1.0)}
    operator, *more = operators.get(name, ("activation", None, name))
    torch.library.opcheck(getattr(torch.ops.foreword, operator).default, (x, *more))


@pytest.mark.thorough
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("name", KERNELS)
def test_torch_compile_leaves_it_as_it_is(name: str) -> None:
    x = torch.randn(2, 3, 5, 12, requires_grad=True)
    compiled = torch.compile(lambda x: KERNELS[name](x * 2).square().sum(), backend="aot_eager", fullgraph=True)
    (slope,) = torch.autograd.grad(compiled(x), x)
    torch.testing.assert_close(slope, torch.autograd.grad(KERNELS[name](x * 2).square().sum(), x)[0])


@every_width
def test_every_width_of_vector_gives_the_same(flags: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    use(flags, monkeypatch, elementwise)
    for name, function in KERNELS.items():
        same(function, 2 * torch.randn(2, 3, 5, 12))
        if name != "rotary":
            same(function, torch.cat([EDGES[:-2], torch.randn(1001)]))


@pytest.mark.parametrize("name", KERNELS)
def test_without_a_compiler_torch_answers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elementwise, "library", lambda: None)
    same(KERNELS[name], torch.randn(2, 3, 5, 12))


@every_width
@pytest.mark.parametrize("share", [0.1, 0.5, 1e-6])
def test_with_and_without_the_kernels_the_same_numbers_are_dropped(
    flags, share, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = torch.cat(
        [torch.randn(70_001), torch.tensor([torch.inf, -0.0, 1e-40])]
    )  # more than one piece, and no whole vectors
    found = []
    for kernels in (True, False):
        use(flags, monkeypatch, elementwise)
        if not kernels:
            monkeypatch.setattr(elementwise, "library", lambda: None)
        torch.manual_seed(7)
        found.append(torch.cat(both(lambda x: elementwise.dropout(x, share), x, x)))
    assert torch.equal(*(y.view(torch.int32) for y in found)), "to the last bit"


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("threads", [1, 2])
def test_so_large_a_share_is_dropped_and_the_rest_grows(
    share: float, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    torch.manual_seed(3)
    x = torch.randn(1000, 257)
    y = elementwise.dropout(x, share)
    kept = y != 0
    torch.testing.assert_close(y, torch.where(kept, x / (1 - share), 0.0))
    sigma = (share * (1 - share) / x.numel()) ** 0.5
    assert abs(float((~kept).double().mean()) - share) < 4 * sigma
    for rows in (kept.double(), kept.double().t()):  # no row has more than its part, and neighbours do not agree
        spread = rows.mean(1).std() / (share * (1 - share) / rows.size(1)) ** 0.5
        assert 0.85 < spread < 1.15
        together = (rows[1:] * rows[:-1]).mean()
        assert abs(float(together) - (1 - share) ** 2) < 6 * sigma


def test_what_is_passed_back_is_dropped_alike_and_the_next_draw_is_another() -> None:
    x = torch.randn(64, 100, requires_grad=True)
    torch.manual_seed(5)
    y = elementwise.dropout(x, 0.3)
    (slope,) = torch.autograd.grad(y.sum(), x)
    assert ((slope != 0) == (y != 0)).all()
    torch.testing.assert_close(slope[slope != 0], torch.full_like(slope[slope != 0], 1 / 0.7))
    other = elementwise.dropout(x, 0.3)
    agree = float(((other != 0) == (y != 0)).double().mean())
    assert agree == pytest.approx(0.58, abs=0.03)  # 0.7 squared and 0.3 squared: as independent draws do
    torch.manual_seed(5)
    assert torch.equal(elementwise.dropout(x, 0.3), y), "all chance comes from torch's seed"
    torch.manual_seed(5)
    assert torch.equal(elementwise.dropout(x.t().contiguous().t(), 0.3), y), "and the layout does not matter"


@pytest.mark.thorough
@pytest.mark.usefixtures("compiled")
@torch_compiles
def test_compiled_dropout_drops_as_much() -> None:
    compiled = torch.compile(lambda x: elementwise.dropout(x, 0.25) * 2.0, fullgraph=True)
    x = torch.ones(500, 100, requires_grad=True)
    y = compiled(x)
    assert float((y == 0).double().mean()) == pytest.approx(0.25, abs=0.01)
    (slope,) = torch.autograd.grad(y.sum(), x)
    assert ((slope == 0) == (y == 0)).all()


def test_dropout_rests_while_a_model_is_asked_and_where_nothing_is_dropped() -> None:
    x = torch.randn(8, 8)
    assert elementwise.Dropout(0.5).eval()(x) is x
    assert elementwise.Dropout(0.0)(x) is x
    assert not elementwise.Dropout(1.0)(x).any()
    assert 0 < int((elementwise.Dropout(0.5)(x.double()) == 0).sum()) < 64, "torch's own in another precision"
