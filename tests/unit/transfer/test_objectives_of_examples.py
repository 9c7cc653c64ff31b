"""Objectives of labelled examples: sums that parts add up to, no order where there is none, gradients that add up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from foreword.batches.encoded import EncodedExample
from foreword.batches.examples import Examples, row_of
from foreword.exchange.hugging_face import LoadedFolder
from foreword.networks.base import Model
from foreword.objectives.auxiliary_tokens import AuxiliaryTokens
from foreword.objectives.combine import CombinedObjectives
from foreword.objectives.examples import FromExamples
from foreword.objectives.stepwise import Stepwise
from foreword.tasks.example import Example
from foreword.transfer.inference import head_scores
from foreword.transfer.kinds import transfer_kind_of
from tests.labelled import KINDS, base, encoder, examples, input_format, phrase, task, tokenizer

every_kind = pytest.mark.parametrize("kind", KINDS)
every_family = pytest.mark.parametrize("family", ["gpt2", "bert"])


class Made:
    """A model with a fresh head for a kind of task, its objective, and encoded examples."""

    def __init__(
        self, kind: str, family: str, made: list[Example] | None = None, count: int = 12, length: int = 48, **said: Any
    ):
        self.kind, self.family = kind, family
        self.form, self.labels = transfer_kind_of(kind), task(kind).labels
        plain = self.form.objective(self.labels, input_format(family).reading, 0.0)
        self.objective: FromExamples = plain.model_copy(update=said)
        self.tokenizer = input_format(family).extended(tokenizer(family))
        self.examples = examples(kind, count) if made is None else made
        self.encoded = self.form.encode(self.examples, self.labels, encoder(family, length))
        loaded: LoadedFolder = base(family)
        torch.manual_seed(5)
        network = loaded.recipe.network.build(self.tokenizer.vocabulary())  # type: ignore[attr-defined]
        heads = {"tokens": loaded.recipe.head.build(network.width, len(self.tokenizer), network.table())}  # type: ignore[union-attr]
        for head in (heads | {self.objective.name: self.objective.head(network.width)}).values():
            network.draw(head)
            heads |= {self.objective.name: head}
        self.model = Model(network, heads).double().eval()

    def batch(self, encoded: list[EncodedExample] | None = None, objective: Any = None) -> Any:
        return (objective or self.objective).collate([row_of(one) for one in encoded or self.encoded], self.tokenizer)

    def scores(self, at_once: int = 64) -> list[np.ndarray]:
        return head_scores(self.model, self.objective, self.encoded, self.tokenizer, at_once=at_once)[0]


@every_family
@every_kind
def test_parts_of_a_batch_add_up_to_the_whole(kind: str, family: str) -> None:
    made = Made(kind, family)
    batch = made.batch()
    whole = made.objective.loss(made.model, batch).charges[made.objective.name].total
    total, guesses = 0.0, 0
    for start in range(0, batch.size, 2):
        part = batch.rows(start, start + 2)
        assert part.inputs.ids.size(0) == sum(part.counts) == part.there.size(0)
        total += float(made.objective.loss(made.model, part).charges[made.objective.name].total)
        guesses += part.guesses[made.objective.name]
    assert total == pytest.approx(float(whole), rel=1e-9)
    assert guesses == batch.guesses[made.objective.name] > 0
    assert float(whole) > 0


@every_family
@every_kind
def test_an_example_without_a_label_costs_nothing(kind: str, family: str) -> None:
    made = Made(kind, family)
    blank = [replace(one, target=None) for one in made.encoded]
    loss = made.objective.loss(made.model, made.batch(made.encoded[:3]))
    more = made.objective.loss(made.model, made.batch([*made.encoded[:3], *blank]))
    name = made.objective.name
    assert made.batch([*made.encoded[:3], *blank]).guesses == made.batch(made.encoded[:3]).guesses
    assert float(more.charges[name].total) == pytest.approx(float(loss.charges[name].total), rel=1e-9)


@every_family
@every_kind
def test_other_rows_and_the_size_of_a_batch_change_no_score(kind: str, family: str) -> None:
    made = Made(kind, family)
    together, alone = made.scores(), made.scores(at_once=1)
    for a, b in zip(together, alone):
        assert a.shape == b.shape
        assert np.abs(a - b).max() < 1e-9
    lengths = {one.length for one in made.encoded}
    assert len(lengths) > 1, "all rows are of one length: nothing was padded"


def test_how_much_has_been_read_is_told() -> None:
    made, told = Made("classify", "gpt2"), [0.0]
    head_scores(made.model, made.objective, made.encoded, made.tokenizer, at_once=2, watch=told.append)
    assert told == sorted(told)
    assert len(told) == 1 + -(-len(made.encoded) // 2)
    assert told[-1] == 1.0


@every_family
@pytest.mark.parametrize("kind", ["classify", "similarity", "choice", "rank"])
def test_the_mean_of_all_vectors_is_read_where_that_is_said(kind: str, family: str) -> None:
    made = Made(kind, family, read="mean")
    head: Any = made.model.heads[made.objective.name]
    assert head.pool is None
    together, alone = made.scores(), made.scores(at_once=1)
    assert max(np.abs(a - b).max() for a, b in zip(together, alone)) < 1e-9, "padding is part of the mean"
    batch = made.batch(made.encoded[:1])
    hidden = made.model.network(batch.inputs).last
    states = torch.stack([row[there].mean(0) for row, there in zip(hidden, batch.there)])
    torch.testing.assert_close(head.states(hidden, batch.there), states)


@pytest.mark.parametrize("kind", ["tag", "span"])
def test_where_every_vector_is_read_a_mean_is_refused(kind: str) -> None:
    plain = transfer_kind_of(kind).objective(task(kind).labels, "first", 0.0)
    assert plain.published
    with pytest.raises(ValueError, match="read"):
        type(plain)(**plain.model_dump(), read="mean")
    assert [name for name, _ in Stepwise(labels=("a", "b"), read="mean").faults()] == ["read"]


@torch.no_grad()
def test_a_linear_gain_charges_token_t_of_t_tokens_and_its_last_share_is_the_plain_class() -> None:
    """Dai & Le 2015, section 2.1. All tokens together, one by one; with a gain that is a delta at T, the plain charge."""
    made, plain = Made("classify", "gpt2", gain="linear"), Made("classify", "gpt2")
    batch = made.batch()
    output = made.model.network(batch.inputs)
    logs = made.model.heads["classify"](output.last).log_softmax(-1)
    wanted = last = 0.0
    for row, (there, label) in enumerate(zip(batch.there, batch.targets["classify"].tolist())):
        length = int(there.sum())
        costs = [-float(logs[row, place, label]) for place in range(length)]
        wanted += sum((place + 1) / length * cost for place, cost in enumerate(costs))
        last += costs[-1]
    found = made.objective.charges(made.model, output, batch)["classify"]
    assert float(found.total) == pytest.approx(wanted, rel=1e-9)
    assert len(set(batch.there.sum(1).tolist())) > 1, "texts of unequal length"
    assert float(plain.objective.charges(made.model, output, batch)["classify"].total) == pytest.approx(last, rel=1e-9)
    assert made.objective.faults() == []
    for wrong in ({"reading": "first"}, {"read": "mean"}):
        assert made.objective.model_copy(update=wrong).faults()[0][0] == "gain"


@every_family
def test_a_class_costs_its_negative_logarithm(family: str) -> None:
    made = Made("classify", family)
    total = sum(
        float(F.cross_entropy(torch.from_numpy(score)[None], torch.from_numpy(one.target)[None]))
        for score, one in zip(made.scores(), made.encoded)
    )
    assert float(made.objective.loss(made.model, made.batch()).charges["classify"].total) == pytest.approx(
        total, rel=1e-9
    )


def test_a_similarity_is_the_same_in_both_orders() -> None:
    pairs = examples("similarity", 6)
    one = Made("similarity", "gpt2", pairs).scores()
    two = Made("similarity", "gpt2", [replace(pair, texts=pair.texts[::-1]) for pair in pairs]).scores()
    assert np.allclose(one, two, atol=1e-9)
    assert np.std(one) > 1e-3


@every_family
def test_the_order_of_answers_does_not_matter(family: str) -> None:
    made = examples("choice", 6)
    turned = [replace(one, choices=(*one.choices[1:], one.choices[0]), label=(one.label - 1) % 3) for one in made]
    a, b = Made("choice", family, made), Made("choice", family, turned)
    for x, y in zip(a.scores(), b.scores()):
        assert np.allclose(np.roll(x, -1), y, atol=1e-9)
    cost = [float(one.objective.loss(one.model, one.batch()).charges["choose"].total) for one in (a, b)]
    assert cost[0] == pytest.approx(cost[1], rel=1e-9)


def test_examples_may_have_unequal_numbers_of_answers() -> None:
    label_subset, many = examples("choice", 1)[0], examples("choice", 2)[1]
    label_subset = replace(label_subset, choices=label_subset.choices[:2], label=0)
    both = Made("choice", "bert", [label_subset, many])
    apart = [Made("choice", "bert", [one]) for one in (label_subset, many)]
    costs = [float(one.objective.loss(one.model, one.batch()).charges["choose"].total) for one in apart]
    assert float(both.objective.loss(both.model, both.batch()).charges["choose"].total) == pytest.approx(
        sum(costs), rel=1e-9
    )


@every_family
def test_two_candidates_are_a_logistic_loss(family: str) -> None:
    draw = np.random.default_rng(3)
    made = [Example(str(n), (f"the day {n // 2}", phrase(draw, 4)), float(n % 2), group=str(n // 2)) for n in range(8)]
    one = Made("rank", family, made)
    wanted = sum(np.log1p(np.exp(-(right - wrong))) for wrong, right in one.scores())
    assert float(one.objective.loss(one.model, one.batch()).charges["rank"].total) == pytest.approx(wanted, rel=1e-9)


def test_a_query_without_a_right_candidate_teaches_nothing() -> None:
    made = [replace(one, label=0.0) for one in examples("rank", 3)]
    one = Made("rank", "bert", made)
    assert one.batch().guesses == {"rank": 0}
    assert float(one.objective.loss(one.model, one.batch()).charges["rank"].total) == 0.0


def test_the_mean_of_windows_decides() -> None:
    text = phrase(np.random.default_rng(0), 60)
    made = Made("classify", "gpt2", [Example("0", (text,), "good")])
    write = encoder("gpt2", 24)
    ids = write.tokens(text)[0]
    apart = [EncodedExample((0,), (write.sequence([ids[start : start + 20]]),)) for start in (0, 20, 40)]
    together = EncodedExample((0,), tuple(one.sequences[0] for one in apart))
    scores, _ = head_scores(made.model, made.objective, apart, made.tokenizer)
    joined, _ = head_scores(made.model, made.objective, [together], made.tokenizer)
    assert np.allclose(np.mean(scores, 0), joined[0], atol=1e-9)


# --- guessing tokens beside the label ----------------------------------------------------------------------------------


def gradients(made: Made, objective: Any) -> dict[str, torch.Tensor]:
    """Of the loss as the learner makes it: each head's sum over its number of guesses."""
    batch = made.batch(objective=objective)
    made.model.zero_grad()
    charges = objective.loss(made.model, batch).charges
    sum(charge.weight * charge.total / batch.guesses[name] for name, charge in charges.items()).backward()
    return {
        name: torch.zeros_like(p) if p.grad is None else p.grad.clone() for name, p in made.model.named_parameters()
    }


