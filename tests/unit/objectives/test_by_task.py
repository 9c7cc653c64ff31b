"""Several tasks on one trunk: a batch changes its own head and the trunk, and no bit of anything else."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from foreword.assembly import loader
from foreword.assembly.build import network_for
from foreword.assembly.recipe import Recipe
from foreword.basics.messages import Faults
from foreword.batches.by_task import TaskRow
from foreword.batches.row import Row
from foreword.networks.base import Inputs, Model, Output
from foreword.objectives.by_task import ByTask, head_of
from foreword.objectives.examples import ExampleBatch
from foreword.objectives.rank import Rank
from foreword.training.gradient import GradientLearner, GradientTraining
from foreword.training.optimizers import AdamW
from foreword.training.schedules import Constant
from foreword.transfer.initial_weights import initial_model
from foreword.transfer.kinds import transfer_kind_of
from tests.labelled import base, encoder, examples, task, tokenizer

KINDS = {"films": "classify", "alike": "stepwise", "also": "classify", "near": "regress", "best": "rank"}
TRANSFER_KINDS = {"films": "classify", "alike": "pair", "also": "pair", "near": "similarity", "best": "rank"}


def recipe(**tasks: Any) -> Recipe:
    values = base("bert").recipe.values()
    made = [
        transfer_kind_of(TRANSFER_KINDS[name])
        .objective(task(TRANSFER_KINDS[name]).labels, "first", 0.0)
        .model_dump(mode="json")
        | {"kind": kind}
        | tasks.get(name, {})
        for name, kind in KINDS.items()
    ]
    values["objective"] = {"kind": "by_task", "names": list(KINDS), "tasks": made}
    values["batches"] = {"kind": "examples"}
    return loader.from_values(values, "here")


def made(**tasks: Any) -> tuple[ByTask, Model]:
    said = recipe(**tasks)
    assert isinstance(said.objective, ByTask)
    return said.objective, initial_model(said, base("bert"), tokenizer("bert"))


def rows(name: str, count: int = 6) -> list[Row]:
    encoded = transfer_kind_of(TRANSFER_KINDS[name]).encode(
        examples(TRANSFER_KINDS[name], count), task(TRANSFER_KINDS[name]).labels, encoder("bert")
    )
    return [TaskRow(one.sequences[0].ids, number, 0, example=one, task=name) for number, one in enumerate(encoded)]


def learner(objective: ByTask, model: Model) -> GradientLearner:
    spec = GradientTraining(
        optimizer=AdamW(learning_rate=1e-2, weight_decay=0.5), schedule=Constant(), batch_size=6, clip=0.0
    )
    return GradientLearner(spec, model, objective, tokenizer("bert"))


@pytest.mark.parametrize("name", KINDS)
def test_a_batch_changes_only_its_own_head_and_the_trunk(name: str) -> None:
    objective, model = made()
    learns = learner(objective, model)
    for step, other in enumerate(KINDS):  # so that the optimizer remembers something of every head
        learns.step(learns.collate(rows(other)), step, 0.0)
    before = learns.save()
    learns.step(learns.collate(rows(name)), 9, 0.5)
    after = learns.save()
    changed = {key for key in before if not torch.equal(before[key], after[key])}
    assert before.keys() == after.keys()
    heads = {key.split("heads.", 1)[1].split(".")[0] for key in changed if "/heads." in key}
    assert heads == {head_of(name)}
    own = [key for key in before if f"heads.{head_of(name)}." in key]
    assert {key for key in own if key.startswith("model/")} <= changed
    assert "model/network.embeddings.tokens.weight" in changed


def test_a_head_that_had_no_batch_yet_does_not_even_decay() -> None:
    objective, model = made()
    learns = learner(objective, model)
    before = learns.save()
    learns.step(learns.collate(rows("films")), 0, 0.0)
    after = learns.save()
    for key in before:
        if "heads." in key and head_of("films") not in key:
            assert torch.equal(before[key], after[key]), key
    assert not any(key.startswith("optimizer/heads.") and head_of("films") not in key for key in after)


@pytest.mark.parametrize("name", KINDS)
def test_it_charges_what_the_task_alone_charges(name: str) -> None:
    objective, model = made()
    model.eval()
    batch, alone = objective.collate(rows(name), tokenizer("bert")), objective.of(name)
    assert batch.task == name
    found = objective.loss(model, batch).charges
    single = alone.collate(rows(name), tokenizer("bert"))
    wanted = alone.loss(objective.alone(model, name), single).charges[alone.name].total
    assert list(found) == [name] == list(batch.guesses)
    assert torch.equal(found[name].total, wanted)
    assert batch.guesses[name] == single.guesses[alone.name] > 0
    parts = [
        float(objective.loss(model, batch.rows(start, start + 2)).charges[name].total.detach())
        for start in range(0, batch.size, 2)
    ]
    assert sum(parts) == pytest.approx(float(wanted.detach()), rel=1e-5)


def test_a_class_guessed_in_steps_costs_minus_the_logarithm_of_its_mean_probability() -> None:
    objective, model = made()
    model.double().eval()
    batch = objective.collate(rows("alike"), tokenizer("bert"))
    head = model.heads[head_of("alike")]
    steps: list[torch.Tensor] = []
    guess = head.guess
    head.guess = lambda state, seen: steps.append(guess(state, seen)) or steps[-1]
    found = objective.loss(model, batch).charges["alike"].total
    mean = torch.stack(steps).exp().mean(0)
    assert len(steps) == 5
    assert float(found.detach()) == pytest.approx(
        float(F.nll_loss(mean.detach().log(), batch.targets["stepwise"], reduction="sum")), rel=1e-9
    )


def test_other_rows_change_no_score_of_steps() -> None:
    objective, model = made()
    model.double().eval()
    alike, alone = objective.of("alike"), objective.alone(model, "alike")
    whole = alike.collate(rows("alike"), tokenizer("bert"))
    together = alike.scores(alone, model.network(whole.inputs), whole)
    for row, score in zip(rows("alike"), together):
        one = alike.collate([row], tokenizer("bert"))
        assert torch.allclose(alike.scores(alone, model.network(one.inputs), one)[0], score, atol=1e-9)
    assert not bool(whole.there.all())


def test_a_single_regression_is_not_spread_over_anything() -> None:
    objective, model = made()
    model.eval()
    batch = objective.collate(rows("near", 1), tokenizer("bert"))
    value = objective.of("near").scores(objective.alone(model, "near"), model.network(batch.inputs), batch)[0]
    assert value.shape == ()
    assert float(objective.loss(model, batch).charges["near"].total.detach()) == pytest.approx(
        float((value.detach() - batch.targets["regress"][0]) ** 2), rel=1e-6
    )


def test_every_task_has_its_own_dropout() -> None:
    objective, model = made(films={"dropout": 0.0}, also={"dropout": 0.5})
    model.train()

    def spread(name: str) -> float:
        batch = objective.collate(rows(name), tokenizer("bert"))
        torch.manual_seed(0)
        with torch.no_grad():
            losses = torch.stack([objective.loss(model, batch).charges[name].total for _ in range(20)])
        return float(losses.max() - losses.min())

    assert spread("films") == 0.0
    assert spread("also") > 1e-3


def test_every_head_that_reads_the_first_token_begins_with_what_pretraining_has_learned() -> None:
    before = base("bert")
    learned = before.model.heads["next_sentence"].pool
    model = initial_model(recipe(), before, tokenizer("bert"))
    for name in ("films", "also", "near", "best"):
        assert torch.equal(model.heads[head_of(name)].pool.weight, learned.weight)
    assert not torch.equal(model.heads[head_of("films")].out.weight, model.heads[head_of("also")].out.weight)


# --- ranking -----------------------------------------------------------------------------------------------------------


class Given(torch.nn.Module):
    """A head that says given scores."""

    def __init__(self, scores: torch.Tensor):
        super().__init__()
        self.scores = scores

    def states(self, hidden: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
        return self.scores[:, None]

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return states


def ranked(scores: list[list[float]], gamma: float) -> float:
    """What queries cost whose first candidate is the right one."""
    counts = tuple(len(some) for some in scores)
    shares = [[1.0] + [0.0] * (count - 1) + [torch.nan] * (max(counts) - count) for count in counts]
    flat = torch.tensor([score for some in scores for score in some], dtype=torch.float64)
    ids = torch.zeros(len(flat), 1, dtype=torch.long)
    batch = ExampleBatch(
        Inputs(ids),
        {"rank": torch.tensor(shares, dtype=torch.float64)},
        there=ids == 0,
        counts=counts,
        units={"rank": "example"},
    )
    model = Model(base("bert").model.network, {"rank": Given(flat)})
    return float(Rank(gamma=gamma).charges(model, Output(flat[:, None, None]), batch)["rank"].total)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 4.0])
def test_two_candidates_are_a_logistic_loss_of_gamma_times_their_difference(gamma: float) -> None:
    pairs = [[0.3, -1.2], [-2.0, 1.5], [0.0, 0.0]]
    wanted = sum(math.log1p(math.exp(-gamma * (right - wrong))) for right, wrong in pairs)
    assert ranked(pairs, gamma) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("gamma", [0.5, 4.0])
def test_a_constant_more_for_every_candidate_changes_nothing(gamma: float) -> None:
    some = [[0.3, -1.2, 0.4], [2.0, 1.0], [0.1, 0.2, -0.5]]
    assert ranked([[score + 7.0 for score in one] for one in some], gamma) == pytest.approx(
        ranked(some, gamma), abs=1e-9
    )


def test_a_large_gamma_asks_only_how_far_the_best_of_the_wrong_is_ahead() -> None:
    some = [[0.3, -1.2, 0.9], [2.0, 1.0]]
    assert ranked(some, 500.0) / 500.0 == pytest.approx(0.6, abs=1e-3)


def test_a_batch_of_two_tasks_is_refused() -> None:
    objective, _ = made()
    with pytest.raises(ValueError, match="one task"):
        objective.collate(rows("films") + rows("near"), tokenizer("bert"))


def test_what_does_not_fit_together_is_said() -> None:
    values = recipe().values()
    values["objective"]["names"] = ["a.b", "a.b", "c", "d", "e"]
    values["objective"]["tasks"][1] |= {"steps": 0, "skip": 1.5}
    with pytest.raises(Faults, match=r"steps must be at least 1(.|\n)*skip must be at most 1"):
        loader.from_values(values, "here")
    values["objective"]["tasks"][1] |= {"steps": 1, "skip": 1.0, "reading": "last"}
    with pytest.raises(Faults, match=r"skip must be(.|\n)*a bidirectional network"):
        loader.from_values(values, "here")
    values = recipe().values()
    values["objective"]["names"] = ["a.b", "a.b", "c", "d", "e"]
    with pytest.raises(Faults) as caught:
        loader.from_values(values, "here")
    assert "different names" in str(caught.value)
    assert "no full stop" in str(caught.value)


def test_tasks_may_have_names_that_modules_have_attributes_of() -> None:
    objective, _ = made()
    odd = replace_names(objective, ["train", "keys", "forward", "pop", "type"])
    network = base("bert").model.network
    assert len(Model(network, odd.heads(network, torch.nn.Identity)).heads) == 5


def replace_names(objective: ByTask, names: list[str]) -> ByTask:
    return objective.model_copy(update={"names": names})


def test_tasks_of_text_have_heads_of_their_own_too() -> None:
    """Masked words and the order of texts, each with its own heads, beside a task of labels: ERNIE 2's shape."""
    values = base("bert").recipe.values()
    films = transfer_kind_of("classify").objective(("bad", "good"), "first", 0.0).model_dump(mode="json")
    values["objective"] = {
        "kind": "by_task",
        "names": ["words", "texts", "films"],
        "tasks": [{"kind": "masked"}, {"kind": "next_sentence"}, films],
    }
    values["batches"] = {"kind": "examples"}
    said = loader.from_values(values, "here")
    model = network_for(said, tokenizer("bert").vocabulary())
    assert set(model.heads) == {"task-words:tokens", "task-texts:next_sentence", "task-films"}
    learns = learner(said.objective, model)
    text = [TaskRow(np.arange(10, 20), number, 0, second=np.arange(20, 26), task="words") for number in range(4)]
    for number, (name, some) in enumerate((("words", text), ("texts", [replace(row, task="texts") for row in text]))):
        before = learns.save()
        report = learns.step(learns.collate(some), number, 0.0)
        assert f"nll.{name}" in report.values
        changed = {key for key, value in learns.save().items() if key in before and not torch.equal(before[key], value)}
        assert {key.split("heads.", 1)[1].split(".")[0].split(":")[0] for key in changed if "/heads." in key} == {
            f"task-{name}"
        }
