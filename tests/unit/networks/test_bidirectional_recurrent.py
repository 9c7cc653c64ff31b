"""ELMo: two directions that never see what they guess, and what their layers say of a word."""

from __future__ import annotations

import pytest
import torch

from foreword.assembly import loader
from foreword.assembly.build import model_for, shape_of
from foreword.networks.base import Inputs
from foreword.tokens.vocabulary import Vocabulary

PIECES = tuple(f"w{number}" for number in range(40))
SMALL = ["network.width=8", "network.embedding=4", "network.cell.projection=4", "network.dropout=0.0"]
SMALL += ["network.words.filters=[[1, 4], [2, 4]]", "tokenizer.vocabulary=100"]


@pytest.fixture
def model():
    torch.manual_seed(0)
    made = model_for(loader.load("elmo", "", SMALL), Vocabulary(40, 0, (), PIECES)).double().eval()
    for weight in made.parameters():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, 0, 0.5)
    return made


IDS = torch.tensor([[3, 9, 27, 14, 5, 9, 30]])


def test_neither_direction_sees_what_it_guesses(model):
    """Forward at k guesses k + 1 and is not changed by it; backward at k guesses k - 1, likewise. And both see their own side."""
    before = model.network(Inputs(IDS))
    for j in range(7):
        other = IDS.clone()
        other[0, j] = 20
        after = model.network(Inputs(other))
        for one, two in zip(before.layers[1:], after.layers[1:]):
            (forward, backward), (changed, back) = one[0].chunk(2, -1), two[0].chunk(2, -1)
            assert [not torch.equal(a, b) for a, b in zip(forward, changed)] == [k >= j for k in range(7)]
            assert [not torch.equal(a, b) for a, b in zip(backward, back)] == [k <= j for k in range(7)]


def test_targets_are_the_neighbours_on_either_side():
    from foreword.batches.row import Row

    objective = loader.load("elmo", "", SMALL).objective
    batch = objective.collate([Row(IDS[0].numpy(), 0, 0), Row(IDS[0, :4].numpy(), 1, 0)], None)
    assert batch.targets["tokens"][0, :, 0].tolist() == [9, 27, 14, 5, 9, 30, -1]
    assert batch.targets["tokens"][0, :, 1].tolist() == [-1, 3, 9, 27, 14, 5, 9]
    assert batch.targets["tokens"][1, :, 0].tolist() == [9, 27, 14, -1, -1, -1, -1]
    assert batch.targets["tokens"][1, :, 1].tolist() == [-1, 3, 9, 27, -1, -1, -1]
    assert batch.inputs.real[1].tolist() == [True] * 4 + [False] * 3


def test_a_word_is_one_vector_below_and_another_in_every_context(model):
    output = model.network(Inputs(IDS))
    first, second = (torch.stack([layer[0, at] for layer in output.layers]) for at in (1, 5))  # the same word
    alike = torch.cosine_similarity(first, second, -1)
    assert torch.equal(first[0], second[0])
    assert (alike[1:] < 0.999).all()


def test_turning_the_text_round_swaps_the_halves_of_tied_directions(model):
    model.network.backwards.load_state_dict(model.network.forwards.state_dict())
    there, back = (model.network(Inputs(ids)).last[0] for ids in (IDS, IDS.flip(1)))
    (forward, backward), (turned, other) = there.chunk(2, -1), back.flip(0).chunk(2, -1)
    assert torch.allclose(forward, other, atol=1e-12)
    assert torch.allclose(backward, turned, atol=1e-12)


def test_padding_changes_nothing(model):
    padded = torch.cat([IDS, torch.zeros(1, 3, dtype=torch.long)], 1)
    real = torch.arange(10)[None] < 7
    assert torch.allclose(model.network(Inputs(padded, real)).last[:, :7], model.network(Inputs(IDS)).last, atol=1e-12)
    assert not torch.allclose(model.network(Inputs(padded)).last[:, :7], model.network(Inputs(IDS)).last)


@pytest.mark.thorough
def test_published_sizes_are_counted_without_memory():
    words = Vocabulary(793_471, 0, ())
    elmo = shape_of(loader.load("elmo"), words)
    assert round(sum(weight.numel() for weight in elmo.network.parameters()) / 1e6, 1) == 93.6
    big, table = shape_of(loader.load("big-lstm"), words), shape_of(loader.load("big-lstm", "table"), words)
    assert big.parameter_count() == pytest.approx(1.04e9, rel=0.03)
    assert table.parameter_count() == pytest.approx(1.8e9, rel=0.03)
    cell = sum(weight.numel() for weight in big.network.cell.parameters())
    assert cell == 2 * (4 * 8192 * (1024 + 1024 + 2) + 1024 * 8192)
    mlstm = shape_of(loader.load("mlstm"), Vocabulary(256, -1, ()))
    assert mlstm.parameter_count() == 86_319_360