@pytest.mark.parametrize("kind", ["classify", "similarity", "choice"])
def test_gradients_of_the_label_and_of_the_tokens_add_up(kind: str) -> None:
    made = Made(kind, "gpt2")
    label, tokens = gradients(made, made.objective), gradients(made, AuxiliaryTokens())
    for weight in (0.0, 0.5):
        both = gradients(made, CombinedObjectives(parts=[made.objective, AuxiliaryTokens()], weights=[1.0, weight]))
        for name, slope in both.items():
            assert torch.allclose(slope, label[name] + weight * tokens[name], atol=1e-9), name
    assert max(float(slope.abs().max()) for slope in tokens.values()) > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_of_no_weight_leave_the_plain_loss(kind: str) -> None:
    made = Made(kind, "gpt2")
    both = CombinedObjectives(parts=[made.objective, AuxiliaryTokens()], weights=[1.0, 0.0])
    batch = made.batch(objective=both)
    charges = both.loss(made.model, batch).charges
    loss = sum(charge.weight * charge.total / batch.guesses[name] for name, charge in charges.items())
    plain = (
        made.objective.loss(made.model, made.batch()).charges[made.objective.name].total
        / made.batch().guesses[made.objective.name]
    )
    assert float(loss) == float(plain)
    assert float(charges["tokens"].total) > 0


