"""Skip-Thought: beside the paper's formulas, and blind to padding, to other rows and to order where it should be."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from foreword.batches.excerpts import ExcerptCutter
from foreword.batches.row import Row
from foreword.networks.base import Inputs, Model
from foreword.networks.sentence_writers import SentenceWriters, SentenceWritersSpec, Writer
from foreword.objectives.base import NOTHING
from foreword.objectives.surrounding import SurroundingSentences
from foreword.parts.heads import Softmax

SENTENCES = ([7, 3, 9, 4], [5, 8], [6, 2, 9, 1, 3, 8])
EVERY = pytest.mark.parametrize("readers", [("forward",), ("both",), ("forward", "both")])


class Tokens:
    """A tokenizer whose end is 0."""

    def special(self, name):
        return 0

    def has(self, name):
        return name == "[end]"


def network(*readers, width=6) -> SentenceWriters:
    torch.manual_seed(0)
    made = SentenceWritersSpec(width=width, embedding=5, readers=readers or ("forward",)).build(
        type("V", (), {"size": 12})
    )
    for weight in made.parameters():
        torch.nn.init.normal_(weight, 0, 0.5)
    return made.double().eval()


def batch(*triples):
    rows = [
        Row(np.concatenate(triple), number, 0, turns=tuple(map(len, triple)))
        for number, triple in enumerate(triples or (SENTENCES, ([4], [3, 3, 3, 1, 2], [8, 8])))
    ]
    return SurroundingSentences().collate(rows, Tokens())


def model(made: SentenceWriters) -> Model:
    torch.manual_seed(1)
    return Model(made, {"tokens": Softmax(tied=False).build(made.written, 12, None)}).double()


def test_a_writer_is_the_papers_gru_number_by_number():
    """Equations 5 to 7: the sentence is heard in both gates and in the candidate; the reset stands before U."""
    torch.manual_seed(0)
    writer, width = Writer(3, 4, 2).double(), 2
    x, sentence = torch.randn(1, 5, 3, dtype=torch.float64), torch.randn(1, 4, dtype=torch.float64)
    made, _ = writer(x, None, sentence)
    writer.requires_grad_(False)
    W, C = writer.layer.inputs.weight, writer.hears.weight
    U, Uc = writer.layer.gates.weight, writer.layer.candidate.weight
    h = [0.0] * width
    for t in range(5):
        read = W @ x[0, t] + C @ sentence[0]
        r = [float(torch.sigmoid(read[i] + sum(U[i, j] * h[j] for j in range(width)))) for i in range(width)]
        z = [
            float(torch.sigmoid(read[width + i] + sum(U[width + i, j] * h[j] for j in range(width))))
            for i in range(width)
        ]
        g = [
            float(torch.tanh(read[2 * width + i] + sum(Uc[i, j] * r[j] * h[j] for j in range(width))))
            for i in range(width)
        ]
        h = [(1 - z[i]) * h[i] + z[i] * g[i] for i in range(width)]
        assert made[0, t].tolist() == pytest.approx(h, abs=1e-12)


def test_gradients_of_a_writer_are_those_of_finite_differences():
    torch.manual_seed(0)
    writer = Writer(2, 3, 2).double()
    given = [torch.randn(2, 3, 2, dtype=torch.float64), torch.randn(2, 3, dtype=torch.float64)]
    weights = dict(writer.named_parameters())

    def answer(x, sentence, *values):
        return torch.func.functional_call(writer, dict(zip(weights, values)), (x, None, sentence))[0]

    values = [*given, *(weight.detach() for weight in weights.values())]
    assert torch.autograd.gradcheck(answer, [value.requires_grad_() for value in values])


def test_recurrent_matrices_begin_orthogonal():
    made = SentenceWritersSpec(width=6, embedding=5).build(type("V", (), {"size": 12}))
    layer = made.writers[0][0].layer
    for matrix in (*layer.gates.weight.chunk(2), layer.candidate.weight):
        assert torch.allclose(matrix @ matrix.T, torch.eye(6), atol=1e-5)
    assert not torch.allclose(layer.inputs.weight @ layer.inputs.weight.T, torch.eye(18), atol=1e-1)


@EVERY
def test_a_sentence_is_the_same_beside_others_and_whichever_side_its_padding_is_on(readers):
    made, text = network(*readers), torch.tensor([SENTENCES[0]])
    alone = made(Inputs(text)).last[0]
    for real in ([True] * 4 + [False] * 3, [False] * 2 + [True] * 4 + [False]):
        ids = torch.full((2, 7), 11)
        ids[0, torch.tensor(real)] = text[0]
        there = torch.stack([torch.tensor(real), torch.ones(7, dtype=torch.bool)])
        together = made(Inputs(ids, there)).last[0][torch.tensor(real)]
        assert torch.allclose(together, alone, atol=1e-12)
        assert torch.allclose(
            made.vector(together), made.read(ids, there)[-1][1][0] if len(readers) == 1 else made.vector(alone)
        )
    assert not torch.allclose(made(Inputs(ids)).last[0][torch.tensor(real)], alone), "padding at the left was read"


def test_a_sentence_read_from_its_end_swaps_the_halves_of_directions_with_the_same_weights():
    made, text = network("both"), torch.tensor([SENTENCES[0]])
    reader = made.readers[0]
    reader.layers[1].load_state_dict(reader.layers[0].state_dict())
    (_, there), (_, back) = made.read(text, None)[0], made.read(text.flip(1), None)[0]
    assert torch.allclose(there[0, :3], back[0, 3:], atol=1e-12)
    assert torch.allclose(there[0, 3:], back[0, :3], atol=1e-12)
    assert not torch.allclose(there[0, :3], there[0, 3:])


def test_combined_is_both_side_by_side():
    both, uni, bi = network("forward", "both"), network("forward"), network("both")
    for alone, number in ((uni, 0), (bi, 1)):
        alone.tokens.load_state_dict(both.tokens.state_dict())
        alone.readers[0].load_state_dict(both.readers[number].state_dict())
    text = torch.tensor([SENTENCES[0]])
    vectors = [made.vector(made(Inputs(text)).last[0]) for made in (uni, bi)]
    assert torch.equal(both.vector(both(Inputs(text)).last[0]), torch.cat(vectors))


def test_what_is_written_is_the_sentence_before_and_the_one_behind():
    made = batch()
    assert made.inputs.source[0].tolist() == [5, 8, 0, 0, 0, 0]
    assert made.inputs.source_real[0].tolist() == [True] * 3 + [False] * 3
    before, behind = made.targets["tokens"][0]
    assert before.tolist() == [7, 3, 9, 4, 0, NOTHING, NOTHING]
    assert behind.tolist() == [6, 2, 9, 1, 3, 8, 0]
    assert made.inputs.ids[0, 1].tolist() == [0, 6, 2, 9, 1, 3, 8]
    assert made.guesses == {"tokens": 5 + 7 + 2 + 3}


@EVERY
def test_the_sentence_learns_from_every_writer_and_padding_from_none(readers):
    whole, objective, given = model(network(*readers)), SurroundingSentences(), batch()
    for target in (0, 1):
        only = given.targets["tokens"].clone()
        only[:, 1 - target] = NOTHING
        loss = objective.loss(whole, type(given)(given.inputs, {"tokens": only})).charges["tokens"].total
        slopes = torch.autograd.grad(loss, list(whole.network.readers.parameters()))
        assert all(slope.abs().max() > 1e-6 for slope in slopes)
    cost = objective.loss(whole, given).charges["tokens"].total
    ids, source = given.inputs.ids.clone(), given.inputs.source.clone()
    ids[0, 0, 5:] = 11  # what is given behind a sentence's end
    source[0, 3:] = 11
    other = type(given)(Inputs(ids, source=source, source_real=given.inputs.source_real), given.targets)
    assert objective.loss(whole, other).charges["tokens"].total == cost
    source[0, 1] = 11
    assert objective.loss(whole, other).charges["tokens"].total != cost


def test_each_sentence_is_in_the_middle_once_and_no_triple_crosses_a_document(store):
    cutter = ExcerptCutter(store(), 9, 3, 1, 4, 0)
    ends = np.asarray(store().ends)
    assert (
        np.searchsorted(ends, cutter.spans[cutter.begins, 0], side="right")
        == np.searchsorted(ends, cutter.spans[cutter.begins + 2, 0], side="right")
    ).all()
    rows = cutter.rows(0, 0, cutter.count)
    assert all(len(row.turns) == 3 and max(row.turns) <= 9 and sum(row.turns) == len(row.ids) for row in rows)
    drawn = [cutter.order.place(number) for number in range(cutter.count)]
    assert sorted(drawn) == list(range(cutter.count))
    assert drawn != list(range(cutter.count))
    grouped = ExcerptCutter(store(), 9, 4, 2, 4, 0)
    assert all(len(row.turns) == 8 for row in grouped.rows(0, 0, 8))
    gaps = np.diff(grouped.begins)
    assert gaps.min() >= 4, "excerpts overlap"
