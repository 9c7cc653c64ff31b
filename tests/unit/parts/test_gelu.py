"""GELU of our own: torch's numbers, forward and back, at every length; and torch's where ours cannot be had."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from foreword.basics import kernels
from foreword.parts import gelu as ours
from foreword.parts.gelu import GeluTanh

EDGES = torch.tensor([0.0, -0.0, 1e-30, -1e-30, 1e-4, 0.5, -0.5, 3.0, -3.0, 5.5, -5.5, 9.9, -9.9, 40.0, -40.0, 1e4, -1e4, 1e12, -1e12])


def both(x: torch.Tensor, upstream: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    x = x.clone().requires_grad_()
    y = GeluTanh()(x)
    return y.detach(), torch.autograd.grad(y, x, upstream)[0]


def right(x: torch.Tensor, upstream: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """In float64, by torch."""
    x = x.double().requires_grad_()
    y = F.gelu(x, approximate="tanh")
    return y.detach(), torch.autograd.grad(y, x, upstream.double())[0]


@pytest.fixture
def compiled() -> None:
    if ours.library() is None:
        pytest.skip("no C compiler here")


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("size", [1, 3, 15, 16, 17, 33, 4096, 3 * 4096 + 5, 100_003])
def test_values_and_slopes_are_torch_s_in_double_precision(size: int) -> None:
    draw = torch.Generator().manual_seed(size)
    x, upstream = 3 * torch.randn(size, generator=draw), torch.randn(size, generator=draw)
    for mine, wanted in zip(both(x, upstream), right(x, upstream)):
        torch.testing.assert_close(mine.double(), wanted, rtol=2e-6, atol=1e-5)
        assert (mine.double() - wanted).abs().mean() < 2e-7


@pytest.mark.usefixtures("compiled")
def test_far_from_zero_it_is_zero_or_x_and_never_not_a_number() -> None:
    y, slope = both(EDGES, torch.ones_like(EDGES))
    torch.testing.assert_close(y.double(), right(EDGES, torch.ones_like(EDGES))[0], rtol=2e-6, atol=1e-7)
    assert slope.isfinite().all()
    assert slope[EDGES > 8].eq(1).all()
    assert slope[(EDGES < -9) & (EDGES > -1e6)].abs().max() < 1e-6


@pytest.mark.usefixtures("compiled")
def test_a_strided_input_is_read_by_its_shape() -> None:
    x, upstream = torch.randn(7, 9).t(), torch.randn(9, 7)
    y, slope = both(x, upstream)
    torch.testing.assert_close(y.double(), right(x, upstream)[0], rtol=2e-6, atol=1e-6)
    torch.testing.assert_close(slope.double(), right(x, upstream)[1], rtol=2e-6, atol=1e-5)


@pytest.mark.usefixtures("compiled")
def test_torch_compile_leaves_it_as_it_is() -> None:
    x = torch.randn(40, requires_grad=True)
    compiled = torch.compile(lambda x: GeluTanh()(x * 2).sum(), backend="aot_eager", fullgraph=True)
    slope, = torch.autograd.grad(compiled(x), x)
    torch.testing.assert_close(slope, torch.autograd.grad(F.gelu(x * 2, approximate="tanh").sum(), x)[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("flags", [(), ("-DPORTABLE",), ("-mno-avx512f",)], ids=["native", "portable", "avx2"])
def test_every_width_of_vector_gives_the_same(flags: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    import ctypes
    try:
        library = ctypes.CDLL(str(kernels.build(ours.SOURCE, (*kernels.FLAGS, *flags))))
    except kernels.FAILURES as error:
        pytest.skip(f"cannot be compiled so: {kernels.why(error)}")
    library.gelu.argtypes, library.gelu.restype = [ctypes.c_void_p] * 3 + [ctypes.c_long] * 2, None
    monkeypatch.setattr(ours, "library", lambda: library)
    x, upstream = torch.cat([EDGES[:-4], 2 * torch.randn(1001)]), torch.randn(1001 + len(EDGES) - 4)
    for mine, wanted in zip(both(x, upstream), right(x, upstream)):
        torch.testing.assert_close(mine.double(), wanted, rtol=2e-6, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_another_precision_is_torch_s(dtype: torch.dtype) -> None:
    x = torch.randn(50, dtype=dtype)
    assert torch.equal(GeluTanh()(x), F.gelu(x, approximate="tanh"))


def test_without_a_compiler_torch_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "library", lambda: None)
    x = torch.randn(50)
    assert torch.equal(GeluTanh()(x), F.gelu(x, approximate="tanh"))
