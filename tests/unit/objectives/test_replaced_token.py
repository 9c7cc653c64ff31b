"""ELECTRA: what is charged, and what is learned from it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from foreword.assembly.build import model_for
from foreword.batches.stream import Stream
from foreword.objectives.base import NOTHING
from foreword.objectives.replaced_token import ReplacedToken, copied_or_written
from tests.tiny import drawn, learner_for, tiny


@pytest.fixture
def made(store_of):
    recipe = tiny("electra")
    store = store_of(recipe)
    stream = Stream(recipe.batches.over(store, 8, 0), lambda rows: recipe.objective.collate(rows, store.tokenizer), 8)
    return recipe, drawn(recipe, store.tokenizer, dtype=torch.float64), stream.batch(0), store.tokenizer


def test_a_lucky_draft_is_not_a_replaced_token(made):
    """The share of replaced tokens is the share of hidden ones times the generator's error."""
    recipe, model, batch, _ = made
    hidden = batch.targets["tokens"] != NOTHING
    with torch.no_grad():
        log_probs = model.heads["tokens"].log_probs(model.network.generator(batch.inputs).last[hidden])
        targets, draw = batch.targets["tokens"][hidden], batch.draw.clone()
        below = log_probs.exp().cumsum(-1)
        own = torch.arange(len(targets))
        lucky = (below[own, targets] - log_probs.exp()[own, targets] / 2) / below[:, -1]  # draws the author's token
        draw[hidden] = torch.where(own % 2 == 0, lucky.to(draw), draw[hidden])
        batch = replace(batch, draw=draw)
        drafts = ReplacedToken.drafted(log_probs, batch.draw[hidden])
        loss = recipe.objective.loss(model, batch)
    wrong = int((drafts != targets).sum())
    assert loss.guesses()["found"] == loss.guesses()["recall"] == wrong
    figures = {name: float(loss.charges[name].total) / count for name, count in loss.guesses().items()}
    masked = len(targets) / batch.tokens
    assert figures["replaced_rate"] == pytest.approx(masked * (1 - figures["generator_accuracy"]), rel=1e-12)
    assert figures["generator_accuracy"] >= 0.5
    assert 0 < wrong <= len(targets) // 2


def test_no_token_is_shown_as_another_and_no_special_is_drafted(made):
    recipe, _, batch, tokenizer = made
    hidden, ids = batch.targets["tokens"] != NOTHING, batch.inputs.ids
    mask = tokenizer.special("[mask]")
    assert ((ids == mask) | (ids == batch.targets["tokens"]))[hidden].all()
    assert torch.equal(
        batch.targets["replaced"][~hidden & (batch.targets["replaced"] != NOTHING)],
        ids[~hidden & (batch.targets["replaced"] != NOTHING)],
    )


def test_the_discriminator_teaches_the_generator_nothing(made):
    """But the embeddings that both read learn from both."""
    recipe, model, batch, _ = made
    alone = [p for name, p in model.network.generator.named_parameters() if not name.startswith("embeddings.")]
    charge = recipe.objective.loss(model, batch).charges["replaced"].total
    found = torch.autograd.grad(charge, [*alone, model.network.table()], allow_unused=True)
    assert all(slope is None for slope in found[:-1])
    assert found[-1].abs().sum() > 0
    draft = recipe.objective.loss(model, batch).charges["tokens"].total
    assert torch.autograd.grad(draft, [model.network.table()])[0].abs().sum() > 0


def test_drafts_follow_the_generators_distribution():
    torch.manual_seed(0)
    log_probs = torch.tensor([0.5, 0.3, 0.15, 0.05]).log().expand(20000, 4)
    counts = ReplacedToken.drafted(log_probs, torch.rand(20000)).bincount(minlength=4) / 20000
    assert torch.allclose(counts, torch.tensor([0.5, 0.3, 0.15, 0.05]), atol=0.015)


