"""The run loop: a model trained in a run folder, begun, interrupted, killed and resumed to the same end.

What is trained on, how it is evaluated and what is published is the workload's to say: text here, labelled tasks in `transfer`.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject
from foreword.basics.messages import Interrupted, RunFailed, duration, thousands
from foreword.basics.progress import Ticker, say, ticking
from foreword.basics.version import VERSION
from foreword.batches.cuts import Cutter
from foreword.batches.stream import Prefetched, Stream
from foreword.networks.base import Model
from foreword.runs.folder import RunFolder
from foreword.tokens.tokenizer import Tokenizer
from foreword.training.hardware import Hardware
from foreword.training.learner import Learner, StepReport
from foreword.training.schedules import Halving
from foreword.training.trainer import Progress, ScheduledAction, Trainer

EVALUATING = 0.1  # the largest share of a wall-clock budget that evaluations on the way may take


@dataclass(frozen=True)
class Evaluation:
    """What is known of the weights at one step."""

    losses: dict[str, float]  # by what is guessed, of held-out text or examples
    more: JsonObject = field(default_factory=dict)  # what else the record says
    score: float | None = None  # by which weights are chosen, higher is better; None: by the loss


class Workload(Protocol):
    """What differs between runs."""

    def introduce(self, loop: RunLoop) -> JsonObject:
        """Say what is trained; what the passport says of it."""

    def logged(self, loop: RunLoop) -> JsonObject:
        """What a record of training says besides losses."""

    def evaluate(self, loop: RunLoop) -> Evaluation | None: ...

    def publish(self, loop: RunLoop) -> None:
        """Write the model as it is now."""

    def finish(self, loop: RunLoop) -> JsonObject:
        """What is done once at the end, and said; what the passport says of it."""


class RunLoop:
    """One run: from its last checkpoint to the end of the budget, or to an interruption."""

    def __init__(
        self,
        recipe: Recipe,
        model: Any,
        tokenizer: Tokenizer,
        cutter: Cutter,
        workload: Workload,
        run: RunFolder,
        hardware: Hardware | None = None,
        patience: int | None = None,
    ):
        self.recipe, self.model, self.tokenizer, self.cutter = recipe, model, tokenizer, cutter
        self.workload, self.run, self.hardware = workload, run, hardware or Hardware()
        self.ranks = self.hardware.ranks
        self.ranks.first_writes(run.path)
        self.asked = False  # by a signal, to stop
        self.patience = patience  # evaluations without a better one after which it ends; None: it never does
        spec = recipe.training
        self.learner: Learner = spec.learner(model, recipe.objective, tokenizer, self.hardware)
        ramp = getattr(spec, "ramp", None)
        growth = ramp.growth(spec.batch_size, recipe.batches.length) if ramp else None
        self.ranks.check_shares(spec.accumulates, spec.batch_sizes())
        stream = Stream(cutter, self.learner.collate, spec.batch_size, self.ranks.rank, self.ranks.world, growth)
        batches = Prefetched(stream) if self.hardware.prefetch else stream
        epoch = getattr(cutter, "tokens", cutter.epoch * spec.batch_size * (recipe.batches.length or 0))
        self.trainer = Trainer(self.learner, batches, spec.spending(epoch), clock=self._clock, passes=spec.passes)
        self.ticker: Ticker | None = None  # while it trains
        self.board: Any = None
        self.enough = False  # there is nothing more to gain: it ends before its budget
        self.evaluating = 0.0  # seconds since it was begun or resumed

    def _clock(self) -> float:
        """The first rank's clock. Whether any rank was asked to stop is agreed on with it, so that all stop at one step."""
        now, stopping = self.ranks.shared_clock(self.asked, self.trainer.budget.cores)
        self.trainer.stopping = self.trainer.stopping or stopping
        return now

    def steps(self) -> int | None:
        """How many it will take, where a budget of epochs says so."""
        budget = self.trainer.budget
        return math.ceil(budget.amount / self.trainer.stream.epochs(1) - 1e-9) if budget.unit == "epochs" else None

    def resume(self) -> None:
        found = self.run.latest()
        if found is None:
            self.ranks.check_same({"the last checkpoint": "none"})
            self.run.forget_after(0)
            return
        tensors, progress = found
        self.ranks.check_same({"the last checkpoint": str(progress.step)})
        self.learner.restore(tensors)
        self.trainer.progress = progress
        if progress.halving:
            self.learner.halvings = progress.halving.get("halvings", 0.0)  # type: ignore[attr-defined]
        self.run.forget_after(progress.noted)
        say(f"{self.run.path}: goes on from step {progress.step:,} ({duration(progress.seconds)} of training so far)")

    def go(self, tensorboard: bool = False) -> None:
        spec, trainer = self.recipe.training, self.trainer
        facts = self.workload.introduce(self)
        self.run.sign(
            command=sys.argv,
            seed=spec.seed,
            tokenizer=self.tokenizer.fingerprint,
            **facts,
            versions=versions(),
            hardware=str(self.hardware),
            processes=self.ranks.world,
            finished=False,
        )
        if tensorboard and not self.ranks.rank:
            from torch.utils.tensorboard import SummaryWriter

            self.board = SummaryWriter(str(self.run.path / "tensorboard"))
        trainer.duties = [
            ScheduledAction(str(spec.log), self.log),
            ScheduledAction(spec.evaluate, self.evaluate),
            ScheduledAction(spec.save, self.save),
        ]
        with ticking(self.recipe.name) as ticker, self._signals_handled():
            self.ticker, trainer.watch = ticker, self._watch
            try:
                finished = trainer.run()
            except RunFailed as failure:
                saved = self.run.checkpoints()
                good = f" The last good weights are in {saved[-1]}." if saved else " Nothing was saved before it."
                raise type(failure)(failure.what + good, failure.do) from failure
            finally:
                if isinstance(trainer.stream, Prefetched):
                    trainer.stream.close()
        if not finished and not self.enough:
            self.save()
            self.ranks.settle()
            raise Interrupted(
                f"stopped at step {trainer.progress.step:,}; all of it is saved in {self.run.path}.",
                "The same command goes on from there.",
            )
        self._finish()

    def _watch(self, progress: Progress, spent: float, report: StepReport) -> None:
        assert self.ticker is not None
        pace = progress.tokens / max(progress.seconds, 1e-9)
        loss = f"loss {report.values['loss']:.3f}  " if "loss" in report.values else ""
        self.ticker.update(spent, f"step {progress.step:,}  {loss}{thousands(pace)} tokens/s")

    def show(self, what: str, share: float) -> None:
        """How much of an evaluation is done, within the training's own progress."""
        if self.ticker is not None:
            self.ticker.update(self.trainer.spent(), f"step {self.trainer.progress.step:,}  {what} {share:.0%} read")

    def log(self) -> None:
        record = {
            **self.trainer.record(),
            "seconds": round(self.trainer.progress.seconds, 3),
            **self.workload.logged(self),
        }
        self._note(record)
        self._draw("train", record)

    def evaluate(self, anyway: bool = False) -> None:
        """Keep these weights if none before were better; end where it has waited long enough for better ones."""
        progress, clock = self.trainer.progress, self.trainer.clock
        by_the_clock = self.trainer.budget.unit == "seconds"
        if by_the_clock and not anyway and self.evaluating > EVALUATING * progress.seconds:
            return  # a few seconds are given for training; the last evaluation still comes
        began = clock()
        found = self.workload.evaluate(self)
        self.evaluating += clock() - began
        if found is None:
            return
        loss, before = sum(found.losses.values()), progress.best
        if found.score is None:
            better = math.isfinite(loss) and (not before or loss < before["valid"])
            best = {"step": progress.step, "valid": loss}
        else:
            better = not before or (found.score, -loss) > (before["dev"], -before["valid"])
            best = {"step": progress.step, "valid": loss, "dev": found.score, "waited": 0}
        self._note(
            {"step": progress.step, "tokens": progress.tokens, "valid": found.losses, **found.more, "best": better}
        )
        self._draw("valid", {"step": progress.step, **found.losses})
        self._halve(loss)
        if better:
            progress.best = best
            self.workload.publish(self)
        elif found.score is not None:
            self._wait(before)

    def _halve(self, loss: float) -> None:
        """Half the rate from here on, if the schedule says so; the end, if even that brings nothing."""
        schedule, seen = getattr(self.recipe.training, "schedule", None), self.trainer.progress.halving
        if not isinstance(schedule, Halving):
            return
        stuck = loss * schedule.significant > seen.get("previous", math.inf)
        if stuck and seen.get("halvings"):
            seen["over"] = 1.0
            say(
                f"held-out text gets no likelier, though the rate was halved {seen['halvings']:.0f} times: it ends here."
            )
            self.enough = self.trainer.stopping = True
        elif stuck or seen.get("halvings"):
            seen["halvings"] = seen.get("halvings", 0.0) + 1.0
        seen["previous"] = loss
        self.learner.halvings = seen.get("halvings", 0.0)  # type: ignore[attr-defined]

    def _wait(self, before: dict[str, float]) -> None:
        best = self.trainer.progress.best = {**before, "waited": before.get("waited", 0) + 1}
        if self.patience and best["waited"] >= self.patience:
            say(f"no better than step {best['step']:,.0f} for {self.patience} evaluations: it ends here.")
            self.enough = self.trainer.stopping = True

    def save(self) -> None:
        self.run.save(self.learner.save(), self.trainer.progress, self.recipe.training.keep, self.ranks)
        if isinstance(self.model, Model) and self.ranks.agree(not (self.run.model / "config.json").is_file()):
            self.workload.publish(self)

    def whole_model(self) -> Any:
        """The model with all its weights; of several processes only the first, which writes it, has it."""
        return self.ranks.whole_model(self.model)

    def _finish(self) -> None:
        progress = self.trainer.progress
        if progress.pending:
            self.log()
        evaluated = any("valid" in record and record["step"] == progress.step for record in self.run.metrics()[-3:])
        if not self.ranks.agree(evaluated):
            self.evaluate(anyway=True)
        if not progress.best:
            self.workload.publish(self)  # nothing to choose by: the last weights are the model
        self.save()
        self.ranks.settle()
        size = {"parameters": self.model.parameter_count()} if isinstance(self.model, Model) else {}
        facts = {
            "step": progress.step,
            "tokens": progress.tokens,
            "seconds": round(progress.seconds, 1),
            "best": progress.best,
        }
        self.run.sign(**facts, **size, **self.workload.finish(self), finished=True)
        self.ranks.wait()  # what comes after it may read the run

    def _note(self, record: JsonObject) -> None:
        self.run.note(record)
        self.trainer.progress.noted += 1

    def _draw(self, group: str, record: JsonObject) -> None:
        if self.board is None:
            return
        for name, value in record.items():
            if isinstance(value, float):
                self.board.add_scalar(f"{group}/{name}", value, record["step"])

    @contextmanager
    def _signals_handled(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM ask for a stop after the step under way; a second Ctrl-C does not wait."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def asked(number: int, frame: Any) -> None:
            self.asked = True
            signal.signal(signal.SIGINT, signal.default_int_handler)
            say("stopping after this step, and saving ...")

        before = {number: signal.signal(number, asked) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                with suppress(ValueError):
                    signal.signal(number, handler)


def check_same(hardware: Hardware | None, recipe: Recipe, data: str) -> None:
    """Every process of this training is about to do the same."""
    if hardware is not None and hardware.ranks.world > 1:
        said = json.dumps([recipe.values(), hardware.precision])
        hardware.ranks.check_same({"the code": code(), "the recipe": said, "the text": data})


def code() -> str:
    """A fingerprint of the program: the sources of the package, and what it stands on."""
    digest = hashlib.blake2b(json.dumps(versions()).encode(), digest_size=16)
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def versions() -> dict[str, str]:
    return {
        "foreword": VERSION,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
