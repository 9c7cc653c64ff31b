"""XLNet's two streams: who sees whom in a drawn order, what is remembered, and texts that run backward."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product

import pytest
import torch
from pydantic import ValidationError

from foreword.networks.base import Inputs
from foreword.networks.two_stream import TwoStreamTransformerSpec
from foreword.parts.attention import SegmentScores
from foreword.parts.block import layers
from foreword.parts.positions import Relative, sinusoids
from foreword.parts.stack import Initial
from foreword.tokens.vocabulary import Vocabulary

LENGTH, TOKENS = 7, 50
every_place = torch.arange(LENGTH)[None]


def network(tokens: int = TOKENS, **more):
    torch.manual_seed(0)
    spec = TwoStreamTransformerSpec(
        layers=more.pop("layers", 2),
        width=8,
        heads=2,
        norm="after",
        attention_bias=False,
        initial=Initial(deviation=0.5),
        **{"memory": 0, **more},
    )
    made = spec.build(Vocabulary(tokens, -1, ())).double().eval()
    with torch.no_grad():
        for block in layers(made):  # biases begin at zero, and would not show
            for bias in block.attention.scores.biases.parameters():
                bias.normal_()
    return made


def text(rows: int = 1, length: int = LENGTH, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, TOKENS, (rows, length), generator=torch.Generator().manual_seed(seed))


def drawn_order(seed: int, length: int = LENGTH) -> torch.Tensor:
    """[1, positions] the step of the order at which each position comes."""
    return torch.randperm(length, generator=torch.Generator().manual_seed(seed))[None]


def differ(a: torch.Tensor, b: torch.Tensor) -> list[bool]:
    return [bool((x - y).abs().max() > 1e-12) for x, y in zip(a[0], b[0])]


def with_token(ids: torch.Tensor, place: int) -> torch.Tensor:
    other = ids.clone()
    other[0, place] = (other[0, place] + 1) % TOKENS
    return other


@pytest.mark.parametrize("seed", range(20))
@torch.no_grad()
def test_a_guess_sees_what_comes_before_it_in_the_order_and_nothing_else(seed):
    """Also the first of the order, which sees nothing: elsewhere its attention is uniform over what is hidden from it."""
    made, ids, order = network(), text(), drawn_order(seed)
    read = made(Inputs(ids, order=order, queries=every_place))
    assert torch.isfinite(read.last).all()
    for place in range(LENGTH):
        other = made(Inputs(with_token(ids, place), order=order, queries=every_place))
        assert differ(read.last, other.last) == (order[0] > order[0, place]).tolist(), place
        assert differ(read.content, other.content) == (order[0] >= order[0, place]).tolist(), place


@torch.no_grad()
def test_an_order_is_a_table_of_who_sees_whom():
    made, ids, order = network(), text(), drawn_order(3)
    visible = order[:, None] < order[:, :, None]
    one = made(Inputs(ids, order=order, queries=every_place)).last
    assert torch.equal(one, made(Inputs(ids, visible=visible, queries=every_place)).last)


@pytest.mark.parametrize("order", permutations(range(3)))
@torch.no_grad()
def test_the_probabilities_of_all_strings_sum_to_one_in_every_order(order):
    made = network(tokens=3)
    strings = torch.tensor(list(product(range(3), repeat=3)))
    steps = torch.tensor([order]).expand(len(strings), -1)
    last = made(Inputs(strings, order=steps, queries=torch.arange(3).expand(len(strings), -1))).last
    logs = (last @ made.table().T).log_softmax(-1).gather(2, strings[..., None])[..., 0].sum(1)
    assert logs.exp().sum() == pytest.approx(1.0, abs=1e-9)
    assert logs.exp().std() > 0.001, "all strings are equally likely"


@torch.no_grad()
def test_guesses_that_are_left_out_change_nothing():
    made, ids, order = network(), text(2), drawn_order(1).expand(2, -1)
    segments = torch.tensor([[0, 0, 0, 1, 1, 1, 2]]).expand(2, -1)
    inputs = {"segments": segments, "order": order, "backward": torch.tensor([False, True])}
    full = made(Inputs(ids, queries=every_place.expand(2, -1), **inputs)).last
    some = torch.tensor([[5, 0, 2], [6, 6, 1]])
    found = made(Inputs(ids, queries=some, **inputs)).last
    assert (found - full.gather(1, some[..., None].expand(-1, -1, 8))).abs().max() < 1e-12


@pytest.mark.parametrize("remembered", [0, 3])
@torch.no_grad()
def test_scores_equal_the_sum_over_every_pair(remembered):
    """Content, distance and text of each query and key, one by one, with the biases u, v and b (sections 2.4 and 2.5)."""
    torch.manual_seed(0)
    width, heads, size, queries = 8, 2, 4, 5
    scores = SegmentScores(width, heads, size).double()
    for weight in scores.parameters():
        torch.nn.init.normal_(weight)
    keys, asked = remembered + queries, torch.randn(1, heads, queries, size, dtype=torch.float64)
    same = torch.rand(1, 1, queries, keys) < 0.5
    stack = TwoStreamTransformerSpec(layers=1, width=width, heads=heads)
    for backward in (False, True):
        where = Relative(untied=True).build(stack, both_ways=True).where(torch.arange(queries), keys)
        where = where._replace(vectors=where.vectors.double(), same=same)
        if backward:
            where = where.or_reversed(torch.tensor([True]))
        made, bias = scores(asked, where)
        known = torch.randn(1, heads, keys, size, dtype=torch.float64)
        found = made @ known.mT * size**-0.5 + bias
        texts = scores.texts.weight.view(2, heads, size)
        for head, i, j in product(range(heads), range(queries), range(keys)):
            query, distance = asked[0, head, i], remembered + i - j
            far = sinusoids(torch.tensor([-distance if backward else distance]), width)[0].double()
            far = (scores.distance.weight @ far).view(heads, size)[head]
            wanted = (query + scores.biases.content[head]) @ known[0, head, j]
            wanted += (query + scores.biases.place[head]) @ far
            wanted += (query + scores.biases.segment[head]) @ texts[0 if same[0, 0, i, j] else 1, head]
            assert found[0, head, i, j] == pytest.approx(float(wanted) * size**-0.5, abs=1e-6)


@torch.no_grad()
def test_text_that_runs_backward_gives_the_same_turned_round():
    """Reversed text with negated distances and the order turned with it: every position means what it meant."""
    made, ids, order = network(), text(), drawn_order(2)
    segments = torch.tensor([[0, 0, 0, 1, 1, 1, 2]])
    as_it_is = made(Inputs(ids, segments=segments, order=order, queries=every_place)).last
    turned = Inputs(ids.flip(1), segments=segments.flip(1), order=order.flip(1), queries=every_place)
    back = made(replace(turned, backward=torch.tensor([True]))).last
    assert (back.flip(1) - as_it_is).abs().max() < 1e-12
    assert (made(turned).last.flip(1) - as_it_is).abs().max() > 1e-3, "the direction does not matter"


@torch.no_grad()
def test_names_of_segments_do_not_matter_and_there_may_be_many():
    made, ids = network(), text()
    said = torch.tensor([[0, 0, 1, 1, 2, 2, 3]])
    read = made(Inputs(ids, segments=said)).last
    assert torch.equal(made(Inputs(ids, segments=3 - said)).last, read)
    assert torch.allclose(made(Inputs(ids, segments=0 * said)).last, made(Inputs(ids)).last, atol=1e-12)
    assert all(differ(made(Inputs(ids)).last, read))


@pytest.mark.parametrize("piece", [1, 3, 5])
@torch.no_grad()
def test_rows_with_a_memory_of_everything_are_one_pass_in_the_order_of_the_text(piece):
    """Both streams: what the next row remembers is what the content stream made, whatever order that was in."""
    made, ids = network(memory=LENGTH), text(2)
    places = every_place.expand(2, -1)
    whole = made(Inputs(ids, order=places, queries=places))
    parts, state = [], None
    for start in range(0, LENGTH, piece):
        here = places[:, : min(piece, LENGTH - start)]
        output = made(Inputs(ids[:, start : start + piece], order=here, queries=here), state)
        parts.append(torch.stack([output.last, output.content]))
        state = output.state
    assert (torch.cat(parts, 2) - torch.stack([whole.last, whole.content])).abs().max() < 1e-12


@torch.no_grad()
def test_only_the_first_positions_of_a_row_are_remembered_and_no_more_than_there_is_room():
    made, ids = network(memory=4), text()
    first = made(Inputs(ids, remembered=3)).state
    assert [layer.shape for layer in first.layers] == [(1, 3, 8)] * 2
    inner = made(Inputs(ids)).layers[1]
    assert torch.equal(first.layers[1], inner[:, :3])
    second = made(Inputs(ids, remembered=3), first).state
    assert second.layers[0].shape == (1, 4, 8)
    assert torch.equal(second.layers[0][:, 1:], made(Inputs(ids)).layers[0][:, :3])


@torch.no_grad()
def test_a_text_does_not_see_the_memory_of_another():
    made, before, ids = network(memory=LENGTH), text(seed=1), text(seed=2)
    recalls = torch.tensor([[True] * 4 + [False] * 3])
    # who does not recall also sees no one who does: what it reads of others would bring the memory in
    apart = recalls[:, :, None] == recalls[:, None]
    inputs = Inputs(ids, visible=apart, recalls=recalls, queries=every_place)
    state = made(Inputs(before)).state
    found = [made(inputs, state), made(inputs, made(Inputs(text(seed=3))).state)]
    for stream in ("last", "content"):
        assert differ(*(getattr(one, stream) for one in found)) == recalls[0].tolist()


def test_no_gradient_goes_into_what_is_remembered():
    made, ids = network(memory=4), text()
    state = made(Inputs(ids)).state
    assert not any(layer.requires_grad for layer in state.layers)


@torch.no_grad()
def test_padding_is_not_seen_by_either_stream():
    made, ids, order = network(memory=4), text(2), drawn_order(4).expand(2, -1)
    real = torch.arange(LENGTH) < torch.tensor([LENGTH, 5])[:, None]
    queries = torch.tensor([[0, 3, 4], [0, 3, 4]])
    state = made(Inputs(text(2, seed=4))).state
    padded = made(Inputs(ids, real, order=order, queries=queries), state)
    short = made(
        Inputs(ids[1:, :5], order=order[1:, :5], queries=queries[1:]),
        type(state)(tuple(layer[1:] for layer in state.layers), state.real[1:]),
    )
    assert (padded.last[1] - short.last[0]).abs().max() < 1e-12
    assert (padded.content[1, :5] - short.content[0]).abs().max() < 1e-12
    after = made(Inputs(ids), padded.state).last  # what was padding is not remembered as a token
    assert torch.isfinite(after).all()


def test_distances_are_told_by_biases_of_each_layer():
    found = dict(TwoStreamTransformerSpec(layers=1, width=8, heads=2, positions=Relative()).faults())
    assert "untied = true" in found["positions"]
    with pytest.raises(ValidationError, match="memory"):
        TwoStreamTransformerSpec(layers=1, width=8, heads=2, memory=-1)
