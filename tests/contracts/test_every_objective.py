"""What every objective promises: the same batch from the same seed, honest counts, and sums that parts add up to."""

from __future__ import annotations

import pytest
import torch

from foreword.batches.stream import Stream
from foreword.objectives import KINDS
from foreword.objectives.base import NOTHING
from foreword.parts.heads import TokenHead
from tests.tiny import GRADIENT, RECIPES, drawn, learner_for, tiny

every_recipe = pytest.mark.parametrize("name", GRADIENT)
of_tokens = pytest.mark.parametrize("name", [name for name in GRADIENT if tiny(name).objective.leading == "tokens"])
PLAIN = 'training.optimizer={ kind = "sgd", learning_rate = 0.5 }'


def kinds(objective) -> set[str]:
    inside = (*getattr(objective, "parts", ()), *getattr(objective, "tasks", ()))
    return {objective.kind}.union(*(kinds(part) for part in inside))


def without_chance(name: str, *more: str):
    """The recipe with no dropout at all: parts of a batch draw other masks than the whole."""
    recipe = tiny(name, PLAIN, 'training.schedule={ kind = "constant" }', "training.clip=0.0", *more)
    still = {"network": recipe.network.without_chance(), "head": recipe.head.without_chance()}
    return recipe.model_copy(update=still)


def batches(recipe, store, size=8):
    spec = recipe.training
    cutter = recipe.batches.over(store, size, spec.seed)
    return Stream(cutter, lambda rows: recipe.objective.collate(rows, store.tokenizer), size)


def guessing_tokens(stream, head="tokens") -> int:
    """The first step whose batch guesses tokens: of several tasks, not every one does."""
    return next(step for step in range(1000) if head in stream.batch(step).targets)


def test_every_kind_of_objective_has_a_recipe_that_tests_it():
    assert set().union(*(kinds(tiny(name).objective) for name in RECIPES)) == set(KINDS.names())


def same(a, b) -> bool:
    if a.targets.keys() != b.targets.keys():
        return False
    tensors = [(a.targets[key], b.targets[key]) for key in a.targets]
    tensors += [(value, getattr(b.inputs, key)) for key, value in a.inputs._tensors()]
    return all(torch.equal(x, y) for x, y in tensors)


@every_recipe
def test_the_same_seed_gives_the_same_batch(name, store_of):
    recipe = tiny(name)
    store = store_of(recipe)
    for step in (0, 3, 1000):
        assert same(batches(recipe, store).batch(step), batches(recipe, store).batch(step))
    assert not same(batches(recipe, store).batch(0), batches(recipe, store).batch(1))


@every_recipe
def test_what_it_writes_the_network_reads(name, store_of):
    recipe = tiny(name)
    batch = batches(recipe, store_of(recipe)).batch(0)
    written = {key for key, _ in batch.inputs._tensors()}
    assert written <= set(recipe.objective.writes) <= set(recipe.network.reads)
    assert batch.inputs.ids.size(1) <= (getattr(recipe.network, "context", None) or 10**9)


@of_tokens
def test_guesses_are_the_targets_that_are_charged(name, store_of):
    """A head that costs exactly one nat a guess must be charged as many nats as there are guesses."""
    recipe = tiny(name)
    store = store_of(recipe)
    stream = batches(recipe, store)
    batch = stream.batch(guessing_tokens(stream))
    assert batch.guesses == {key: int((target != NOTHING).sum()) for key, target in batch.targets.items()}
    model = drawn(recipe, store.tokenizer)
    assert set(batch.targets) <= set(model.heads)
    assert recipe.objective.takes_turns or set(model.heads) == set(batch.targets)
    asked = {}

    def total(hidden, targets):
        asked["tokens"] = len(targets)
        assert hidden.shape[0] == len(targets)
        assert (targets >= 0).all()
        return torch.ones(len(targets)).sum()

    model.heads["tokens"].total = total
    loss = recipe.objective.loss(model, batch)
    assert float(loss.charges["tokens"].total) == asked["tokens"] == batch.guesses["tokens"]
    assert set(loss.charges) - set(loss.guesses()) == set(batch.targets)


