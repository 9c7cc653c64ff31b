"""Transformer-XL's memory: what it holds, how far it reaches, and what it does not teach."""

from __future__ import annotations

import pytest
import torch

from foreword.networks.base import Inputs
from foreword.networks.segment import SegmentTransformerSpec
from foreword.parts.positions import Learned, Relative, Sinusoid, sinusoids
from foreword.parts.stack import Initial
from foreword.parts.visible import BandedPattern
from foreword.tokens.vocabulary import Vocabulary
from tests.tiny import drawn, learner_for, take_steps, tiny

LENGTH = 12
FAST = ('training.optimizer={ kind = "adam", learning_rate = 0.02 }', 'training.schedule={ kind = "constant" }')


def network(memory: int, layers: int = 2, norm: str = "after", **more):
    torch.manual_seed(0)
    spec = SegmentTransformerSpec(
        layers=layers, width=8, heads=2, memory=memory, norm=norm, bias=False, initial=Initial(deviation=0.5), **more
    )
    return spec.build(Vocabulary(50, -1, ())).double().eval()


def ids(length: int = LENGTH) -> torch.Tensor:
    return torch.from_numpy(__import__("numpy").random.default_rng(0).integers(0, 50, (1, length)))


def read(made, text, piece):
    parts, state = [], None
    for start in range(0, text.size(1), piece):
        output = made(Inputs(text[:, start : start + piece]), state)
        parts.append(output.last)
        state = output.state
    return torch.cat(parts, 1)


@pytest.mark.parametrize("norm", ["after", "before"])
@pytest.mark.parametrize("piece", [1, 3, 5])
def test_segments_with_a_memory_of_everything_are_one_pass_while_learning(piece, norm):
    """A position sees all of its segment and all that is remembered: with nothing forgotten, that is all that came before."""
    made, text = network(LENGTH, norm=norm).train(), ids()
    assert torch.allclose(read(made, text, piece), made(Inputs(text)).last, atol=1e-12)


@pytest.mark.parametrize("memory", [0, 1, 4])
def test_afterwards_a_text_is_read_the_same_however_it_is_cut(memory):
    made, text = network(memory), ids()
    with torch.no_grad():
        whole = made(Inputs(text)).last
        assert all(torch.allclose(read(made, text, piece), whole, atol=1e-12) for piece in (1, 2, 5))


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_it_sees_as_far_back_as_it_says_and_no_further(layers):
    made, text = network(2, layers), ids()
    assert made.reach == 2 * layers
    with torch.no_grad():
        last = made(Inputs(text)).last[0, -1]
        for back in range(LENGTH):
            other = text.clone()
            other[0, LENGTH - 1 - back] = (other[0, LENGTH - 1 - back] + 1) % 50
            assert torch.equal(made(Inputs(other)).last[0, -1], last) == (back > made.reach), back


def test_no_gradient_goes_into_the_memory():
    made, text = network(4).train(), ids()
    state = made(Inputs(text[:, :6])).state
    assert not any(layer.requires_grad for layer in state.layers)
    assert all(layer.shape == (1, 4, 8) for layer in state.layers)
    later = made(Inputs(text[:, 6:]), state).last.sum()
    (slope,) = torch.autograd.grad(later, [made.table()])
    before = set(text[0, :6].tolist()) - set(text[0, 6:].tolist())
    assert all(slope[token].abs().sum() == 0 for token in before)


def test_what_the_memory_cannot_have_is_a_fault():
    for name, settings in (
        ("positions", {"positions": Learned()}),
        ("evaluation_memory", {"memory": 0}),
        ("evaluation_memory", {"evaluation_memory": 0}),
    ):
        assert SegmentTransformerSpec(layers=1, width=8, heads=2, **settings).faults()[0][0] == name
    assert not SegmentTransformerSpec(layers=1, width=8, heads=2, positions=Sinusoid()).faults()
    assert not SegmentTransformerSpec(layers=1, width=8, heads=2, memory=0, evaluation_memory=4).faults()


@pytest.mark.parametrize("piece", [1, 3, 4, 5])
@torch.no_grad()
def test_sinusoids_count_the_places_of_a_segment_and_the_rest_is_the_same(piece):
    """The control with absolute positions: the vectors of a segment of four are those of places 0 to 3, whatever stands before;
    the memory, its band and its cutting are those of relative positions, which know nothing of segments."""
    made, text = network(4, positions=Sinusoid()), ids()
    whole = made(Inputs(text))
    assert torch.allclose(read(made, text, piece), whole.last, atol=1e-12)
    tokens = made.table()[text[0]]
    assert torch.allclose(whole.layers[0][0] - tokens, sinusoids(torch.arange(LENGTH) % 4, 8).double(), atol=1e-6)
    assert torch.equal(network(4)(Inputs(text)).layers[0][0], network(4).table()[text[0]]), "relative ones add nothing"
    padded = torch.cat([torch.full((1, 3), 7), text], 1)
    there = torch.arange(LENGTH + 3)[None] >= 3
    assert torch.allclose(made(Inputs(padded, there)).last[:, 3:], whole.last, atol=1e-12)


@torch.no_grad()
def test_a_control_of_places_is_confused_where_distances_are_not():
    """The same token at the same place of two segments, both remembered: their order changes nothing for absolute positions."""
    text = ids()
    swapped = text.clone()
    swapped[0, 1], swapped[0, 5] = text[0, 5], text[0, 1]
    for positions, same in ((Sinusoid(), True), (Relative(), False)):
        made = network(4, layers=1, positions=positions, evaluation_memory=LENGTH)
        last, other = (made(Inputs(one)).last[0, -1] for one in (text, swapped))
        assert torch.allclose(last, other, atol=1e-9) == same


