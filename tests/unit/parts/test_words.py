"""Words by their spelling."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from foreword.parts.adaptive_words import Adaptive
from foreword.parts.words import Characters
from foreword.tokens.vocabulary import Vocabulary

SMALL = Characters(filters=((1, 4), (2, 4), (4, 3)), embedding=4, length=12)


def built(pieces, spec=SMALL):
    torch.manual_seed(0)
    made = spec.build(Vocabulary(len(pieces), 0, (), tuple(pieces)), 5).double()
    for weight in made.parameters():
        torch.nn.init.normal_(weight, 0, 0.5)
    return made


def test_a_vector_depends_on_the_spelling_alone():
    made = built(["the", "cat", "the", "", "花"])
    vectors = made(torch.arange(5))
    assert torch.equal(vectors[0], vectors[2])
    assert not torch.allclose(vectors[0], vectors[1])
    assert torch.isfinite(vectors).all()
    assert torch.allclose(vectors, made.every())


def test_neither_longer_words_beside_it_nor_a_higher_limit_change_a_word():
    short, beside = built(["cat"]), built(["cat", "catalogues"])
    higher = built(["cat"], SMALL.model_copy(update={"length": 40}))
    wanted = short(torch.tensor([0]))[0]
    assert torch.allclose(beside(torch.arange(2))[0], wanted, atol=1e-12)
    assert torch.allclose(higher(torch.tensor([0]))[0], wanted, atol=1e-12)


def test_a_word_is_the_largest_of_every_filter_then_highways():
    made = built(["ab"])
    letters = made.bytes(torch.tensor([256, 97, 98, 257]))
    found = []
    for convolve in made.filters:
        padded = torch.cat([letters, letters.new_zeros(convolve.kernel_size[0] - 1, 4)])
        windows = [convolve(padded[at : at + convolve.kernel_size[0]].T[None])[0, :, 0] for at in range(4)]
        found.append(torch.stack(windows).amax(0))
    y = torch.cat(found).relu()
    for layer in made.highway:
        new, gate = layer(y).chunk(2)
        y = gate.sigmoid() * new.relu() + (1 - gate.sigmoid()) * y
    assert torch.allclose(made(torch.tensor([0]))[0], made.project(y))


def test_what_is_kept_is_forgotten_when_something_is_learned():
    made = built(["cat", "dog"]).float().eval()
    with torch.no_grad():
        before = made(torch.arange(2))
    assert made.kept is not None
    optimizer = torch.optim.Adam(made.parameters(), 0.1, fused=True)
    made.train()(torch.arange(2)).sum().backward()
    optimizer.step()
    with torch.no_grad():
        after = made.eval()(torch.arange(2))
    assert not torch.allclose(before, after)
    assert torch.allclose(after, made.every())


def test_words_that_are_cut_are_counted(capsys):
    built(["a" * 10, "a" * 11, "b"])
    assert "1 of 3 words have more than 10 bytes" in capsys.readouterr().err
    built(["a" * 10, "b"])
    assert not capsys.readouterr().err


def test_filters_wider_than_a_word_are_refused():
    assert Characters(length=5).faults()[0][0] == "filters"
    assert not SMALL.faults()


@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_a_dropped_word_is_gone_wherever_it_stands(rate):
    made = built(["a", "b", "c", "d"])
    vectors = made(torch.arange(4).repeat(3), rate).view(3, 4, 5)
    assert torch.equal(vectors[0], vectors[1])
    gone = (vectors[0] == 0).all(-1)
    assert not gone.any() if not rate else True


def sized(size: int, counts=None) -> Vocabulary:
    return Vocabulary(size, -1, (), counts=counts)


def test_adaptive_vectors_are_wide_for_frequent_words_whatever_their_ids():
    counts = np.arange(1, 41)  # the last id is the most frequent
    torch.manual_seed(0)
    made = Adaptive(cutoffs=(0.1, 0.5), divide=2.0).build(sized(40, counts), 8).double()
    assert [table.weight.shape for table in made.shares] == [(4, 8), (16, 4), (20, 2)]
    assert sum(p.numel() for p in made.parameters()) == 4 * 8 + 16 * 4 + 20 * 2 + 4 * 8 + 2 * 8
    ids = torch.tensor([[39, 36, 35], [20, 19, 0]])
    assert torch.equal(made(ids), made.every()[ids])
    assert torch.equal(made(ids)[0, :2], made.shares[0].weight[[0, 3]])
    assert torch.allclose(made(ids)[0, 2], made.shares[1].weight[0] @ made.widen[0].weight.T)
    narrow = [made.shares[n].weight[i] @ made.widen[n - 1].weight.T for n, i in ((1, 15), (2, 0), (2, 19))]
    assert torch.allclose(made(ids)[1], torch.stack(narrow))
    slopes = torch.autograd.grad(made(torch.tensor([39, 35])).sum(), list(made.parameters()))
    assert [bool(slope.any()) for slope in slopes] == [True, True, False, True, False], "rare words were not read"


def test_one_share_of_everything_is_a_table_and_a_word_is_dropped_wherever_it_stands():
    made = Adaptive(cutoffs=()).build(sized(30), 6)
    ids = torch.randint(0, 30, (3, 5))
    assert torch.equal(made(ids), F.embedding(ids, made.shares[0].weight))
    some = made(torch.tensor([4, 9, 4, 9, 4]), drop=0.5)
    assert torch.equal(some[0], some[2])
    assert Adaptive(cutoffs=(0.5, 0.1)).faults()
    assert Adaptive(divide=0.5).faults()