def test_both_read_one_table_each_through_its_own_map(store_of):
    recipe = tiny("electra")
    model = model_for(recipe, store_of(recipe).tokenizer.vocabulary())
    network = model.network
    assert network.generator.embeddings is network.discriminator.embeddings
    assert (network.width, network.generator.width, network.table().size(1)) == (32, 8, 24)
    assert model.heads["tokens"].out.weight is network.table()
    assert model.heads["tokens"].dense.weight.shape == (24, 8)


def with_settings(store_of, *settings):
    recipe = tiny("electra", *settings)
    store = store_of(recipe)
    stream = Stream(recipe.batches.over(store, 8, 0), lambda rows: recipe.objective.collate(rows, store.tokenizer), 8)
    return recipe, drawn(recipe, store.tokenizer, dtype=torch.float64), stream.batch(0)


def slopes(recipe, model, batch):
    """Parameters of the generator alone, and of the discriminator alone, that a step would move."""
    loss = recipe.objective.loss(model, batch)
    total = sum(charge.weight * charge.total for charge in loss.charges.values())
    names, parameters = zip(*model.named_parameters())
    found = torch.autograd.grad(total, parameters, allow_unused=True)
    moved = {name for name, slope in zip(names, found) if slope is not None and slope.abs().sum() > 0}
    shared = {name for name in moved if ".embeddings." in name}
    return {name for name in moved - shared if "generator" in name or "heads.tokens" in name}, moved - shared


def test_the_loss_is_linear_in_the_weight(store_of):
    values = []
    for weight in (0.0, 25.0, 50.0):
        recipe, model, batch = with_settings(store_of, f"objective.weight={weight}")
        loss = recipe.objective.loss(model, batch)
        values.append(sum(float(charge.weight * charge.total) for charge in loss.charges.values()))
    assert values[2] - values[1] == pytest.approx(values[1] - values[0])
    assert values[1] > values[0]


def test_fifteen_percent_charges_only_what_was_hidden(store_of):
    recipe, model, batch = with_settings(store_of, 'objective.charged="hidden"')
    whole, _, everywhere = with_settings(store_of)
    assert batch.guesses["replaced"] == batch.guesses["tokens"] < everywhere.guesses["replaced"] / 5
    assert torch.equal(batch.inputs.ids, everywhere.inputs.ids)
    less, more = (
        float(one.objective.loss(model, some).charges["replaced"].total)
        for one, some in ((recipe, batch), (whole, everywhere))
    )
    assert 0 < less < more


def test_replace_mlm_asks_for_the_authors_token(store_of):
    recipe, model, batch = with_settings(store_of, 'objective.guess="author"', 'objective.charged="hidden"')
    loss = recipe.objective.loss(model, batch)
    assert batch.guesses["replaced"] == batch.guesses["tokens"]
    assert float(loss.charges["replaced"].total) > 0
    assert model.heads["replaced"].out.weight is model.network.table()
    assert "recall" not in loss.charges
    assert "copy" not in model.heads


@torch.no_grad()
def test_all_tokens_mlm_copies_or_writes_every_token(store_of):
    """p(x) = D [x = shown] + (1 - D) softmax(x), at every position that is no padding; always copying costs nothing where
    nothing was replaced, and never copying is the softmax alone."""
    recipe, model, batch = with_settings(store_of, 'objective.guess="author"', "objective.weight=1.0")
    everywhere = with_settings(store_of)[2]
    assert batch.guesses["replaced"] == everywhere.guesses["replaced"] > 5 * batch.guesses["tokens"]
    read = []
    watch = model.network.register_forward_hook(lambda _, inputs, output: read.append((inputs[0].ids, output.last)))
    charge = recipe.objective.loss(model, batch).charges["replaced"]
    watch.remove()
    (shown, last), author = read[-1], batch.targets["replaced"]
    assert (shown != author)[author != NOTHING].any()
    share = model.heads["copy"](last).sigmoid()
    softmax = model.heads["replaced"].logits(last).double().softmax(-1)
    nats = alone = 0.0
    for row, place in (author != NOTHING).nonzero().tolist():
        written = float(softmax[row, place, author[row, place]])
        same = float(shown[row, place] == author[row, place])
        nats -= math.log(float(share[row, place]) * same + (1 - float(share[row, place])) * written)
        alone -= math.log(written)
    assert float(charge.total) == pytest.approx(nats, rel=1e-6)
    model.heads["copy"].out.weight.zero_()
    model.heads["copy"].out.bias.fill_(-40.0)
    assert float(recipe.objective.loss(model, batch).charges["replaced"].total) == pytest.approx(alone, rel=1e-6)
    model.heads["copy"].out.bias.fill_(40.0)
    there = (author != NOTHING)[0].nonzero()[:, 0]
    kept = copied_or_written(model, last[0, there], author[0, there], author[0, there])
    assert float(kept) == pytest.approx(0.0, abs=1e-6)


