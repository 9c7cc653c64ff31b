"""Contrastive predictive coding: the loss number by number, what it can and cannot see, and what its bound is worth."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from foreword.batches.row import Row
from foreword.networks.base import Inputs, Model, Output
from foreword.networks.sentence_context import SentenceContextSpec
from foreword.objectives.base import NOTHING
from foreword.objectives.future import FutureSentences
from foreword.tokens.vocabulary import Vocabulary


def rows(count=2, excerpts=3, sentences=4, seed=0):
    draw = np.random.default_rng(seed)
    made = []
    for number in range(count):
        texts = [draw.integers(1, 20, int(draw.integers(2, 6))) for _ in range(excerpts * sentences)]
        owners = tuple(number // sentences for number in range(len(texts)))
        made.append(Row(np.concatenate(texts), number, 0, turns=tuple(map(len, texts)), roles=owners))
    return made


def model(objective, width=6):
    torch.manual_seed(0)
    network = SentenceContextSpec(width=width, embedding=5).build(Vocabulary(20, 0, ()))
    whole = Model(network, objective.heads(network, lambda *_: None)).double()
    for weight in whole.parameters():
        torch.nn.init.normal_(weight, 0, 0.5)
    return whole


@pytest.mark.parametrize("negatives", ["all", "others"])
def test_it_is_the_papers_sum_by_a_double_loop(negatives):
    objective = FutureSentences(negatives=negatives, steps=2)
    batch, whole = objective.collate(rows(), None), model(objective)
    output = whole.network(batch.inputs)
    z, c = output.layers
    wanted, right = 0.0, [0, 0]
    for row in range(2):
        for excerpt in range(3):
            for at in range(4):
                for step in range(2):
                    if at + step + 1 > 3:
                        continue
                    scores = {}
                    for other in range(3):
                        for place in range(4):
                            itself = (other, place) == (excerpt, at + step + 1)
                            if negatives == "others" and other == excerpt and not itself:
                                continue
                            scores[other, place] = float(
                                z[row, other, place] @ whole.heads["future"].maps[step](c[row, excerpt, at])
                            )
                    best = (excerpt, at + step + 1)
                    wanted -= scores[best] - math.log(sum(math.exp(score) for score in scores.values()))
                    right[step] += max(scores, key=scores.get) == best
    charges = objective.charges(whole, output, batch)
    assert float(charges["future"].total.detach()) == pytest.approx(wanted, rel=1e-10)
    assert batch.guesses == {"future": 2 * 3 * (3 + 2)}
    assert [int(charges[f"accuracy_{step + 1}"].total) for step in range(2)] == right


def test_a_scorer_that_knows_nothing_costs_log_n_and_one_that_knows_all_nothing():
    objective = FutureSentences(steps=1)
    batch, whole = objective.collate(rows(), None), model(objective)
    torch.nn.init.zeros_(whole.heads["future"].maps[0].weight)
    charges = objective.charges(whole, whole.network(batch.inputs), batch)
    assert float(charges["future"].total) / 18 == pytest.approx(math.log(12))
    assert float(charges["log_candidates"].total) / 18 == pytest.approx(math.log(12))
    z = torch.eye(12, dtype=torch.float64).view(1, 3, 4, 12).expand(2, -1, -1, -1)
    knowing = model(objective, 12)
    knowing.heads["future"].maps[0].weight.data = 100 * torch.eye(12, dtype=torch.float64).roll(1, 0)
    charges = objective.charges(knowing, Output(z, (z, z)), batch)
    assert float(charges["future"].total) == pytest.approx(0, abs=1e-12)
    assert int(charges["accuracy_1"].total) == 18


def test_gradients_are_those_of_finite_differences():
    objective = FutureSentences(steps=2)
    batch, whole = objective.collate(rows(1, 2, 3), None), model(objective, 3)
    weights = dict(whole.named_parameters())

    def answer(*values):
        with torch.nn.utils.stateless._reparametrize_module(whole, dict(zip(weights, values))):
            return objective.charges(whole, whole.network(batch.inputs), batch)["future"].total

    assert torch.autograd.gradcheck(answer, [weight.detach().requires_grad_() for weight in weights.values()])


def test_the_same_sentence_twice_is_no_wrong_answer():
    objective = FutureSentences(steps=1)
    batch, whole = objective.collate(rows(1), None), model(objective)
    ids, real = batch.inputs.ids.clone(), batch.inputs.real.clone()
    ids[0, 2, 0], real[0, 2, 0] = ids[0, 0, 1], real[0, 0, 1]
    twice = type(batch)(Inputs(ids, real), batch.targets)
    one = torch.full_like(batch.targets["future"], NOTHING)
    one[0, 0, 0, 0] = 1
    bounds = []
    for given in (batch, twice):
        charges = objective.charges(whole, whole.network(given.inputs), type(batch)(given.inputs, {"future": one}))
        bounds.append(float(charges["log_candidates"].total))
    assert bounds == pytest.approx([math.log(12), math.log(11)])


def test_a_context_does_not_see_what_comes_and_padding_changes_nothing():
    whole = model(FutureSentences())
    batch = FutureSentences().collate(rows(1), None)
    z, c = whole.network(batch.inputs).layers
    ids = batch.inputs.ids.clone()
    ids[0, 1, 2] = 19
    other_z, other_c = whole.network(Inputs(ids, batch.inputs.real)).layers
    assert torch.equal(c[0, 1, :2], other_c[0, 1, :2])
    assert (c[0, 1, 2:] != other_c[0, 1, 2:]).any(-1).all()
    assert torch.equal(c[0, 0], other_c[0, 0])
    ids = torch.where(batch.inputs.real, batch.inputs.ids, 7)
    wide = torch.nn.functional.pad(ids, (0, 3), value=7)
    padded = whole.network(Inputs(wide, torch.nn.functional.pad(batch.inputs.real, (0, 3)))).layers[0]
    assert torch.allclose(padded, z, atol=1e-12)
    alone = whole.network(Inputs(batch.inputs.ids[0, 1, 2][batch.inputs.real[0, 1, 2]][None])).last[0]
    assert torch.allclose(whole.network.vector(alone), z[0, 1, 2], atol=1e-12), "z is what embed gives"


def test_the_bound_rises_with_the_candidates_and_stays_below_what_there_is_to_know():
    """Eight latent states with a known joint; the exact critic, in mean over many draws; three standard errors."""
    generator = torch.Generator().manual_seed(0)
    joint = torch.rand(8, 8, generator=generator, dtype=torch.float64) ** 6
    joint /= joint.sum()
    ratio = (joint / (joint.sum(1, keepdim=True) * joint.sum(0, keepdim=True))).log()
    known = float((joint * ratio).sum())
    bounds = []
    for count in (4, 16, 64):
        pairs = torch.multinomial(joint.flatten(), 4000 * count, replacement=True, generator=generator).view(
            4000, count
        )
        contexts, futures = pairs // 8, pairs % 8
        scores = ratio[contexts[:, :1], futures]  # the first is right, the others are drawn from the marginal
        each = math.log(count) + scores.log_softmax(-1)[:, 0]
        bounds.append(float(each.mean()))
        assert bounds[-1] < known + 3 * float(each.std()) / 4000**0.5
        assert bounds[-1] <= math.log(count)
    assert bounds == sorted(bounds)
    assert bounds[-1] > 0.8 * known