@pytest.mark.parametrize(("window", "same"), [(2, False), (5, True), (6, False)])
def test_a_memory_of_four_is_a_band_of_five_and_no_wider_one(window, same, monkeypatch):
    """Read in pieces with a memory of 4, beside one pass in which every layer sees a band of `window` places."""
    from foreword.networks import segment

    made, text = network(4), ids()
    with torch.no_grad():
        pieces = read(made, text, 3)
        monkeypatch.setattr(segment, "BandedPattern", lambda _: BandedPattern(window))
        assert torch.allclose(made(Inputs(text)).last, pieces, atol=1e-12) == same


def test_more_can_be_remembered_afterwards_than_while_learning():
    made = network(2, evaluation_memory=6)
    assert made.reach == 12
    assert made(Inputs(ids())).state.layers[0].shape == (1, 6, 8)
    assert made.train()(Inputs(ids())).state.layers[0].shape == (1, 2, 8)


def test_what_lies_beyond_its_reach_changes_nothing_wherever_the_text_stands():
    made, text = network(2, layers=2), ids()
    with torch.no_grad():
        alone = made(Inputs(text)).last[:, -4:]
        behind = made(Inputs(torch.cat([ids(7) + 1, text], 1) % 50)).last[:, -4:]
    assert torch.allclose(alone, behind, atol=1e-12)
    assert not torch.allclose(alone, made(Inputs(text[:, -5:])).last[:, -4:], atol=1e-3), "it looks at nothing"


@pytest.mark.parametrize("furthest", [None, 3])
@pytest.mark.parametrize("untied", [False, True])
@pytest.mark.parametrize("memory", [0, 3, 7])
def test_the_shift_is_a_double_loop_over_queries_and_keys(memory, untied, furthest):
    """q k + q W R(i - j) + u k + v W R(i - j), pair by pair (Dai et al. 2019, eq. 5)."""
    torch.manual_seed(1)
    queries, keys, size = 5, 5 + memory, 4
    spec = SegmentTransformerSpec(
        layers=1, width=8, heads=2, memory=memory, positions=Relative(untied=untied, furthest=furthest)
    )
    placing = spec.positions.build(spec)
    scores = spec.blocks()[0].attention.scores
    for part in (placing, scores):
        for weight in part.parameters():
            torch.nn.init.normal_(weight)
    biases = scores.biases or placing.biases
    q, k = torch.randn(1, 2, queries, size), torch.randn(1, 2, keys, size)
    asked, bias = scores(q, placing.where(torch.arange(queries), keys))
    found = asked @ k.mT * size**-0.5 + bias
    for head in range(2):
        for i in range(queries):
            for j in range(memory + i + 1):
                far = min(memory + i - j, furthest if furthest is not None else keys)
                place = scores.distance(sinusoids(torch.tensor(far), 8)).view(2, size)[head]
                wanted = (q[0, head, i] + biases.content[head]) @ k[0, head, j]
                wanted = wanted + (q[0, head, i] + biases.place[head]) @ place
                assert torch.allclose(found[0, head, i, j], wanted * size**-0.5, atol=1e-5), (head, i, j)


def test_a_memory_longer_than_the_text_is_refused(stores, tmp_path):
    from foreword.basics.messages import Fault
    from foreword.runs.train import train
    from tests.tiny import tiny

    with pytest.raises(Fault, match="a memory of 10,000,000 positions is longer than the text"):
        train(tiny("transformer-xl", "network.memory=10000000"), stores["byte_bpe"], tmp_path / "run")
    assert not (tmp_path / "run").exists()


ADAPTIVE = ("network.words.kind=adaptive", "head.kind=adaptive_softmax")


def test_adaptive_input_and_softmax_learn_score_and_need_fewer_numbers(store_of):
    recipe = tiny("transformer-xl", *ADAPTIVE, *FAST)
    text = store_of(recipe)
    learner, stream = learner_for(recipe, text)
    batch = stream.batch(0)
    before = learner.measure([batch])["nll.tokens"]
    take_steps(learner, stream, range(60), same=True)
    assert learner.measure([batch])["nll.tokens"] < before / 2
    plain = learner_for(tiny("transformer-xl", "head.tied=false"), text)[0]
    assert learner.model.parameter_count() < 0.8 * plain.model.parameter_count()
    reader = learner.model.eval().language_model(text.tokenizer.vocabulary())
    logs, state = reader.begin([text.document(0)[:9]])
    assert float(logs.exp().sum()) == pytest.approx(1.0, abs=1e-4)
    stepwise = [float(logs[0, text.document(0)[9]])]
    for place in (9, 10):
        logs, state = reader.advance(text.document(0)[place : place + 1], state)
        stepwise.append(float(logs[0, text.document(0)[place + 1]]))
    assert stepwise == pytest.approx(reader.score([text.document(0)[:12]], [9])[0], abs=1e-3)


def test_a_model_of_adaptive_words_is_written_and_opened(store_of, tmp_path):
    """The frequencies by which words are sorted are kept with it."""
    recipe = tiny("transformer-xl", *ADAPTIVE)
    text = store_of(recipe)
    model = drawn(recipe, text.tokenizer)
    model.network.embeddings.tokens.rank.copy_(model.network.embeddings.tokens.rank.flip(0))
    again = drawn(recipe, text.tokenizer, seed=1)
    again.restore({name: weight.numpy() for name, weight in model.arrays().items()})
    ids_ = torch.from_numpy(text.document(0)[None, :20].astype("int64"))
    assert torch.equal(again.eval().network(Inputs(ids_)).last, model.eval().network(Inputs(ids_)).last)
