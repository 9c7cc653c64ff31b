"""ELECTRA: what is charged, and what is learned from it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from foreword.assembly.build import model_for
from foreword.batches.stream import Stream
from foreword.objectives.base import NOTHING
from foreword.objectives.replaced_token import ReplacedToken
from tests.tiny import drawn, tiny


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
    assert loss.guesses() == {"found": wrong}
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