@of_tokens
def test_only_guessed_positions_reach_the_vocabulary(name, store_of, monkeypatch):
    recipe = tiny(name)
    store = store_of(recipe)
    model, stream = drawn(recipe, store.tokenizer), batches(recipe, store)
    batch = stream.batch(guessing_tokens(stream))
    rows = {"total": [], "logits": []}  # the two ways to the vocabulary: to learn, and to look at

    def spied(way, real):
        def spy(head, hidden, *more):
            rows[way].append(hidden.reshape(-1, hidden.size(-1)).size(0))
            return real(head, hidden, *more)

        return spy

    for way in rows:
        monkeypatch.setattr(TokenHead, way, spied(way, getattr(TokenHead, way)))
    recipe.objective.loss(model, batch)
    assert sum(rows["total"]) == batch.guesses["tokens"]
    assert sum(rows["logits"]) in (0, batch.guesses["tokens"]), (
        "an objective that draws looks at what it guesses, no more"
    )
    if "[mask]" in recipe.objective.specials:
        assert sum(rows["total"]) < 0.3 * batch.inputs.ids.numel()


@every_recipe
def test_a_charge_is_the_sum_of_what_each_row_costs(name, store_of):
    recipe = tiny(name)
    store = store_of(recipe)
    model, batch = drawn(recipe, store.tokenizer, dtype=torch.float64), batches(recipe, store).batch(0)
    whole = recipe.objective.loss(model, batch).charges
    each = [recipe.objective.loss(model, batch.rows(row, row + 1)).charges for row in range(batch.size)]
    for key, charge in whole.items():
        assert charge.total.item() == pytest.approx(sum(one[key].total.item() for one in each), rel=1e-10)


CUTS = [(name, False) for name in GRADIENT] + [
    (name, True) for name in GRADIENT if not (tiny(name).objective.specials or tiny(name).objective.cuts)
]


@pytest.mark.parametrize(("name", "uneven"), CUTS)
def test_parts_of_a_batch_add_up_to_the_whole(name, uneven, store, store_of):
    """Weights after two steps of 8 rows are those after two steps of 1, 2 or 3 rows at a time, accumulated."""
    settings = ['batches={ kind = "documents", length = 32 }'] if uneven else []
    store = store("paragraphs") if uneven else store_of(tiny(name))
    found, guesses = {}, None
    for micro in (None, 1, 2, 3):
        recipe = without_chance(name, *settings, *([f"training.micro_batch={micro}"] if micro else []))
        learner, stream = learner_for(recipe, store, torch.float64)
        reports = [learner.step(stream.batch(step), step, 0.0).values for step in (0, 1)]
        charged = recipe.objective.leading
        batch = stream.batch(guessing_tokens(stream, charged))
        guesses = {int((row != NOTHING).sum()) for row in batch.targets[charged]}
        found[micro] = reports, {key: weight.clone() for key, weight in learner.model.weights().items()}
    alike = getattr(recipe.batches, "tokens", None)  # a batch of few tokens may be all of one length
    if uneven or (recipe.batches.ragged and charged == "tokens" and not alike):
        assert len(guesses) > 1, "rows of unequal numbers of guesses were wanted"
    reports, weights = found.pop(None)
    for micro, (others, other) in found.items():
        for a, b in zip(reports, others):
            assert a == pytest.approx(b, rel=1e-10), micro
        assert max(float((weights[key] - other[key]).detach().abs().max()) for key in weights) < 1e-10, micro


@every_recipe
def test_ranks_add_up_to_the_single_process(name, store_of):
    """The rows of two ranks are the rows of one process, in order."""
    recipe = tiny(name)
    store = store_of(recipe)
    cutter = recipe.batches.over(store, 8, 0)
    collate = lambda rows: [(row.number, row.ids.tolist(), row.continues, row.follows) for row in rows]  # noqa: E731
    whole = Stream(cutter, collate, 8)
    ranks = [Stream(recipe.batches.over(store, 8, 0), collate, 8, rank, 4) for rank in range(4)]
    for step in (0, 1, 500):
        assert whole.batch(step) == [row for rank in ranks for row in rank.batch(step)]


@every_recipe
def test_a_row_can_be_shown_to_a_person(name, store_of):
    recipe = tiny(name)
    store = store_of(recipe)
    batch = batches(recipe, store).batch(0)
    assert len(recipe.objective.show(batch, 0, store.tokenizer)) > 20
    assert recipe.objective.statistics(batch, store.tokenizer)
