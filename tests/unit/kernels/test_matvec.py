"""Products with few rows: the numbers of float64, in every way the source can be compiled, and in torch."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F

from foreword.kernels import build, decode, matvec
from foreword.parts.frozen import quantized
from tests.widths import compiled_with

WAYS = {"native": (), "without AVX-512": ("-mno-avx512f",), "portable": ("-DPORTABLE",), "one thread": ("-fno-openmp",)}
ACTIVATIONS = {
    "": lambda x: x,
    "relu": F.relu,
    "relu_squared": lambda x: F.relu(x).square(),
    "gelu_erf": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
}
every_way = pytest.mark.parametrize("way", [*WAYS, "torch"])


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    made = {}

    def find(way):
        if way == "torch":
            return None
        if way not in made:
            try:
                made[way] = compiled_with(decode, WAYS[way])
            except build.FAILURES as error:
                pytest.skip(f"cannot be compiled here: {error}")
        return made[way]

    return find


@pytest.fixture
def product(way, libraries, monkeypatch):
    library = libraries(way)
    monkeypatch.setattr(decode, "library", lambda: library)
    return matvec.linear


def meant(numbers: torch.Tensor, scale: torch.Tensor | None) -> torch.Tensor:
    """What int8 weights stand for."""
    return (
        numbers.double()
        if scale is None
        else numbers.double() * scale[0].double()[:, None] + scale[1].double()[:, None]
    )


def error(found: torch.Tensor, wanted: torch.Tensor) -> float:
    return float((found.double() - wanted).norm() / wanted.norm())


@every_way
@pytest.mark.parametrize("inputs", [1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64, 65, 100, 200])
def test_every_width_and_every_number_of_rows(product, inputs):
    draw = torch.Generator().manual_seed(inputs)
    for rows in range(1, 34):
        outputs = int(torch.randint(1, 40, (), generator=draw))
        x, weight = torch.randn(rows, inputs, generator=draw), torch.randn(outputs, inputs, generator=draw)
        numbers, scale = quantized(weight)
        assert error(product(x, weight), x.double() @ weight.double().t()) < 1e-5
        assert error(product(x, numbers, None, scale), x.double() @ meant(numbers, scale).t()) < 1e-5


@every_way
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("small", [False, True], ids=["float32", "int8"])
def test_bias_activation_and_residual(product, activation, small):
    draw = torch.Generator().manual_seed(1)
    for rows, inputs, outputs in ((1, 48, 37), (5, 50, 64), (8, 33, 6), (32, 24, 50)):
        x, weight = torch.randn(rows, inputs, generator=draw), torch.randn(outputs, inputs, generator=draw)
        bias, residual = torch.randn(outputs, generator=draw), torch.randn(rows, outputs, generator=draw)
        numbers, scale = quantized(weight) if small else (weight, None)
        whole = meant(numbers, scale)
        made = ACTIVATIONS[activation](x.double() @ whole.t() + bias.double())
        assert error(product(x, numbers, bias, scale, activation), made) < 1e-5
        assert error(product(x, numbers, bias, scale, activation, residual), residual.double() + made) < 1e-5


@every_way
def test_large_and_small_numbers_go_through_an_activation(product):
    x = torch.tensor([[-100.0, -20.0, -9.0, -3.0, -1e-3, 0.0, 1e-3, 3.0, 9.0, 20.0, 100.0, 1e4]])
    for name, function in ACTIVATIONS.items():
        found = product(x, torch.eye(12), activation=name)
        assert torch.allclose(found.double(), function(x.double()), rtol=1e-5, atol=2e-6), name


@every_way
@pytest.mark.parametrize("inputs", [64, 100, 3072, 20000])
def test_the_largest_int8_weights_and_activations_overflow_nothing(way, product, inputs):
    """All sums as large as can be: every weight is 127 and every activation the largest of its row.

    Ours sum in short pieces. Torch may add one number after another (it does without AVX-512): n roundings to 24 bits.
    """
    most = max(1e-5, inputs * 2.0**-24) if way == "torch" else 1e-5
    numbers, scale = (
        torch.full((8, inputs), 127, dtype=torch.int8),
        torch.tensor([[0.5], [0.0]]).expand(2, 8).contiguous(),
    )
    numbers[1::2] *= -1
    for size in (1e-3, 1.0, -1e6):
        x = torch.full((1, inputs), size)
        assert error(product(x, numbers, None, scale), x.double() @ (numbers.double() * 0.5).t()) < most


@every_way
@pytest.mark.parametrize("largest", [1.0, 100.0, 1e4])
def test_one_large_activation_costs_the_small_ones_beside_it_nothing(product, largest):
    """Activations of one row are counted in steps of the largest: the others still need their bits."""
    draw = torch.Generator().manual_seed(3)
    x, (numbers, scale) = torch.randn(1, 3072, generator=draw), quantized(torch.randn(8, 3072, generator=draw))
    scale[1] = 0
    x[0, 7], numbers[:, 7] = largest, 0  # what it meets is nothing: only its neighbours count
    assert error(product(x, numbers, None, scale), x.double() @ meant(numbers, scale).t()) < 1e-5


@every_way
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("place", [0, 40, 99])
def test_what_is_no_number_stays_none(product, bad, place):
    x, (numbers, scale) = torch.randn(3, 100), quantized(torch.randn(8, 100))
    x[1, place] = bad
    numbers[:, place] = 1
    for rows in (slice(1, 2), slice(0, 3)):
        found = product(x[rows], numbers, None, scale).isfinite().all(1)
        assert found.tolist() == [row != 1 for row in range(3)][rows]
    assert not product(x[1:2], numbers, None, scale).isfinite().any()


@every_way
def test_two_threads_give_what_one_gives(product):
    draw = torch.Generator().manual_seed(2)
    x, weight = torch.randn(3, 300, generator=draw), torch.randn(1003, 300, generator=draw)
    one = product(x, weight)
    torch.set_num_threads(2)
    assert torch.allclose(product(x, weight), one, rtol=1e-6, atol=1e-6)


@every_way
@pytest.mark.parametrize("size", [2, 8, 24, 31, 64, 80])
@pytest.mark.usefixtures("product")
def test_each_row_looks_at_its_own_first_places(size):
    draw = torch.Generator().manual_seed(size)
    rows, heads, room = 4, 3, 40
    queries = torch.randn(rows, heads, 1, size, generator=draw)
    keys, values = (torch.randn(rows, heads, room, size, generator=draw) for _ in range(2))
    lengths = torch.tensor([1, 17, 40, 16])
    found = decode.attend(queries, keys, values, lengths)
    for row, length in enumerate(lengths):
        wanted = F.scaled_dot_product_attention(
            *(x.double() for x in (queries[row], keys[row, :, :length], values[row, :, :length]))
        )
        assert error(found[row], wanted) < 1e-5
    keys[0, :, 1:] = 1e4  # what lies beyond a row's length means nothing
    values[0, :, 1:] = -1e4
    assert torch.equal(decode.attend(queries, keys, values, lengths)[0], found[0])


def test_what_does_not_fit_is_refused():
    with pytest.raises((ValueError, RuntimeError)):
        matvec.linear(torch.randn(2, 5), torch.randn(3, 6))


# ----------------------------------------------------------------------------------------------------------- compiling


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """A machine that has compiled nothing yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("FOREWORD_KERNELS", raising=False)
    decode.library.cache_clear()
    yield tmp_path / "foreword" / "kernels"
    decode.library.cache_clear()


@pytest.mark.parametrize("compiler", ["no-such-compiler", "false"])
def test_without_a_compiler_torch_answers_the_same_and_says_so_once(fresh, monkeypatch, capsys, compiler):
    x, weight = torch.randn(2, 20), torch.randn(6, 20)
    monkeypatch.setenv("CC", compiler)
    found = [matvec.linear(x, weight, activation="relu") for _ in range(3)]
    assert torch.equal(found[0], F.relu(F.linear(x, weight)))
    said = capsys.readouterr().err
    assert said.count("generation uses torch's products") == 1
    assert "Install a C compiler" in said
    assert not list(fresh.glob("*"))


@pytest.mark.thorough
def test_two_processes_may_compile_at_once(fresh):
    words = [sys.executable, "-c", "from foreword.kernels import decode; assert decode.library() is not None"]
    both = [subprocess.Popen(words) for _ in range(2)]
    assert [one.wait(timeout=120) for one in both] == [0, 0]
    assert [file.suffix for file in fresh.iterdir()] == [".so"]


@pytest.mark.thorough
def test_a_cache_folder_that_cannot_be_written_is_no_obstacle(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert build.build(decode.SOURCE).is_file()
