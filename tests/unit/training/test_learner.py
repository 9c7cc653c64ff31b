from __future__ import annotations

import math
from typing import ClassVar

import pytest
import torch
from pydantic import ValidationError

from foreword.basics.messages import RunFailed
from foreword.batches.row import Row
from foreword.objectives.base import Batch, Charge
from foreword.objectives.causal import Causal
from foreword.training.counting import CountTraining
from foreword.training.gradient import GradientTraining
from tests.tiny import GRADIENT, learner_for, take_steps, tiny


@pytest.mark.parametrize("name", GRADIENT)
def test_chance_in_a_step_comes_from_its_number_alone(name, store_of):
    """Dropout included: step 2 is the same whatever was drawn before it, and unlike step 3 on the same batch."""
    recipe = tiny(name)
    store = store_of(recipe)
    learner, stream = learner_for(recipe, store)
    saved, batch = learner.save(), stream.batch(0)

    def gradient(step, before):
        learner.restore(saved)
        learner.states = []
        torch.manual_seed(before)
        return learner.step(batch, step, 0.1).values["gradient"]

    assert gradient(2, 0) == gradient(2, 12345)
    given = getattr(recipe.network, "dropout", 0.0)
    dropout = given if isinstance(given, float) else max(rate or 0.0 for rate in given.model_dump().values())
    assert (gradient(3, 0) == gradient(2, 0)) == (dropout == 0)


@pytest.mark.parametrize("name", ["lstm", "rnnlm"])
@pytest.mark.parametrize("micro", [None, 3])
def test_state_is_carried_along_lanes_and_dropped_at_their_start(name, micro, store):
    recipe = tiny(name, *([f"training.micro_batch={micro}"] if micro else []))
    learner, stream = learner_for(recipe, store())
    given = []
    real = type(learner.model.network).forward

    def spy(network, inputs, state=None):
        given.append(state)
        return real(network, inputs, state)

    with pytest.MonkeyPatch.context() as patch:
        learner.share = micro or recipe.training.batch_size  # what fits is known: nothing is tried first
        patch.setattr(type(learner.model.network), "forward", spy)
        steps = stream.cutter.steps
        take_steps(learner, stream, [0, 1, 2])
        parts = 3 if micro else 1
        assert [state is None for state in given] == [True] * parts + [False] * 2 * parts
        given.clear()
        learner.step(stream.batch(steps), steps, 0.0)
        assert all(state is None for state in given), "a new epoch starts with nothing remembered"


def test_the_gradient_is_clipped_and_told_as_it_was(store):
    recipe = tiny(
        "gpt2",
        "training.clip=0.001",
        'training.optimizer={ kind = "sgd", learning_rate = 1.0 }',
        'training.schedule={ kind = "constant" }',
    )
    learner, stream = learner_for(recipe, store())
    before = {name: weight.detach().clone() for name, weight in learner.model.weights().items()}
    report = learner.step(stream.batch(0), 0, 0.0)
    moved = math.sqrt(
        sum(float((weight.detach() - before[name]).pow(2).sum()) for name, weight in learner.model.weights().items())
    )
    assert report.values["gradient"] > 0.1
    assert moved == pytest.approx(0.001, rel=0.01)


@pytest.mark.parametrize(
    "optimizer",
    [
        '{ kind = "adamw", learning_rate = 0.01, epsilon = 0.1 }',
        '{ kind = "adamax", learning_rate = 0.01, epsilon = 0.1 }',
        '{ kind = "muon", learning_rate = 0.02, adam = { learning_rate = 0.01, epsilon = 0.1 } }',
    ],
)
def test_a_clipped_step_is_the_step_of_the_shortened_gradient(optimizer, store):
    """The epsilon is large, so that the length of the gradient is seen in the step of every optimizer."""
    recipe = tiny(
        "gpt2", "training.clip=0.01", f"training.optimizer={optimizer}", 'training.schedule={ kind = "constant" }'
    )
    data = store()
    (clipped, stream), (byhand, _) = learner_for(recipe, data), learner_for(recipe, data)
    byhand.spec = byhand.spec.model_copy(update={"clip": 0.0})
    real = byhand._clip

    def shortened():
        norm = real()
        torch.nn.utils.clip_grad_norm_(byhand.parameters, 0.01)
        return norm

    byhand._clip = shortened
    for step in range(3):
        for learner in (clipped, byhand):
            learner.step(stream.batch(step), step, 0.0)
    for name, weight in clipped.model.weights().items():
        torch.testing.assert_close(weight, byhand.model.weights()[name], rtol=1e-4, atol=1e-6)


def test_clip_0_is_no_limit(store):
    recipe = tiny("gpt2", "training.clip=0.0")
    learner, stream = learner_for(recipe, store())
    assert math.isfinite(learner.step(stream.batch(0), 0, 0.0).values["loss"])


def poisoned(learner, where="network.blocks.1.feedforward.inner.weight"):
    with torch.no_grad():
        dict(learner.model.named_parameters())[where].fill_(float("nan"))


def test_a_loss_that_is_not_a_number_names_a_layer_and_changes_nothing(store):
    learner, stream = learner_for(tiny("gpt2"), store())
    take_steps(learner, stream, range(2))
    poisoned(learner)
    before = {name: weight.detach().clone() for name, weight in learner.model.weights().items()}
    with pytest.raises(RunFailed, match=r"step 3: the loss is not a number") as caught:
        learner.step(stream.batch(2), 2, 0.1)
    assert any(name in str(caught.value) for name in learner.model.weights()), caught.value
    for name, weight in learner.model.weights().items():
        assert torch.equal(weight.nan_to_num(), before[name].nan_to_num()), name


