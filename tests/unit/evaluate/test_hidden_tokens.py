"""The same hidden tokens for every model, each guessed once, where its objective guesses them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from foreword.basics.messages import Fault
from foreword.evaluate import extension
from foreword.evaluate.bits_per_byte import TokenizedText
from foreword.evaluate.hidden_tokens import hidden_rows, judged, report
from foreword.networks.base import Inputs
from foreword.objectives.base import NOTHING
from foreword.parts.frozen import freeze
from foreword.runs.opening import TrainedModel
from foreword.tokens.extension import extended
from tests.tiny import drawn, tiny


@pytest.fixture
def tagged(store):
    return store("tagged")


def opened(name, tokenizer):
    recipe = tiny(name)
    return TrainedModel(name, recipe, freeze(drawn(recipe, tokenizer)), tokenizer)


def texts(store, number=4):
    return [TokenizedText(store.document(i)[:90], 100, 100, 20) for i in range(number)]


def test_every_token_of_a_text_is_shown_once_and_a_share_of_each_row_is_hidden(tagged):
    tokenizer, mask = tagged.tokenizer, tagged.tokenizer.special("[mask]")
    rows = list(hidden_rows(texts(tagged), tokenizer, 32, 0.15))
    for number, text in enumerate(texts(tagged)):
        mine = [row for row in rows if row.document == number]
        whole = np.concatenate([np.where(row.targets != NOTHING, row.targets, row.shown)[1:-1] for row in mine])
        assert whole.tolist() == text.ids.tolist()
    for row in rows:
        guessed = row.targets != NOTHING
        assert (row.shown[guessed] == mask).all()
        assert guessed.sum() == max(1, round(0.15 * (len(row.shown) - 2)))
    again = list(hidden_rows(texts(tagged), tokenizer, 32, 0.15))
    assert all(np.array_equal(one.shown, other.shown) for one, other in zip(rows, again))


@pytest.mark.parametrize(("name", "before"), [("roberta", 0), ("gpt-bert", 1)])
@torch.no_grad()
def test_each_is_asked_where_its_objective_guesses(name, before, tagged):
    model = opened(name, tagged.tokenizer)
    rows = list(hidden_rows(texts(tagged), tagged.tokenizer, 32, 0.15))
    nats, right, count = np.zeros(4), np.zeros(4), np.zeros(4)
    for row in rows:
        last = model.with_heads.network(Inputs(torch.from_numpy(row.shown)[None])).last[0]
        for place in np.flatnonzero(row.targets != NOTHING):
            logs = model.with_heads.heads["tokens"].log_probs(last[place - before])
            nats[row.document] -= float(logs[row.targets[place]])
            right[row.document] += int(logs.argmax()) == row.targets[place]
            count[row.document] += 1
    assert judged(model, rows, 4) == pytest.approx(np.stack([nats, right, count], 1), abs=1e-3)


def test_models_stand_side_by_side_and_other_tokens_are_refused(tagged, store):
    models = {name: opened(name, tagged.tokenizer) for name in ("roberta", "gpt-bert")}
    corpus = SimpleNamespace(name="text", texts=lambda tokenizer, model: iter(texts(tagged)))
    found = report(models, corpus, 0.15).data()
    assert found["roberta"]["change"] == 0.0
    assert found["gpt-bert"]["change"] == pytest.approx(found["gpt-bert"]["nats"] / found["roberta"]["nats"] - 1)
    other = {"roberta": models["roberta"], "bert": opened("bert", store("wordpiece").tokenizer)}
    with pytest.raises(Fault, match="different tokens"):
        report(other, corpus, 0.15)
    with pytest.raises(Fault, match="cannot fill"):
        report({"gpt2": opened("gpt2", store().tokenizer)}, corpus, 0.15)


@pytest.mark.parametrize("name", ["bert", "gpt-bert"])
def test_whether_more_pieces_helped_is_told_on_the_same_text(name, store_of):
    text = store_of(tiny(name))
    model = opened(name, text.tokenizer)
    same = extension.compared(model, model, text)
    assert same["interval"] == [0.0, 0.0]
    assert same["before"] == same["after"]
    assert ("pseudo" in same["unit"]) == (name == "bert")
    more = extended(text.tokenizer, [text.tokenizer.decode(text.document(0))] * 5, 60)
    found = extension.compared(model, opened(name, more), text)
    assert found["after"]["tokens_per_word"] < found["before"]["tokens_per_word"]
    assert "tokens per word" in extension.said(found, 60)