def test_all_tokens_mlm_teaches_the_discriminator_and_its_copying_but_not_the_generator(store_of):
    generator, both = slopes(*with_settings(store_of, 'objective.guess="author"', 'objective.generator="fixed"'))
    assert not generator
    assert {"heads.copy.out.weight", "heads.replaced.dense.weight"} <= both


def test_a_fixed_generator_does_not_move_and_the_discriminator_does(store_of):
    generator, both = slopes(*with_settings(store_of, 'objective.generator="fixed"'))
    assert not generator
    assert both
    first_stage, alone = slopes(*with_settings(store_of, "objective.weight=0.0"))
    assert first_stage == alone, "the first of two stages teaches the generator only"


def test_an_adversarial_generator_learns_from_what_its_drafts_cost(store_of):
    recipe, model, batch = with_settings(store_of, 'objective.generator="adversarial"')
    generator, _ = slopes(recipe, model, batch)
    assert generator
    plain, likely = with_settings(store_of)[0], recipe.objective.loss(model, batch).charges["tokens"].total
    assert float(likely) != pytest.approx(float(plain.objective.loss(model, batch).charges["tokens"].total))


def test_drafts_that_are_never_right_replace_every_hidden_token(store_of):
    recipe, model, batch = with_settings(store_of, "objective.never_right=true")
    assert recipe.objective.loss(model, batch).guesses()["found"] == batch.guesses["tokens"]


def test_temperature_flattens_the_drafts():
    log_probs = torch.tensor([[0.7, 0.2, 0.1]]).log()
    for temperature, expected in (
        (1.0, [0.7, 0.2, 0.1]),
        (float("inf"), [1 / 3] * 3),
        (0.5, [0.49 / 0.54, 0.04 / 0.54, 0.01 / 0.54]),
    ):
        found = ReplacedToken(temperature=temperature).drafting(log_probs, torch.tensor([0])).exp()
        assert torch.allclose(found, torch.tensor([expected]), atol=1e-6)
    assert ReplacedToken(temperature=0.0).faults()


def test_what_is_shared_is_counted_once(store_of):
    def parameters(*settings):
        recipe = tiny("electra", *settings)
        return model_for(recipe, store_of(recipe).tokenizer.vocabulary())

    shared, apart = parameters(), parameters('network.sharing="none"')
    tables = sum(p.numel() for p in shared.network.discriminator.embeddings.parameters())
    assert apart.parameter_count() - shared.parameter_count() == tables
    one = parameters("network.generator=1.0", 'network.sharing="all"')
    assert one.network.generator is one.network.discriminator
    assert one.parameter_count() < shared.parameter_count() + 32 * 24 * 4


def test_health_is_reported_under_its_own_name(store_of):
    recipe = tiny("electra")
    learner, stream = learner_for(recipe, store_of(recipe))
    values = learner.step(stream.batch(0), 0, 0.0).values
    assert {"generator_accuracy", "replaced_rate", "recall"} <= set(values)
    assert 0 <= values["generator_accuracy"] <= 1
    assert not {"generator_accuracy", "recall"} & set(learner.measure([stream.batch(1)])), (
        "a loss is what weights are chosen by"
    )