def test_an_exploding_loss_stops_too(store):
    learner, stream = learner_for(tiny("gpt2"), store())
    learner.step(stream.batch(0), 0, 0.0)
    learner.first_loss = 0.01
    with torch.no_grad():
        learner.model.network.embeddings.tokens.weight.mul_(1e4)
    with pytest.raises(RunFailed, match="step 2: the loss is"):
        learner.step(stream.batch(1), 1, 0.0)


def test_measuring_learns_nothing_and_draws_nothing(store):
    learner, stream = learner_for(tiny("gpt2"), store())
    before = learner.save()
    batches = [stream.batch(0), stream.batch(1)]
    assert learner.measure(batches) == learner.measure(batches)
    assert all(torch.equal(value, before[name]) for name, value in learner.save().items())


def test_measuring_is_per_guess_not_per_batch(store):
    recipe = tiny("gpt2", 'batches={ kind = "documents", length = 32 }')
    learner, stream = learner_for(recipe, store("paragraphs"))
    batches = [stream.batch(step).rows(0, rows) for step, rows in enumerate((8, 1, 3))]
    guesses = [batch.guesses["tokens"] for batch in batches]
    each = [learner.measure([batch])["nll.tokens"] for batch in batches]
    assert len(set(guesses)) == 3
    wanted = sum(n * nll for n, nll in zip(guesses, each)) / sum(guesses)
    assert learner.measure(batches)["nll.tokens"] == pytest.approx(wanted, rel=1e-6)


def test_settings_of_training_that_cannot_be():
    good = {"optimizer": {"learning_rate": 1.0}, "schedule": {}}
    wrong = GradientTraining.model_construct(
        **{
            **good,
            "budget": "soon",
            "evaluate": 2.0,
            "save": "60s",
            "batch_size": 1,
            "log": 1,
            "keep": 1,
            "valid_batches": 1,
            "seed": 0,
        }
    )
    assert {name for name, _ in wrong.faults()} == {"budget", "evaluate"}
    with pytest.raises(ValidationError) as caught:
        CountTraining(batch_size=0, keep=0)
    assert {error["loc"][0] for error in caught.value.errors()} == {"batch_size", "keep"}
    assert CountTraining(budget=5).budget == "5"
    assert not CountTraining().faults()


def test_counting_in_runs_of_any_length_is_the_same(store):
    from tests.tiny import counted

    recipe, open_store = tiny("bigram"), store()
    whole = counted(recipe, open_store)
    learner, _ = learner_for(recipe, open_store)
    for number, start in enumerate(range(0, open_store.tokens, 999)):
        ids = open_store.read(start, min(start + 999, open_store.tokens))
        learner.step([Row(ids, number, 0)], number, 0.0)
    learner.finish([])
    assert all((learner.model.arrays()[name] == array).all() for name, array in whole.arrays().items())


class OnlyWrong(Causal):
    """Charges only the guesses that the network gets wrong: how many, only its forward pass knows."""

    kind: str = "only_wrong"
    counts_late: ClassVar[bool] = True

    def charges(self, model, output, batch):
        targets = batch.targets["tokens"].flatten()
        hidden = output.last.flatten(0, 1)
        wrong = (model.heads["tokens"].logits(hidden).argmax(-1) != targets) & (torch.rand(targets.shape) < 2)
        return {"tokens": Charge(model.heads["tokens"].nll(hidden, targets)[wrong].sum(), guesses=int(wrong.sum()))}


@pytest.mark.parametrize("late", [True, False])
def test_guesses_that_only_the_forward_pass_counts_add_up_over_parts(late, store, monkeypatch):
    """A step of 8 rows equals one of 1, 2 or 3 rows at a time; without the count beforehand it would not."""
    monkeypatch.setattr(OnlyWrong, "counts_late", late)
    monkeypatch.setattr(Batch, "guesses", {})
    found = []
    for micro in (8, 1, 2, 3):
        recipe = tiny(
            "gpt2", f"training.micro_batch={micro}", 'training.optimizer={ kind = "sgd", learning_rate = 0.5 }'
        )
        plain = recipe.network.model_copy(update={"dropout": type(recipe.network.dropout)()})
        recipe = recipe.model_copy(update={"network": plain, "objective": OnlyWrong()})
        learner, stream = learner_for(recipe, store(), torch.float64)
        report = learner.step(stream.batch(0), 0, 0.0)
        found.append((report.values["nll.tokens"], {name: w.clone() for name, w in learner.model.weights().items()}))
    (nats, weights), *others = found
    same = [
        max(float((weights[name] - other[name]).detach().abs().max()) for name in weights) < 1e-12
        for _, other in others
    ]
    assert all(same) if late else not any(same)
    assert all(abs(nats - other) < 1e-12 for other, _ in others)


@pytest.mark.parametrize("name", ["lstm", "transformer-xl"])
def test_a_carried_state_saved_in_parts_by_an_earlier_version_is_read(name, store):
    """Its leaves stood part after part, where now those of all rows stand together."""
    recipe = tiny(name)
    before, stream = learner_for(recipe, store())
    take_steps(before, stream, range(2))
    saved = before.save()
    whole = [saved.pop(key) for key in sorted(key for key in saved if key.startswith("state/"))]
    halves = [leaf for half in zip(*(leaf.chunk(2) for leaf in whole)) for leaf in half]
    after, _ = learner_for(recipe, store())
    after.restore(saved | {f"state/{i}": leaf for i, leaf in enumerate(halves)})
    assert take_steps(after, stream, [2]) == take_steps(before, stream, [2])
