"""What every network promises: it sees what it may and nothing else, however its input is cut, padded or batched."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from foreword.networks import KINDS
from foreword.networks.base import Inputs
from tests.tiny import GRADIENT, able_to, drawn, tiny

LENGTH = 9
every_network = pytest.mark.parametrize("name", GRADIENT)
HYBRID = [
    name for name in GRADIENT if "causal" in tiny(name).network.reads
]  # causal where a row says so: have their own tests
forward_only = pytest.mark.parametrize(
    "name", [name for name in able_to("score") if name in GRADIENT and name not in HYBRID]
)
both_ways = pytest.mark.parametrize("name", able_to("fill"))
exactly = pytest.mark.parametrize(("dtype", "near"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])


def test_every_kind_of_network_has_a_recipe_that_tests_it():
    assert {tiny(name).network.kind for name in GRADIENT} == set(KINDS.names())


@pytest.fixture
def network(name, store_of):
    recipe = tiny(name)
    return lambda dtype=torch.float64: drawn(recipe, store_of(recipe).tokenizer, dtype=dtype).network


def ids(rows: int, length: int = LENGTH, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).integers(5, 500, (rows, length)))


def given(network, text: torch.Tensor, **more) -> Inputs:
    """Text as this network reads it; one that writes has something to read before."""
    if "source" in network.reads:
        more["source"] = ids(text.size(0), 7, seed=5)
    return Inputs(text, **more)


def changed(network, inputs: Inputs, other: Inputs) -> list[bool]:
    """At which positions of the first row two inputs give different vectors."""
    with torch.no_grad():
        a, b = network(inputs).last[0], network(other).last[0]
    assert torch.isfinite(a).all()  # what is not a number differs from itself
    return [differ(x, y) for x, y in zip(a, b)]


def differ(x: torch.Tensor, y: torch.Tensor) -> bool:
    """By more than rounding in float64: where positions are read together with others (experts), sums are of other lengths."""
    return bool((x - y).abs().max() > 1e-12)


def with_token(inputs: Inputs, j: int) -> Inputs:
    other = inputs.ids.clone()
    other[0, j] = (other[0, j] + 7) % 500 + 5
    return replace(inputs, ids=other)


@forward_only
def test_the_future_is_invisible_and_the_past_is_visible(network):
    made, inputs = network(), Inputs(ids(1))
    for j in range(LENGTH):
        assert changed(made, inputs, with_token(inputs, j)) == seen_from(made, j), f"token {j}"


def seen_from(made, j: int) -> list[bool]:
    """The positions that see token j: itself and those after it, as far as the network reaches."""
    return [j <= i < j + (made.reach or LENGTH) for i in range(LENGTH)]


@forward_only
def test_the_same_holds_when_part_of_the_text_is_remembered(network):
    made, text = network(), ids(1)
    with torch.no_grad():
        for j in range(LENGTH):
            found = []
            for one in (Inputs(text), with_token(Inputs(text), j)):
                before = made(Inputs(one.ids[:, :4]))
                after = made(Inputs(one.ids[:, 4:]), before.state)
                found.append(torch.cat([before.last, after.last], 1)[0])
            assert [differ(a, b) for a, b in zip(*found)] == seen_from(made, j), f"token {j}"


@both_ways
def test_every_position_sees_every_real_token(network):
    made = network()
    real = torch.arange(LENGTH)[None] < LENGTH - 2
    inputs = Inputs(ids(1), real)
    for j in range(LENGTH - 2):
        assert all(changed(made, inputs, with_token(inputs, j))[: LENGTH - 2]), f"token {j}"
    for j in (LENGTH - 2, LENGTH - 1):
        assert not any(changed(made, inputs, with_token(inputs, j))[: LENGTH - 2]), "padding is seen"


@both_ways
def test_padding_at_the_right_changes_nothing(network):
    made, text = network(), ids(1)
    padded = torch.cat([text, torch.zeros(1, 5, dtype=torch.long)], 1)
    with torch.no_grad():
        alone = made(Inputs(text)).last
        among = made(Inputs(padded, torch.arange(LENGTH + 5)[None] < LENGTH)).last[:, :LENGTH]
    assert (alone - among).abs().max() < 1e-10


@pytest.mark.parametrize("name", [name for name in able_to("fill") if getattr(tiny(name).network, "segments", 0) > 1])
def test_segments_are_seen(network):
    made, text = network(), ids(1)
    inputs = Inputs(text, segments=torch.zeros_like(text))
    assert not any(changed(made, inputs, Inputs(text))), "no segments means the first one"
    assert all(changed(made, inputs, replace(inputs, segments=torch.ones_like(text))))


@forward_only
@exactly
@pytest.mark.parametrize("piece", [1, 3, LENGTH])
def test_read_in_pieces_equals_read_at_once(network, dtype, near, piece):
    made, text = network(dtype), ids(2)
    with torch.no_grad():
        whole = made(Inputs(text)).last
        parts, state = [], None
        for start in range(0, LENGTH, piece):
            output = made(Inputs(text[:, start : start + piece]), state)
            parts.append(output.last)
            state = output.state
    assert (torch.cat(parts, 1) - whole).abs().max() < near


@forward_only
@exactly
@pytest.mark.parametrize("piece", [1, 3, LENGTH])
def test_padding_at_the_left_changes_nothing(network, dtype, near, piece):
    """Rows of 9, 6 and 2 tokens in one batch, the first pieces padded; each alone gives the same."""
    made, text, lengths = network(dtype), ids(3), (LENGTH, 6, 2)
    real = torch.stack([torch.arange(LENGTH) >= LENGTH - length for length in lengths])
    with torch.no_grad():
        parts, state = [], None
        for start in range(0, LENGTH, piece):
            output = made(Inputs(text[:, start : start + piece], real[:, start : start + piece]), state)
            parts.append(output.last)
            state = output.state
        together = torch.cat(parts, 1)
        more = made(Inputs(ids(3, 2, seed=1)), state).last  # and then go on without padding
        for row, length in enumerate(lengths):
            alone = made(Inputs(text[row : row + 1, -length:]))
            assert (together[row, -length:] - alone.last[0]).abs().max() < near
            after = made(Inputs(ids(3, 2, seed=1)[row : row + 1]), alone.state).last
            assert (more[row] - after[0]).abs().max() < near


@forward_only
def test_what_stands_in_the_padding_does_not_matter(network):
    made, text = network(), ids(1)
    inputs = Inputs(text, torch.arange(LENGTH)[None] >= 3)
    for j in range(3):
        assert not any(changed(made, inputs, with_token(inputs, j))[3:]), f"padding {j}"
    for j in range(3, LENGTH):
        assert changed(made, inputs, with_token(inputs, j))[3:] == seen_from(made, j)[3:]


@every_network
@exactly
def test_the_other_rows_of_a_batch_change_nothing(network, dtype, near):
    made, text = network(dtype), ids(5)
    with torch.no_grad():
        inputs = given(made, text)
        together = made(inputs).last
        for row in range(5):
            assert (made(inputs.rows(row, row + 1)).last[0] - together[row]).abs().max() < near
        shuffled = made(Inputs(**{name: value.flip(0) for name, value in inputs._tensors()})).last
    assert (shuffled.flip(0) - together).abs().max() < near


@every_network
def test_position_matters(network):
    """The same tokens in another order are another text."""
    made, text = network(), ids(1)
    turned = text[:, [*range(LENGTH - 3), LENGTH - 2, LENGTH - 3, LENGTH - 1]]
    assert changed(made, given(made, text), given(made, turned))[-1]


@every_network
def test_layers_run_from_the_embeddings_to_the_last(network):
    made = network()
    output = made(given(made, ids(2)))
    assert len(output.layers) >= 2
    assert all(layer.shape[:2] == (2, LENGTH) for layer in output.layers)
    assert output.last.shape == (2, LENGTH, made.width)


@every_network
def test_a_network_names_its_layers_and_tables(network):
    """One level for the embeddings and one for each layer that can be read; every parameter is in one at most."""
    made = network()
    levels = made.levels()
    assert len(levels) == len(made(given(made, ids(1))).layers)
    counted = [id(parameter) for level in levels for parameter in level]
    assert len(set(counted)) == len(counted)
    assert set(counted) <= {id(parameter) for parameter in made.parameters()}
    assert all(levels)
    assert not made.tables() or id(made.table()) in {id(parameter) for parameter in levels[0]}
    assert all(id(table) in counted for table in made.tables().values())


@forward_only
def test_every_tensor_of_a_state_has_the_batch_first(network):
    from torch.utils._pytree import tree_leaves

    state = network()(Inputs(ids(3), torch.arange(LENGTH).expand(3, -1) > 0)).state
    leaves = [leaf for leaf in tree_leaves(state) if isinstance(leaf, torch.Tensor)]
    assert leaves
    assert all(leaf.size(0) == 3 for leaf in leaves)


@every_network
def test_no_gradient_and_no_chance_when_reading(network):
    made, text = network(), ids(2)
    torch.manual_seed(1)
    first = made(given(made, text)).last
    torch.manual_seed(2)
    assert torch.equal(first, made(given(made, text)).last), "dropout while reading"


@every_network
def test_a_network_reads_what_it_says_it_reads(network, name):
    assert network().reads == tiny(name).network.reads
    assert "ids" in network().reads


@pytest.mark.parametrize("name", [name for name in able_to("fill") if name not in HYBRID])
def test_a_network_that_reads_both_ways_says_it_cannot_go_on(network):
    with pytest.raises(TypeError, match="does not predict next tokens"):
        network().language_model(None, None)


writers = pytest.mark.parametrize("name", able_to("translate"))


@writers
def test_what_is_written_sees_its_source_and_its_past(network):
    """Every position sees the whole source; of the target, itself and what came before."""
    made = network()
    inputs = given(made, ids(1))
    for j in range(inputs.source.size(1)):
        other = inputs.source.clone()
        other[0, j] = (other[0, j] + 7) % 500 + 5
        assert all(changed(made, inputs, replace(inputs, source=other))), f"source token {j}"
    for j in range(LENGTH):
        assert changed(made, inputs, with_token(inputs, j)) == [i >= j for i in range(LENGTH)], f"target token {j}"


@writers
def test_padding_of_the_source_changes_nothing(network):
    made = network()
    inputs = given(made, ids(1))
    longer = torch.cat([inputs.source, torch.zeros(1, 4, dtype=torch.long)], 1)
    with torch.no_grad():
        padded = made(replace(inputs, source=longer, source_real=torch.arange(11)[None] < 7)).last
        assert (made(inputs).last - padded).abs().max() < 1e-10
        assert (made(inputs).last - made(replace(inputs, source=longer)).last).abs().max() > 1e-3, (
            "the mask is not used"
        )


@writers
@pytest.mark.parametrize("piece", [1, 4])
def test_writing_in_pieces_equals_writing_at_once(network, piece):
    """The source is read by the first call alone."""
    made = network()
    inputs = given(made, ids(2))
    with torch.no_grad():
        whole, parts, state = made(inputs).last, [], None
        for start in range(0, LENGTH, piece):
            here = inputs.ids[:, start : start + piece]
            output = made(Inputs(here) if state else replace(inputs, ids=here), state)
            parts.append(output.last)
            state = output.state
    assert (torch.cat(parts, 1) - whole).abs().max() < 1e-10
