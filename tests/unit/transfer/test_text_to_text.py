"""Every labelled task as text: what is read and written, what counts as an answer, and one network for several by their names."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from foreword.assembly import loader
from foreword.assembly.build import model_for
from foreword.batches.by_task import TaskCutter, mixing_rates
from foreword.batches.encoded import EncodedExample, EncodedText
from foreword.batches.examples import Examples, row_of
from foreword.exchange.hugging_face import LoadedFolder
from foreword.transfer.encoding import Encoder, TextFormat
from foreword.transfer.finetune import recipe_for
from foreword.transfer.initial_weights import initial_model
from foreword.transfer.kinds import learned_as
from foreword.transfer.kinds.base import HeadScores
from foreword.transfer.multitask import recipe_for_tasks
from foreword.transfer.tuning import FinetuneSettings
from tests.labelled import task, tokenizer

SMALL = ["network.layers=1", "network.width=48", "network.heads=2", "network.head_size=24", "network.inner=96"]
SMALL += ["network.context=96", "network.dropout={embeddings=0.0, attention=0.0, residual=0.0, inner=0.0}"]
KINDS = ("classify", "pair", "similarity", "choice", "span", "tag", "rank")
every_kind = pytest.mark.parametrize("kind", KINDS)


def pretrained() -> LoadedFolder:
    torch.manual_seed(0)
    recipe = loader.load("t5", "", SMALL)
    return LoadedFolder(recipe, model_for(recipe, tokenizer("gpt2").vocabulary()), tokenizer("gpt2"))


def encoder() -> Encoder:
    return Encoder(TextFormat(), tokenizer("gpt2"), Examples(length=96))


def learned(recipe, model, batches, steps: int = 120):
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(steps):
        losses = [recipe.objective.loss(model, batch) for batch in batches]
        optimizer.zero_grad()
        sum(charge.total for loss in losses for charge in loss.charges.values()).backward()
        optimizer.step()
    return model.eval()


def answers(how, objective, model, some, encoded):
    batch = objective.collate([row_of(one) for one in encoded], tokenizer("gpt2"))
    with torch.no_grad():
        scores = objective.scores(model, model.network(batch.inputs), batch)
    read = HeadScores(encoded, [one.double().numpy() for one in scores], objective, tokenizer("gpt2"))
    return how.answers(some, read)


def test_what_is_read_and_written():
    def of(kind: str):
        given = task(kind)
        how = learned_as(given.learn, "known", pretrained().recipe)
        return how.source(given.train[0]), how.learn.as_target(given.train[0]), given.train[0]

    source, target, example = of("classify")
    assert (source, target) == (f"known text: {example.texts[0]}", example.label)
    source, target, example = of("pair")
    assert source == f"known sentence1: {example.texts[0]} sentence2: {example.texts[1]}"
    source, target, example = of("choice")
    assert source.endswith(" ".join(f"choice{n}: {text}" for n, text in enumerate(example.choices, 1)))
    assert target == f"choice{example.label + 1}"
    source, target, example = of("span")
    assert source == f"known question: {example.texts[0]} context: {example.texts[1]}"
    assert target in (*example.references, "unanswerable")


@every_kind
def test_a_label_that_is_written_reads_as_the_prediction_that_is_right(kind):
    given = task(kind)
    how = learned_as(given.learn, given.name, pretrained().recipe)
    some = list(given.test)
    said = [how.learn.from_text(how.learn.as_target(one), 0.9, one, given.labels) for one in some]
    if kind == "similarity":
        assert all(abs(float(one) - example.number) <= 0.1 + 1e-9 for one, example in zip(said, some))
    else:
        assert given.scored(some, said)[0].value == 1.0


@every_kind
def test_what_no_label_is_called_is_wrong_and_can_be_judged(kind):
    given = task(kind)
    some = [one for one in given.test if kind != "span" or one.references[0]]
    said = [given.learn.from_text("gooood", 0.9, one, given.labels) for one in some]
    assert given.scored(some, said)[0].value < 1.0
    if kind in ("classify", "pair", "choice"):
        assert given.scored(some, said)[0].value == 0.0


@pytest.mark.parametrize("kind", ["classify", "span", "choice"])
def test_answers_are_written(kind):
    loaded, given = pretrained(), task(kind)
    recipe = recipe_for(loaded, given, FinetuneSettings())
    assert recipe.training.optimizer.kind == "adafactor"
    how, some = learned_as(given.learn, given.name, loaded.recipe), list(given.train)[:4]
    encoded = how.encode(some, given.labels, encoder())
    model = initial_model(recipe, loaded, loaded.tokenizer)
    batch = recipe.objective.collate([row_of(one) for one in encoded], loaded.tokenizer)
    assert batch.guesses == {"tokens": sum(len(one.target) for one in encoded)}
    learned(recipe, model, [batch])
    said = answers(how, recipe.objective, model, some, encoded)
    assert given.scored(some, [one.label for one in said])[0].value > 0.9
    unlabelled = how.encode([replace(one, label=None) for one in some], given.labels, encoder())
    again = answers(how, recipe.objective, model, some, unlabelled)
    assert [one.label for one in again] == [one.label for one in said]


def test_one_network_answers_by_the_name_of_the_task():
    """The same texts, two tasks with opposite labels: only the prefix tells which is asked; both share the one head."""
    loaded, first = pretrained(), task("classify")
    turned = {first.labels[0]: first.labels[1], first.labels[1]: first.labels[0]}
    second = replace(
        first,
        name="turned",
        train=tuple(replace(one, label=turned[one.label]) for one in first.train),
    )
    recipe = recipe_for_tasks(loader.load("mt-dnn"), loaded, [first, second])
    model = initial_model(recipe, loaded, loaded.tokenizer)
    assert list(model.heads) == ["tokens"]
    some, batches, asked = list(first.train)[:6], [], {}
    for name, given in zip(recipe.objective.names, (first, second)):
        how = learned_as(given.learn, given.name, loaded.recipe)
        encoded = how.encode(list(given.train)[:6], given.labels, encoder())
        asked[name] = how, encoded
        objective = recipe.objective.of(name)
        batches.append(replace(objective.collate([row_of(one) for one in encoded], loaded.tokenizer), task=name))
    learned(recipe, model, batches)
    said = {
        name: [
            one.label
            for one in answers(how, recipe.objective.of(name), recipe.objective.alone(model, name), some, encoded)
        ]
        for name, (how, encoded) in asked.items()
    }
    right, other = said.values()
    assert right == [one.label for one in some]
    assert other == [turned[one.label] for one in some], "a wrong prefix does not change the answer"


def test_shares_of_a_mixture_are_those_of_the_paper():
    assert mixing_rates([100, 300], None, 1.0) == [0.25, 0.75]
    assert mixing_rates([100, 900], 300, 1.0) == [0.25, 0.75]
    assert mixing_rates([100, 900], None, 2.0) == [0.25, 0.75]
    equal = mixing_rates([1, 10**6, 7], None, 1e9)
    assert np.allclose(equal, 1 / 3, atol=1e-6)


@pytest.mark.parametrize(("limit", "temperature"), [(None, 1.0), (100, 1.0), (None, 2.0)])
def test_batches_are_drawn_by_these_shares(limit, temperature):
    def some(count):
        return [EncodedExample((n,), (EncodedText(np.arange(n % 5 + 1)),), np.asarray([1])) for n in range(count)]

    cutter = TaskCutter({"small": some(40), "large": some(400)}, 8, 0, limit, temperature)
    drawn = Counter(cutter.batch(step)[0] for step in range(cutter.steps))
    share = mixing_rates([40, 400], limit, temperature)[0]
    assert abs(drawn["small"] / cutter.steps - share) < 0.05
    seen = Counter(
        row.example.examples[0]
        for step in range(3 * cutter.steps)
        if cutter.batch(step)[0] == "small"
        for row in cutter.rows(step, 0, 8)
    )
    assert set(seen) == set(range(40))
    assert max(seen.values()) - min(seen.values()) <= 1
