"""Heads that take a short cut: equal to the full softmax where they should be, and honest where they are not."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from foreword.parts.character_softmax import CharacterSoftmax
from foreword.parts.class_softmax import AdaptiveSoftmax, ClassSoftmax, classes_of
from foreword.parts.sampled_softmax import LogUniform, SampledSoftmax, by_frequency
from foreword.parts.words import Characters
from foreword.tokens.vocabulary import Vocabulary

SIZE, WIDTH = 200, 6
SMALL = Characters(filters=((1, 4), (2, 4)), embedding=4, length=8)


def words(counts=True) -> Vocabulary:
    pieces = tuple("".join(chr(97 + int(c)) for c in np.base_repr(n + 7, 7)) for n in range(SIZE))
    often = np.random.default_rng(0).permutation(np.arange(1, SIZE + 1) ** 2)
    return Vocabulary(SIZE, 0, (), pieces, counts=often if counts else None)


HEADS = {
    "sampled": SampledSoftmax(samples=20),
    "nce": SampledSoftmax(samples=20, loss="nce"),
    "classes": ClassSoftmax(),
    "adaptive": AdaptiveSoftmax(cutoffs=(0.1, 0.4), divide=2.0),
    "characters": CharacterSoftmax(samples=20, characters=SMALL, correction=3),
}


def head(name, seed=0, **more):
    torch.manual_seed(seed)
    made = HEADS[name].model_copy(update=more).over(WIDTH, words(), None).double()
    for weight in made.parameters():
        torch.nn.init.normal_(weight, 0, 0.7)
    return made


def guesses(count=30):
    torch.manual_seed(1)
    return torch.randn(count, WIDTH, dtype=torch.float64), torch.randint(0, SIZE, (count,))


@pytest.mark.parametrize("name", HEADS)
def test_what_is_read_is_one_distribution_over_all_words(name):
    made, (hidden, targets) = head(name).eval(), guesses()
    logs = made.log_probs(hidden).double()
    assert (logs.exp().sum(-1) - 1).abs().max() < 1e-5
    assert (made.nll(hidden, targets) + logs[torch.arange(30), targets]).abs().max() < 1e-5
    assert made.total(hidden, targets).item() == pytest.approx(made.nll(hidden, targets).sum().item(), rel=1e-10)


@pytest.mark.parametrize("name", ["classes", "adaptive"])
def test_learning_and_reading_charge_the_same(name):
    made, (hidden, targets) = head(name).train(), guesses()
    assert made.total(hidden, targets).item() == pytest.approx(made.nll(hidden, targets).sum().item(), rel=1e-10)


@pytest.mark.parametrize("name", ["sampled", "characters"])
def test_a_sample_of_all_words_is_the_full_softmax(name):
    """Every word once, none corrected: loss and gradient."""
    made, (hidden, targets) = head(name), guesses()
    none = torch.zeros(1, dtype=torch.float64)
    sampled = made.among(hidden, targets, torch.arange(SIZE), none.expand(30), none.expand(SIZE))
    full = F.cross_entropy(made.logits(hidden), targets, reduction="sum")
    assert sampled.item() == pytest.approx(full.item(), rel=1e-12)
    ours, wanted = (torch.autograd.grad(loss, list(made.parameters())) for loss in (sampled, full))
    assert max(float((a - b).abs().max()) for a, b in zip(ours, wanted)) < 1e-10


@pytest.mark.parametrize(("name", "sampled"), [("sampled", True), ("nce", True), ("sampled", False)])
def test_samples_are_for_learning_only(name, sampled):
    made, (hidden, targets) = head(name), guesses()
    if not sampled:
        made.eval()
    torch.manual_seed(2)
    first = made.total(hidden, targets)
    torch.manual_seed(3)
    assert torch.equal(first, made.total(hidden, targets)) != sampled


def test_the_gradient_of_samples_comes_near_the_full_one_and_not_without_its_correction():
    """Relative error of the mean over 500 draws; spec: below 5% at k = 100, above 15% uncorrected."""
    made, (hidden, targets) = head("sampled"), guesses(64)
    torch.nn.init.normal_(made.out.weight, 0, 0.3)
    full = torch.autograd.grad(F.cross_entropy(made.logits(hidden), targets, reduction="sum"), made.out.weight)[0]

    def error(samples, corrected=True, draws=500):
        mean = torch.zeros_like(full)
        for _ in range(draws):
            ranks = made.noise.draw(samples, hidden)
            own, drawn = (made.noise.log_probability(r) + math.log(samples) for r in (made.rank[targets], ranks))
            loss = made.among(hidden, targets, made.ranked[ranks], own * corrected, drawn * corrected)
            mean += torch.autograd.grad(loss, made.out.weight)[0] / draws
        return float((mean - full).norm() / full.norm())

    torch.manual_seed(0)
    few, many = error(5), error(100)
    assert many < 0.05 < few
    assert error(100, corrected=False) > 0.15


def test_ranks_are_drawn_as_often_as_the_formula_says():
    noise, draws = LogUniform(50), 200_000
    torch.manual_seed(0)
    seen = torch.bincount(noise.draw(draws, torch.empty(0)), minlength=50).double()
    expected = noise.log_probability(torch.arange(50)).exp() * draws
    assert float(expected.sum()) == pytest.approx(draws, rel=1e-9)
    assert float(((seen - expected) ** 2 / expected).sum()) < 85.4  # chi-square, 49 degrees, p = 0.001
    assert float(((seen - draws / 50) ** 2 / (draws / 50)).sum()) > 1000, "uniform draws would not pass"


def test_ids_need_not_be_sorted_by_frequency():
    vocabulary = words()
    ranked = by_frequency(vocabulary)
    assert (np.diff(vocabulary.counts[ranked.numpy()]) <= 0).all()
    assert by_frequency(words(counts=False)).tolist() == list(range(SIZE))
    made = head("sampled")
    assert torch.equal(made.rank[made.ranked], torch.arange(SIZE))


def test_classes_are_about_equally_likely_and_hold_every_word():
    vocabulary = words()
    found = classes_of(vocabulary, 14)
    shares = np.bincount(found.numpy(), weights=vocabulary.counts + 1) / (vocabulary.counts + 1).sum()
    assert len(found) == SIZE
    assert shares.max() < 2 / 14


def test_two_classes_of_one_word_each_are_the_class_alone():
    made = ClassSoftmax(classes=2, bias=False).over(WIDTH, Vocabulary(2, 0, (), counts=np.array([3, 3])), None)
    hidden = torch.randn(4, WIDTH)
    assert torch.allclose(made.log_probs(hidden), made.classes(hidden).log_softmax(-1)[:, made.belongs], atol=1e-6)


def test_words_spelled_alike_are_told_apart_by_their_correction_alone():
    vocabulary = Vocabulary(3, 0, (), ("ab", "ab", "b"))
    made = CharacterSoftmax(characters=SMALL, correction=3).over(WIDTH, vocabulary, None).double()
    rows = made.rows(torch.arange(3))
    assert not torch.allclose(rows[0], rows[1])
    made.correct.weight.data.zero_()
    rows = made.rows(torch.arange(3))
    assert torch.equal(rows[0], rows[1])
    assert not torch.allclose(rows[0], rows[2])
