"""GPT-BERT: all rows causal is the causal objective, none the masked one moved by a place; who sees what; how it is asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from foreword.batches.row import Row
from foreword.evaluate.entity_cloze import EntityQuestion, ask, hidden
from foreword.model import LoadedModel
from foreword.networks.base import Inputs
from foreword.objectives.base import NOTHING
from foreword.objectives.causal import Causal
from foreword.objectives.masked import Masked
from foreword.objectives.masked_next_token import MaskedNextToken
from foreword.parts.frozen import freeze
from tests.tiny import drawn, tiny


@pytest.fixture(scope="module")
def tagged(store):
    return store("tagged")


@pytest.fixture(scope="module")
def tokenizer(tagged):
    return tagged.tokenizer


def rows(text, numbers, length=25):
    """Fresh ones each time: a row's chance is used up."""
    return [Row(text.read(number * 40, number * 40 + length).astype(np.int64), number, 3) for number in numbers]


@pytest.fixture
def model(tokenizer):
    return drawn(tiny("gpt-bert"), tokenizer, dtype=torch.float64)


def loss(objective, model, batch):
    return float(objective.loss(model, batch).charges["tokens"].total.detach())


def test_all_causal_it_is_the_causal_objective(tagged, tokenizer, model):
    mine = MaskedNextToken(causal=1.0).collate(rows(tagged, range(6)), tokenizer)
    theirs = Causal().collate(rows(tagged, range(6)), tokenizer)
    assert torch.equal(mine.inputs.ids, theirs.inputs.ids)
    assert torch.equal(mine.targets["tokens"], theirs.targets["tokens"])
    causal = drawn(tiny("modern-gpt", "network.layers=2", "network.context=32"), tokenizer, dtype=torch.float64)
    causal.load_state_dict(model.state_dict())
    assert loss(MaskedNextToken(causal=1.0), model, mine) == pytest.approx(loss(Causal(), causal, theirs), abs=1e-9)


def test_with_no_causal_row_it_is_the_masked_objective_moved_by_one_place(tagged, tokenizer, model):
    mine = MaskedNextToken(causal=0.0).collate(rows(tagged, range(6)), tokenizer)
    short = [Row(row.ids[:-2], row.number, row.seed) for row in rows(tagged, range(6))]
    theirs = Masked().collate(short, tokenizer)
    assert torch.equal(mine.inputs.ids, theirs.inputs.ids[:, :-1])
    assert torch.equal(mine.targets["tokens"], theirs.targets["tokens"][:, 1:])
    last = model.network(Inputs(mine.inputs.ids)).last  # nothing marked: it looks both ways
    nll = torch.nn.functional.cross_entropy(
        model.heads["tokens"].logits(last).flatten(0, 1),
        mine.targets["tokens"].flatten(),
        ignore_index=NOTHING,
        reduction="sum",
    )
    assert loss(MaskedNextToken(causal=0.0), model, mine) == pytest.approx(float(nll), abs=1e-9)


def test_every_hidden_token_is_guessed_one_place_before_even_the_first(tagged, tokenizer):
    objective, first = MaskedNextToken(causal=0.0), 0
    for number in range(200):
        (row,) = rows(tagged, [number])
        batch = objective.collate([row], tokenizer)
        ids, targets = batch.inputs.ids[0].numpy(), batch.targets["tokens"][0].numpy()
        places = np.flatnonzero(targets != NOTHING)
        assert ids[0] == tokenizer.special("[cls]")
        assert (targets[places] == row.ids[places]).all(), "the target at k is the text's token that stands at k + 1"
        untouched = np.setdiff1d(np.arange(1, len(ids)), places + 1)
        assert (ids[untouched] == row.ids[untouched - 1]).all()
        first += targets[0] != NOTHING
    assert first > 10


@pytest.mark.parametrize("share", [0.0625, 0.5, 0.75])
def test_causal_rows_are_as_many_as_asked_for_whatever_the_batches(share):
    objective = MaskedNextToken(causal=share)
    causal = [objective.is_causal(Row(np.arange(3), number, 0)) for number in range(1600)]
    assert sum(causal) == 1600 * share
    assert max(np.diff(np.flatnonzero(causal))) <= np.ceil(1 / share)


