"""The gradient noise scale against models whose gradients are drawn with a known mean and covariance."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from foreword.training.noise import KEPT, GradientNoise
from tests.tiny import learner_for, take_steps, tiny

LENGTH = 10         # tokens in a row
STILL = "network.dropout={ embeddings = 0.0, attention = 0.0, residual = 0.0 }"        # each part would draw its own


def batch_of(rows: int, continues=None):
    return SimpleNamespace(size=rows, tokens=rows * LENGTH, continues=continues)


def measured(noise: GradientNoise, draw, rows: int, share: int, steps: int) -> list[float]:
    """What it reports when row i of a step has the gradient draw(): passed in parts, as the learner does."""
    weight, found = torch.nn.Parameter(torch.zeros(50, dtype=torch.float64)), []
    for step in range(steps):
        each = draw(rows)
        batch = batch_of(rows)
        part = noise.rows_in_a_pass(step, batch, share)
        weight.grad = None
        for start in range(0, rows, part):
            (weight @ each[start: start + part].sum(0) / rows).backward()
            noise.after_a_part([weight])
        found += noise.after_all(float(weight.grad.norm()), batch, part, 1.0).values()
    return found


@pytest.mark.thorough
@pytest.mark.parametrize(("rows", "share"), [(8, 1), (8, 4), (12, 5), (8, 8)])
def test_it_finds_the_noise_of_a_linear_model(rows, share):
    """Gradients N(G, S): tr(S) / |G|^2 rows, times the tokens of a row. Averages wander, so the later ones are averaged."""
    generator = torch.Generator().manual_seed(0)
    mean = torch.full((50,), 0.5, dtype=torch.float64)
    spread = torch.linspace(0.5, 2.0, 50, dtype=torch.float64)
    truth = float(spread.square().sum() / mean.square().sum()) * LENGTH

    def draw(count):
        return mean + spread * torch.randn(count, 50, generator=generator, dtype=torch.float64)

    found = measured(GradientNoise(1, wanted=True), draw, rows, share, 3000)
    assert len(found) > 2900
    assert sum(found[100:]) / len(found[100:]) == pytest.approx(truth, rel=0.1)


def test_rows_that_are_all_the_same_have_no_noise():
    found = measured(GradientNoise(1, wanted=True), lambda count: torch.ones(count, 50, dtype=torch.float64), 8, 3, 5)
    assert found == pytest.approx([0.0] * 5, abs=1e-12)


def test_it_is_measured_by_the_number_of_the_step_alone():
    noise = GradientNoise(10, wanted=True)
    parts = [noise.rows_in_a_pass(step, batch_of(8), 8) for step in range(30)]
    assert [step for step, part in enumerate(parts) if part == 4] == [9, 19, 29]
    assert all(part in (4, 8) for part in parts)
    assert GradientNoise(10, wanted=False).rows_in_a_pass(9, batch_of(8), 8) == 8
    assert noise.rows_in_a_pass(9, batch_of(1), 1) == 1
    assert noise.rows_in_a_pass(9, batch_of(8, continues=False), 8) == 8, "a state is carried for each part of the step before"


def test_a_step_in_parts_is_measured_without_asking(store):
    learner, stream = learner_for(tiny("gpt2", "training.micro_batch=2", "training.log=2"), store())
    reports = take_steps(learner, stream, range(6))
    assert all("gradient_noise" not in reports[step] for step in (0, 2, 4))
    assert any("gradient_noise" in reports[step] for step in (1, 3, 5))
    assert {report["batch_tokens"] for report in reports} == {8 * 32.0}
    learner, stream = learner_for(tiny("gpt2", "training.log=2"), store())
    assert not any("gradient_noise" in report for report in take_steps(learner, stream, range(6)))


def test_a_measurement_is_that_of_two_gradients_made_by_themselves(store):
    """The learner's figures for one step against the formulas, with both gradients from separate passes."""
    learner, stream = learner_for(tiny("gpt2", "training.micro_batch=3", "training.log=1", STILL), store(), torch.float64)
    batch = stream.batch(0)
    learner.step(batch, 0, 0.0)
    told = (learner.noise.averages / (1 - KEPT)).tolist()
    fresh, _ = learner_for(tiny("gpt2", STILL), store(), torch.float64)
    fresh.model.train()

    def squared(part):
        fresh.model.zero_grad()
        (fresh.objective.loss(fresh.model, part).charges["tokens"].total / part.guesses["tokens"]).backward()
        return sum(float(p.grad.square().sum()) for p in fresh.model.parameters())
    small, large = squared(batch.rows(0, 3)), squared(batch)
    gradient = (8 * large - 3 * small) / (8 - 3)
    noise = (small - large) / (1 / 3 - 1 / 8)
    assert told == pytest.approx([noise, gradient], rel=1e-6)


def test_measuring_changes_no_weight(store):
    """Without dropout, a step taken in two parts is the step: to rounding, as everywhere."""
    weights = []
    for noise in ("true", "false"):
        learner, stream = learner_for(tiny("gpt2", f"training.noise={noise}", "training.log=2", STILL), store(), torch.float64)
        take_steps(learner, stream, range(4))
        weights.append(learner.save())
    assert "noise" in weights[0]
    assert "noise" not in weights[1]
    for name, tensor in weights[1].items():
        assert torch.allclose(tensor.double(), weights[0][name].double(), rtol=1e-8, atol=1e-10), name