def test_a_sequence_costs_the_mean_of_its_tokens() -> None:
    made = Made("similarity", "gpt2")
    batch = made.batch(objective=AuxiliaryTokens())
    each = []
    with torch.no_grad():
        for one in made.encoded:
            for laid in one.sequences:
                ids = torch.from_numpy(laid.ids)[None]
                logits = made.model.heads["tokens"].logits(made.model.network(type(batch.inputs)(ids)).last[0])
                each.append(float(F.cross_entropy(logits[:-1], ids[0, 1:])))
        found = AuxiliaryTokens().loss(made.model, batch).charges["tokens"].total
    assert batch.guesses == {"tokens": len(each)}
    assert float(found) == pytest.approx(sum(each), rel=1e-9)


def test_parts_of_a_batch_with_tokens_add_up() -> None:
    made = Made("similarity", "gpt2")
    objective = CombinedObjectives(parts=[made.objective, AuxiliaryTokens()], weights=[1.0, 0.5])
    batch = made.batch(objective=objective)
    assert batch.guesses == {"regress": 12, "tokens": 24}
    whole = objective.loss(made.model, batch).charges
    parts = [objective.loss(made.model, batch.rows(start, start + 5)).charges for start in (0, 5, 10)]
    for name, charge in whole.items():
        assert sum(float(part[name].total) for part in parts) == pytest.approx(float(charge.total), rel=1e-9)


