"""The calendar: budgets, duties and stops, with a learner that learns nothing and a clock that is set by hand."""

from __future__ import annotations

import ast
import inspect
import io
import tokenize

import pytest

from foreword.assembly import catalogue
from foreword.basics.budget import Budget
from foreword.training import trainer as module
from foreword.training.learner import StepReport
from foreword.training.trainer import Progress, ScheduledAction, Trainer


def test_the_trainer_knows_no_model():
    source = inspect.getsource(module)
    words = {
        token.string for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type == tokenize.NAME
    }
    forbidden = {"isinstance", "hasattr", "getattr", "kind", "torch", "type"} | set(catalogue.built_in())
    assert not words & forbidden
    imported = {node.module for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)}
    assert not any("network" in name or "count" in name or "objective" in name for name in imported)


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class NothingBetween:
    """Takes a second and ten tokens a step."""

    def __init__(self, clock):
        self.clock, self.taken, self.finished = clock, [], None

    def step(self, batch, step, spent, tokens):
        self.clock.now += 1.0
        self.taken.append((batch, step, spent))
        return StepReport(10, {"loss": float(step)})

    def finish(self, held_out):
        self.finished = list(held_out)


class Steps:
    def batch(self, step):
        return f"batch {step}"

    def epochs(self, step):
        return step / 8


@pytest.fixture
def made():
    def make(budget, progress=None, passes=None):
        clock = Clock()
        return Trainer(NothingBetween(clock), Steps(), Budget.parse(budget), progress, clock, passes)

    return make


@pytest.mark.parametrize(
    ("budget", "steps"), [("7", 7), ("70tok", 7), ("65tok", 7), ("1epochs", 8), ("5s", 5), ("0.1m", 6), ("1tok", 1)]
)
def test_it_steps_until_the_budget_is_spent(made, budget, steps):
    trainer = made(budget)
    trainer.held_out = lambda: ["held out"]
    assert trainer.run()
    assert [step for _, step, _ in trainer.learner.taken] == list(range(steps))
    assert trainer.learner.taken[-1][0] == f"batch {steps - 1}"
    assert trainer.learner.finished == ["held out"]
    assert (trainer.progress.step, trainer.progress.tokens, trainer.progress.seconds) == (steps, 10 * steps, steps)
    assert all(0 <= spent < 1 for _, _, spent in trainer.learner.taken)


@pytest.mark.parametrize(
    ("budget", "passes", "steps", "done"),
    [
        ("60s", 1.5, 12, True),
        ("5s", 1.5, 5, False),
        ("60s", None, 60, False),
        ("20", 1.5, 20, False),
        ("3epochs", 1.5, 24, False),
    ],
)
def test_wall_clock_ends_after_so_many_passes_through_the_text_and_no_other_budget_does(
    made, budget, passes, steps, done
):
    trainer = made(budget, passes=passes)
    assert not trainer.passes_done()
    assert trainer.run()
    assert trainer.passes_done() is done
    assert trainer.progress.step == steps
    shares = [spent for _, _, spent in trainer.learner.taken]
    assert shares == [pytest.approx(step / steps) for step in range(steps)], "the schedule ends where the training does"


@pytest.mark.parametrize(
    ("period", "due"),
    [
        ("3", [3, 6, 9]),
        (0.25, [3, 5, 8, 10]),
        ("4s", [4, 8]),
        ("50tok", [5, 10]),
        (1.0, [10]),
        ("100", []),
        ("1", list(range(1, 11))),
        ("0.5epochs", [4, 8]),
    ],
)
def test_duties_fall_due_when_they_should(made, period, due):
    trainer, done = made("10"), []
    trainer.duties = [ScheduledAction(period, lambda: done.append(trainer.progress.step))]
    trainer.run()
    assert done == due


def test_duties_are_done_in_their_order(made):
    trainer, done = made("2"), []
    trainer.duties = [
        ScheduledAction("1", lambda: done.append("log")),
        ScheduledAction("1", lambda: done.append("save")),
    ]
    trainer.run()
    assert done == ["log", "save"] * 2


def test_a_resumed_trainer_goes_on_and_repeats_no_duty(made):
    trainer, done = made("10", Progress(step=6, tokens=60, seconds=50.0)), []
    trainer.duties = [ScheduledAction("3", lambda: done.append(trainer.progress.step))]
    assert trainer.run()
    assert [step for _, step, _ in trainer.learner.taken] == [6, 7, 8, 9]
    assert done == [9]
    assert trainer.progress.seconds == 54.0


def test_asked_to_stop_it_stops_after_the_step(made):
    trainer = made("10")

    def watch(progress, spent, report):
        trainer.stopping = progress.step == 4

    trainer.watch = watch
    assert not trainer.run()
    assert trainer.progress.step == 4
    assert trainer.learner.finished is None


def test_a_record_is_the_mean_since_the_last(made):
    trainer, records = made("7"), []
    trainer.duties = [ScheduledAction("3", lambda: records.append(trainer.record()))]
    trainer.run()
    assert records == [{"step": 3, "tokens": 30, "loss": 1.0}, {"step": 6, "tokens": 60, "loss": 4.0}]
    assert trainer.progress.pending == [{"loss": 6.0}]