@torch.no_grad()
def test_no_causal_row_sees_ahead_and_the_others_see_everything(model):
    ids = torch.randint(5, 200, (2, 12), generator=torch.Generator().manual_seed(0))
    inputs = Inputs(ids, causal=torch.tensor([True, False]))
    plain = model.network(inputs).last
    for place in range(12):
        other = ids.clone()
        other[:, place] += 1
        changed = (model.network(replace(inputs, ids=other)).last != plain).any(-1)
        assert changed[0].tolist() == [at >= place for at in range(12)]
        assert changed[1].all()


@torch.no_grad()
def test_padding_changes_neither_kind_of_row(model):
    ids = torch.randint(5, 200, (2, 9), generator=torch.Generator().manual_seed(1))
    causal = torch.tensor([True, False])
    padded = torch.cat([ids, torch.randint(5, 200, (2, 4))], 1)
    real = torch.arange(13).expand(2, 13) < 9
    longer = model.network(Inputs(padded, real, causal=causal)).last[:, :9]
    assert torch.allclose(longer, model.network(Inputs(ids, causal=causal)).last, atol=1e-10)


@torch.no_grad()
def test_its_two_kinds_of_guesses_are_told_apart_and_weigh_the_same(tagged, tokenizer, model):
    objective = MaskedNextToken(causal=0.5)
    batch = objective.collate(rows(tagged, range(6)), tokenizer)
    charges = objective.loss(model, batch).charges
    assert float(charges["tokens"].total) == pytest.approx(
        float(charges["causal"].total + charges["masked"].total), abs=1e-9
    )
    assert (charges["causal"].guesses, charges["masked"].guesses) == (3 * 24, 3 * round(0.15 * 23))
    assert charges["causal"].weight == charges["masked"].weight == 0.0
    assert batch.guesses["tokens"] == charges["causal"].guesses + charges["masked"].guesses


def opened(tokenizer):
    recipe = tiny("gpt-bert")
    return LoadedModel("tiny", recipe, freeze(drawn(recipe, tokenizer)), tokenizer)


@torch.no_grad()
def test_it_scores_as_a_causal_model_and_fills_one_place_before_the_gap(tokenizer):
    model = opened(tokenizer)
    assert {"score", "generate", "fill", "embed"} <= set(model.abilities)
    text = "the import statement binds a name"
    score = model.score(text)
    assert score.kind == "likelihood"
    ids = [tokenizer.special("[end]"), *tokenizer.encode(text)]
    read = Inputs(torch.tensor([ids]), causal=torch.tensor([True]))
    logs = model.with_heads.heads["tokens"].log_probs(model.with_heads.network(read).last[0, :-1])
    assert score.nats == pytest.approx(-float(logs[torch.arange(len(ids) - 1), torch.tensor(ids[1:])].sum()), abs=1e-3)
    gap = tokenizer.specials["[mask]"]
    for gapped in (f"{gap} import statement", f"the import {gap}"):
        ids = [tokenizer.special("[cls]"), *tokenizer.encode(gapped, specials=True), tokenizer.special("[separator]")]
        place = ids.index(tokenizer.special("[mask]"))
        vector = model.with_heads.network(Inputs(torch.tensor([ids]))).last[0, place - 1]
        likely = model.with_heads.heads["tokens"].log_probs(vector).exp().topk(3)
        assert [guess.probability for guess in model.fill(gapped, 3)] == pytest.approx(likely.values.tolist())


@torch.no_grad()
def test_the_cloze_of_entities_reads_the_place_before(tokenizer):
    model, text = opened(tokenizer), "the import statement binds a name in the local namespace"
    question = EntityQuestion(text, text.index("import"), text.index("import") + 16)
    shown, places, answer = hidden(question, tokenizer, model.with_heads.network.context)
    last = model.with_heads.network(Inputs(torch.from_numpy(shown)[None])).last[0]
    said = model.with_heads.heads["tokens"].log_probs(last[places - 1]).argmax(-1).numpy()
    found = ask(model.with_heads, tokenizer, [question], model.recipe.objective.guessed_before)
    assert (found.whole, found.right) == (bool((said == answer).all()), int((said == answer).sum()))