# --- rows ------------------------------------------------------------------------------------------------------------


def test_an_epoch_has_every_example_once_and_a_batch_is_a_function_of_its_step() -> None:
    encoded = Made("classify", "gpt2", count=37).encoded
    cutter = Examples(length=48).of(encoded, 4, 3)
    assert cutter.epoch == 37 / 4
    rows = [row for step in range(37) for row in cutter.rows(step, 0, 4)]
    for epoch in range(4):
        assert sorted(row.example.examples[0] for row in rows[epoch * 37 : (epoch + 1) * 37]) == list(range(37))
    fresh = Examples(length=48).of(encoded, 4, 3)
    for step in (30, 2, 11):
        assert [row.example for row in fresh.rows(step, 0, 4)] == [row.example for row in rows[step * 4 : step * 4 + 4]]
    other = [row.example for row in Examples(length=48).of(encoded, 4, 4).rows(0, 0, 4)]
    assert other != [row.example for row in rows[:4]]


def test_rows_of_like_length_share_a_batch() -> None:
    encoded = Made("classify", "gpt2", count=64).encoded
    cutter = Examples(length=48).of(encoded, 8, 0)
    spread = [
        max(lengths) - min(lengths)
        for step in range(8)
        if (lengths := [len(row.ids) for row in cutter.rows(step, 0, 8)])
    ]
    assert np.mean(spread) < 3 < max(one.length for one in encoded) - min(one.length for one in encoded)
