"""A mix of a frozen network's layers: one layer is that layer, equal shares are the mean, and padding is never read."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from foreword.networks.base import Inputs
from foreword.networks.features import BiLstm, Features, FeaturesSpec, LinearReader, Mix, ReaderSpec
from tests.labelled import tokenizer
from tests.trunks import FAMILIES, trunk

READERS = {"linear": LinearReader(), "bilstm": BiLstm()}
every_family = pytest.mark.parametrize("family", FAMILIES)
every_reader = pytest.mark.parametrize("reader", READERS)


def network(family: str, reader: ReaderSpec | None = None, *settings: str, norm: bool = False) -> Features:
    recipe = trunk(family, *settings).recipe
    torch.manual_seed(3)
    spec = FeaturesSpec(trunk=recipe.network, reader=reader or LinearReader(), norm=norm)  # type: ignore[arg-type]
    made = spec.build(tokenizer(FAMILIES[family]).vocabulary()).double().eval()
    torch.nn.init.normal_(made.mix.weight)
    return made


def ids(rows: int = 3, length: int = 9) -> Tensor:
    return torch.randint(5, 60, (rows, length), generator=torch.Generator().manual_seed(1))


def only(mix: Mix, layer: int) -> None:
    with torch.no_grad():
        mix.weight.fill_(-torch.inf)[layer] = 0.0


# --- the mix ------------------------------------------------------------------------------------------------------------


@every_family
def test_a_mix_of_one_layer_is_that_layer(family: str) -> None:
    made, inputs = network(family), Inputs(ids())
    alone = made.trunk(inputs)
    every = [*alone.layers[:-1], alone.last]
    assert made.mix.weight.numel() == len(every) > 1
    for number, layer in enumerate(every):
        only(made.mix, number)
        assert torch.equal(made(inputs).last, layer), number
    assert not torch.equal(every[0], every[-1])


@every_family
def test_equal_shares_are_the_mean(family: str) -> None:
    made, inputs = network(family), Inputs(ids())
    torch.nn.init.zeros_(made.mix.weight)
    alone = made.trunk(inputs)
    mean = torch.stack([*alone.layers[:-1], alone.last]).mean(0)
    assert torch.allclose(made(inputs).last, mean, atol=1e-12)
    torch.nn.init.constant_(made.mix.scale, 3.0)
    assert torch.allclose(made(inputs).last, 3 * mean, atol=1e-12)


def test_a_mix_by_hand() -> None:
    mix = Mix(2)
    with torch.no_grad():
        mix.weight.copy_(torch.tensor([0.0, 3.0]).log1p())  # shares of one and four fifths
        mix.scale.fill_(10.0)
    assert mix([torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])]).tolist() == pytest.approx([2.0, 8.0])


@pytest.mark.parametrize("norm", [False, True])
def test_slopes_of_a_mix(norm: bool) -> None:
    mix = Mix(3, norm).double()
    layers = [torch.randn(2, 4, dtype=torch.double, requires_grad=True) for _ in range(3)]

    def of(weight: Tensor, scale: Tensor, *layers: Tensor) -> Tensor:
        return torch.func.functional_call(mix, {"weight": weight, "scale": scale}, (layers,))

    weight = torch.randn(3, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(
        of, (weight, torch.full((1,), 1.5, dtype=torch.double, requires_grad=True), *layers)
    )


def test_every_vector_is_normalised_by_itself() -> None:
    made = network("gpt2", norm=True)
    only(made.mix, 1)
    vectors = made(Inputs(ids())).last
    assert torch.allclose(vectors.mean(-1), torch.zeros_like(vectors[..., 0]), atol=1e-9)
    assert torch.allclose(vectors.std(-1, unbiased=False), torch.ones_like(vectors[..., 0]), atol=1e-3)
    assert torch.allclose(vectors[:1], made(Inputs(ids()[:1])).last, atol=1e-12), "another row had a say"


def test_word_vectors_of_another_width_are_left_out() -> None:
    assert network("lstm", None, "network.embedding=8").mix.weight.numel() == 2  # its two layers
    assert network("lstm").mix.weight.numel() == 3


# --- what is frozen -----------------------------------------------------------------------------------------------------


@every_family
def test_a_trunk_has_no_slopes_and_no_dropout(family: str) -> None:
    more = "network.dropout=0.5" if family == "lstm" else "network.dropout={embeddings=0.5, residual=0.5}"
    made = network(family, BiLstm(dropout=0.0), more).train()
    assert not any(part.training for part in made.trunk.modules())
    one, two = made(Inputs(ids())).last, made(Inputs(ids())).last
    assert torch.equal(one, two)
    one.sum().backward()
    assert all(weight.grad is None and not weight.requires_grad for weight in made.trunk.parameters())
    assert all(weight.grad is not None for part in (made.mix, made.reader) for weight in part.parameters())


# --- padding ------------------------------------------------------------------------------------------------------------


def padded(side: str, lengths: tuple[int, ...] = (9, 6, 2)) -> tuple[Tensor, Tensor]:
    """(ids, real): rows of several lengths. In the padding stands what would be read if it were not padding."""
    places = torch.arange(9)
    real = torch.stack([places < length if side == "right" else places >= 9 - length for length in lengths])
    return ids(len(lengths)), real


@pytest.mark.parametrize("side", ["left", "right"])
def test_lstms_from_both_ends_read_a_padded_row_as_if_it_were_alone(side: str) -> None:
    torch.manual_seed(0)
    reader = BiLstm(width=6).build(4).double().eval()
    _, real = padded(side)
    x = torch.randn(3, 9, 4, dtype=torch.double)
    together = reader(x, real)
    for row, there in enumerate(real):
        alone, _ = reader.lstm(x[row][there][None])
        assert torch.allclose(together[row][there], alone[0], atol=1e-12)
        assert not together[row][~there].any()
    assert torch.allclose(reader(x, torch.ones_like(real)), reader(x, None), atol=1e-12)


@every_reader
@pytest.mark.parametrize(
    ("family", "side"), [("gpt2", "left"), ("gpt2", "right"), ("lstm", "left"), ("lstm", "right"), ("bert", "right")]
)
def test_padding_and_other_rows_change_nothing(family: str, side: str, reader: str) -> None:
    made = network(family, READERS[reader])
    text, real = padded(side)
    for room in (0, 10**6):
        made.kept.room = room
        together = made(Inputs(text, real)).last
        for row, there in enumerate(real):
            assert torch.allclose(together[row][there], made(Inputs(text[row][there][None])).last[0], atol=1e-9)


# --- what is kept -------------------------------------------------------------------------------------------------------


@every_family
def test_what_is_kept_is_what_was_read(family: str) -> None:
    made = network(family, BiLstm())
    text, real = padded("right")
    plain = made(Inputs(text, real)).last
    made.kept.room = 10**6
    first, again = made(Inputs(text, real)).last, made(Inputs(text.flip(0), real.flip(0))).last.flip(0)
    assert torch.allclose(first[real], plain[real], atol=1e-10)
    assert torch.equal(first, again), "what is kept of a row depends on the rows beside it"
    asked: list[Inputs] = []
    made.trunk.register_forward_hook(lambda module, given, output: asked.append(given[0]))
    assert torch.equal(made(Inputs(text, real)).last, first)
    assert not asked
    with torch.no_grad():
        made.table().mul_(2.0)
    assert not torch.allclose(made(Inputs(text, real)).last[real], first[real])
    assert len(asked) == 3, "other weights, and the old features"


def test_segments_are_part_of_what_is_kept() -> None:
    made = network("bert")
    made.kept.room = 10**6
    text = ids(1)
    one, two = (made(Inputs(text, segments=torch.full_like(text, number))).last for number in (0, 1))
    assert not torch.allclose(one, two)


def test_no_more_is_kept_than_there_is_room_for() -> None:
    made = network("gpt2")
    made.kept.room = 2 * 3 * 9 * 32 * 8  # two rows of three layers, nine places, 32 numbers of 8 bytes
    made(Inputs(ids(4)))
    assert len(made.kept.rows) == 2
    assert made.kept.bytes == made.kept.room


# --- layers as in BERT's table ------------------------------------------------------------------------------------------


def read_as(combine: str, layers: int = 4) -> tuple[Features, list[Tensor], Inputs]:
    recipe = trunk("bert", f"network.layers={layers}").recipe
    torch.manual_seed(3)
    spec = FeaturesSpec(trunk=recipe.network, combine=combine)  # type: ignore[arg-type]
    made, inputs = spec.build(tokenizer(FAMILIES["bert"]).vocabulary()).double().eval(), Inputs(ids())
    alone = made.trunk(inputs)
    return made, [*alone.layers[:-1], alone.last], inputs


@pytest.mark.parametrize("combine", ["first", "last", "second-to-last", "sum-4", "concat-4"])
def test_layers_are_combined_as_their_name_says(combine: str) -> None:
    made, layers, inputs = read_as(combine)
    wanted = {
        "first": layers[0],
        "last": layers[4],
        "second-to-last": layers[3],
        "sum-4": layers[1] + layers[2] + layers[3] + layers[4],
        "concat-4": torch.cat([layers[1], layers[2], layers[3], layers[4]], -1),
    }
    assert torch.allclose(made(inputs).last, wanted[combine], atol=1e-12)
    assert made.width == made(inputs).last.size(-1)
    made.kept.room = 10**6
    assert torch.allclose(made(inputs).last, wanted[combine], atol=1e-12), "kept features are the same"
    assert not list(made.mix.parameters()), "there is nothing to learn in it"


def test_more_layers_than_there_are_is_a_fault() -> None:
    assert FeaturesSpec(trunk=trunk("bert").recipe.network, combine="sum-4").faults() == [
        ("combine", "sum-4 reads 4 layers, and this network has 2.")
    ]
