"""XLNet fine-tuned: the content stream alone reads A, separator, B, separator, [cls], and answers from the end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from foreword.assembly import loader
from foreword.assembly.build import model_for
from foreword.batches.examples import Examples
from foreword.batches.row import Row
from foreword.exchange.hugging_face import LoadedFolder
from foreword.objectives.answerable_span import ENDS, AnswerableSpan
from foreword.transfer.encoding import Encoder, XLNetFormat
from foreword.transfer.finetune import recipe_for
from foreword.transfer.initial_weights import initial_model
from foreword.transfer.kinds import transfer_kind_of
from foreword.transfer.kinds.base import HeadScores
from foreword.transfer.kinds.span import best_of_starts
from foreword.transfer.tuning import FinetuneSettings
from tests.labelled import task, tokenizer

SMALL = ["network.layers=1", "network.width=32", "network.heads=2", "network.memory=0", "network.initial.deviation=0.2"]
SMALL += ["network.dropout={embeddings=0.0, attention=0.0, residual=0.0, inner=0.0}"]


def pretrained() -> LoadedFolder:
    torch.manual_seed(0)
    recipe = loader.load("xlnet", "", SMALL)
    return LoadedFolder(recipe, model_for(recipe, tokenizer("bert").vocabulary()), tokenizer("bert"))


def test_two_texts_are_read_with_the_class_at_the_end():
    known = tokenizer("bert")
    close, last = known.special("[separator]"), known.special("[cls]")
    read = XLNetFormat().sequence([np.asarray([7, 8]), np.asarray([9])], known)
    assert read.ids.tolist() == [7, 8, close, 9, close, last]
    assert read.segments.tolist() == [0, 0, 0, 1, 1, 2]
    alone = XLNetFormat().sequence([np.asarray([7, 8])], known)
    assert alone.ids.tolist() == [7, 8, close, last]
    assert alone.segments.tolist() == [0, 0, 0, 2]


@pytest.mark.parametrize("kind", ["classify", "pair", "similarity", "choice", "span", "tag", "rank"])
def test_every_kind_of_task_is_learned(kind):
    """A dozen steps on one batch: the charge falls, and every example has an answer."""
    loaded, given = pretrained(), task(kind)
    recipe = recipe_for(loaded, given, FinetuneSettings())
    assert recipe.objective.reading == "end"
    encoder = Encoder(XLNetFormat(), loaded.tokenizer, Examples(length=48))
    how = transfer_kind_of(kind)
    some = list(given.train)[:6]
    encoded = how.encode(some, given.labels, encoder)
    model = initial_model(recipe, loaded, loaded.tokenizer).eval()
    rows = [Row(np.zeros(0), number, 0, example=one) for number, one in enumerate(encoded)]
    batch = recipe.objective.collate(rows, loaded.tokenizer)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    costs = []
    for _ in range(12):
        loss = recipe.objective.loss(model, batch).charges[recipe.objective.name].total
        costs.append(float(loss.detach()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert costs[-1] < 0.9 * costs[0]
    with torch.no_grad():
        scores = recipe.objective.scores(model, model.network(batch.inputs), batch)
    read = HeadScores(encoded, [one.numpy() for one in scores], recipe.objective, loaded.tokenizer)
    assert len(how.answers(some, read)) == len(some)


def test_spans_of_the_text_are_found_by_their_characters():
    loaded, given = pretrained(), task("span")
    encoder = Encoder(XLNetFormat(), loaded.tokenizer, Examples(length=48))
    how = transfer_kind_of("span")
    found = 0
    for example in given.train[:6]:
        for window in how.encode([example], (), encoder):
            assert window.offsets is not None
            start, end = window.target
            if start == len(window.sequences[0].ids) - 1:  # no answer: the place of [cls]
                assert start == end
                assert example.label == ()
                continue
            said = example.texts[1][window.offsets[start, 0] : window.offsets[end, 1]]
            assert said.strip() == example.placed[0].text
            found += 1
    assert found > 2


def test_the_best_pair_is_that_of_a_brute_search():
    draw = np.random.default_rng(0)
    for _ in range(20):
        text, longest = draw.random(9) < 0.7, 3
        text[4] = True
        table = np.concatenate([draw.permutation(9)[:4, None], draw.normal(size=(4, 2 + 9))], 1)
        best = max(
            (
                (row[1] + row[ENDS + end], int(row[0]), end)
                for row in table
                for end in range(int(row[0]), min(int(row[0]) + longest, 9))
                if text[int(row[0])] and text[end]
            ),
            default=None,
        )
        if best is not None:
            assert best_of_starts(table, text, longest) == (best[1], best[2], pytest.approx(best[0]))


def test_without_unanswerable_questions_there_is_always_an_answer():
    given = task("span")
    answered = replace(given, train=tuple(one for one in given.train if one.label))
    recipe = recipe_for(pretrained(), answered, FinetuneSettings())
    assert isinstance(recipe.objective, AnswerableSpan)
    assert not recipe.objective.none
