"""Train a recipe on a store, in a run folder: begun, interrupted, killed and resumed to the same end."""

from __future__ import annotations

import math
import platform
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch

from foreword.assembly.build import check_tokenizer, model_for
from foreword.assembly.recipe import Recipe, kind
from foreword.basics.budget import Budget
from foreword.basics.messages import Fault, Interrupted, RunFailed, duration, thousands
from foreword.basics.progress import Ticker, say, ticking
from foreword.basics.seeds import number_of
from foreword.basics.version import VERSION
from foreword.batches.cuts import Cutter
from foreword.batches.mixture import Data, Mixture, MixtureCutter, Source, cutter_over, open_data, open_if_there
from foreword.batches.stream import Ahead, Stream
from foreword.networks.base import Model
from foreword.runs.card import card
from foreword.runs.folder import RunFolder
from foreword.runs.starting import check_same_start, start_from
from foreword.tokens.tokenizer import Tokenizer
from foreword.training.hardware import Hardware
from foreword.training.learner import Learner, Report
from foreword.training.trainer import Duty, Progress, Trainer

Ask = Callable[[Model, Tokenizer], dict[str, dict[str, float]]]        # task -> metric -> value
EVALUATING = 0.1       # the largest share of a wall-clock budget that evaluations on the way may take


def train(recipe: Recipe, data: Path | Sequence[Source], out: Path, tensorboard: bool = False,
          hardware: Hardware | None = None, start: Path | None = None, ask: Ask | None = None) -> RunFolder:
    """Train until the recipe's budget is spent. A run that stopped before goes on from its last checkpoint.

    `start`: a run or model folder whose weights are the first. `ask`: called at each evaluation; metrics.jsonl keeps its answer.
    """
    store, valid = open_data(data, "train"), open_if_there(data, "valid")
    check_tokenizer(recipe, store.tokenizer, str(store.folder))
    run = RunFolder(out)
    session = Session(recipe, store, valid, run, hardware)        # what can be wrong is found before the folder is made
    session.ask = ask
    begun = start_from(start, recipe, session.model, session.tokenizer) if start else {}
    check_same_start(run, begun)
    if not run.claim(recipe, store.data) and begun:
        run.sign(start=begun)
        say(f"{out}: trains {start} further")
    session.resume()
    if run.passport().get("finished") and session.trainer.spent() >= 1.0:
        more = ("A budget in steps, tokens or epochs would go on with it" if session.trainer.sated() else
                "A larger --budget would go on with it")
        say(f"{out}: this run is finished; nothing is left to do. {more}.")
    else:
        session.go(tensorboard)
    return run


class Session:
    """One sitting at a run: from its last checkpoint to the end of the budget, or to an interruption."""

    ticker: Ticker | None = None         # while it trains
    ask: Ask | None = None               # what else is asked at an evaluation

    def __init__(self, recipe: Recipe, store: Data, valid: Data | None, run: RunFolder, hardware: Hardware | None = None):
        self.recipe, self.store, self.valid, self.run, self.hardware = recipe, store, valid, run, hardware or Hardware()
        self.tokenizer = store.tokenizer
        spec = recipe.training
        torch.manual_seed(number_of("weights", spec.seed))
        model = model_for(recipe, store.vocabulary())
        self.prepare(model, cutter_over(store, recipe.batches, spec.batch_size, spec.seed))
        self.trainer.held_out = lambda: self.held_out(self.valid)

    def prepare(self, model: Any, cutter: Cutter) -> None:
        """What trains this model on these rows."""
        recipe, spec = self.recipe, self.recipe.training
        self.model, self.cutter = model, cutter
        self.learner: Learner = spec.learner(self.model, recipe.objective, self.tokenizer, self.hardware)
        ramp = getattr(spec, "ramp", None)
        growth = ramp.growth(spec.batch_size, recipe.batches.length) if ramp else None
        stream = Stream(self.cutter, self.learner.collate, spec.batch_size, growth=growth)
        batches = Ahead(stream) if self.hardware.prefetch else stream
        self.trainer = Trainer(self.learner, batches, Budget.parse(spec.budget), passes=spec.passes)
        self.board: Any = None
        self.enough = False          # there is nothing more to gain: it ends before its budget
        self.evaluating = 0.0        # seconds of this sitting

    def held_out(self, valid: Data | None) -> Iterator[Any]:
        """The same few batches of validation text every time; of a mixture, those of each source; nothing if there is none."""
        if valid is None:
            return
        if isinstance(valid, Mixture):
            for store in valid.stores:
                yield from self.held_out(store)
            return
        spec = self.recipe.training
        try:
            rows = self.recipe.batches.over(valid, 1, 0).epoch
        except Fault as fault:
            say(f"not evaluated: {fault.what}")
            return
        size = max(1, min(spec.batch_size, int(rows)))
        stream = Stream(self.recipe.batches.over(valid, size, 0), self.learner.collate, size)
        for step in range(max(1, min(spec.valid_batches, int(rows) // size))):
            yield stream.batch(step)

    def resume(self) -> None:
        found = self.run.latest()
        if found is None:
            self.run.forget_after(0)
            return
        tensors, progress = found
        self.learner.restore(tensors)
        self.trainer.progress = progress
        self.run.forget_after(progress.noted)
        say(f"{self.run.path}: goes on from step {progress.step:,} ({duration(progress.seconds)} of training so far)")

    def go(self, tensorboard: bool = False) -> None:
        spec, trainer = self.recipe.training, self.trainer
        self._introduce()
        if tensorboard:
            from torch.utils.tensorboard import SummaryWriter
            self.board = SummaryWriter(str(self.run.path / "tensorboard"))
        trainer.duties = [Duty(str(spec.log), self.log), Duty(spec.evaluate, self.evaluate), Duty(spec.save, self.save)]
        with ticking(self.recipe.name) as ticker, self._listening():
            self.ticker = ticker

            def watch(progress: Progress, spent: float, report: Report) -> None:
                pace = progress.tokens / max(progress.seconds, 1e-9)
                loss = f"loss {report.values['loss']:.3f}  " if "loss" in report.values else ""
                ticker.update(spent, f"step {progress.step:,}  {loss}{thousands(pace)} tokens/s")
            trainer.watch = watch
            try:
                finished = trainer.run()
            except RunFailed as failure:
                saved = self.run.checkpoints()
                good = f" The last good weights are in {saved[-1]}." if saved else " Nothing was saved before it."
                raise type(failure)(failure.what + good, failure.do) from failure
            finally:
                if isinstance(trainer.stream, Ahead):
                    trainer.stream.close()
        if not finished and not self.enough:
            self.save()
            raise Interrupted(f"stopped at step {trainer.progress.step:,}; all of it is saved in {self.run.path}.",
                              "The same command goes on from there.")
        self._finish()

    def log(self) -> None:
        progress = self.trainer.progress
        record = {**self.trainer.record(), "seconds": round(progress.seconds, 3)}
        if sources := self.sources():
            record["epochs"] = {source["name"]: source["epochs"] for source in sources}
        self._note(record)
        self._draw("train", record)

    def evaluate(self, anyway: bool = False) -> None:
        progress, clock = self.trainer.progress, self.trainer.clock
        by_the_clock = self.trainer.budget.unit == "seconds"
        if by_the_clock and not anyway and self.evaluating > EVALUATING * progress.seconds:
            return           # a few seconds are given for training; the last evaluation still comes
        began = clock()
        found, by_source = self.measure()
        asked = {"asked": self.ask(self.model, self.tokenizer)} if found and self.ask else {}
        self.evaluating += clock() - began
        if not found:
            return
        total = sum(found.values())
        best = math.isfinite(total) and (not progress.best or total < progress.best["valid"])
        record = {"step": progress.step, "tokens": progress.tokens, "valid": found, **by_source, **asked, "best": best}
        self._note(record)
        self._draw("valid", {"step": progress.step, **found})
        if best:
            progress.best = {"step": progress.step, "valid": total}
            self._publish()

    def measure(self) -> tuple[dict[str, float], dict[str, Any]]:
        """What held-out text costs; of a mixture the mean by shares, and what that of each source costs."""
        if not isinstance(self.valid, Mixture):
            return self.learner.measure(self.trainer.held_out()), {}
        each = {name: self.learner.measure(self.held_out(store)) for name, store in zip(self.valid.names, self.valid.stores)}
        return self.valid.mean(each), {"sources": {name: found for name, found in each.items() if found}}

    def sources(self) -> list[dict[str, Any]]:
        """What has been read of each source of a mixture so far: exact counts, nothing for a single store."""
        if not isinstance(self.store, Mixture) or not isinstance(self.cutter, MixtureCutter):
            return []
        rows = self.trainer.stream.rows(self.trainer.progress.step)
        return [{"name": name, "store": str(store.folder.resolve()), "weight": weight, "tokens": store.tokens,
                 "rows": drawn, "epochs": epochs} for name, store, weight, drawn, epochs in zip(
                     self.store.names, self.store.stores, self.store.weights, self.cutter.drawn(rows), self.cutter.epochs(rows))]

    def save(self) -> None:
        self.run.save(self.learner.save(), self.trainer.progress, self.recipe.training.keep)
        if not (self.run.model / "config.json").is_file() and isinstance(self.model, Model):
            self._publish()

    def _finish(self) -> None:
        progress = self.trainer.progress
        if progress.pending:
            self.log()
        if not any("valid" in record and record["step"] == progress.step for record in self.run.metrics()[-3:]):
            self.evaluate(anyway=True)
        if not progress.best:
            self._publish()          # nothing to choose by: the last weights are the model
        self.save()
        facts = {"step": progress.step, "tokens": progress.tokens, "seconds": round(progress.seconds, 1),
                 "best": progress.best, "finished": True}
        if sources := self.sources():
            facts["sources"] = sources
            say("read of each source: " + ", ".join(f"{one['name']} {one['epochs']:.2f} epochs" for one in sources))
        if isinstance(self.model, Model):
            count = self.model.parameter_count()
            facts |= {"parameters": count, "flops": 6 * count * progress.tokens}
        self.run.sign(**facts)
        if self.trainer.sated():
            say(f"the text was read {self.trainer.passes:g} times, and more would be learned by heart: it ends before its budget "
                f"of {self.recipe.training.budget} (training.passes). More text, or a larger network, would use the rest.")
        say(f"{self.recipe.name}: {thousands(progress.tokens)} tokens in {duration(progress.seconds)}; "
            f"model in {self.run.path / 'model'}")

    def _note(self, record: dict[str, Any]) -> None:
        self.run.note(record)
        self.trainer.progress.noted += 1

    def _publish(self) -> None:
        told = card(self.recipe, self.trainer.progress, self.store, self.sources())
        self.run.publish(self.recipe, self.model, self.tokenizer, told)

    def _introduce(self) -> None:
        vocabulary = self.tokenizer.name
        size = f"{thousands(self.model.parameter_count())} parameters" if isinstance(self.model, Model) else "counts"
        say(f"{self.recipe.name}{' ' + self.recipe.size if self.recipe.size else ''}: {size}, {vocabulary}, "
            f"{thousands(self.store.tokens)} tokens of training text, budget {self.recipe.training.budget}"
            + (f", on {self.hardware}" if isinstance(self.model, Model) else ""))
        if (meant := kind(self.recipe.tokenizer)) != self.tokenizer.kind:
            say(f"the recipe means a {meant} tokenizer; the store's {self.tokenizer.name} is used.")
        if isinstance(self.store, Mixture):
            say(str(self.store))
        if self.valid is None and isinstance(self.model, Model):
            say("there is no validation text: nothing is evaluated on the way, and the last weights are the model.")
        read = {"sources": self.sources()} if isinstance(self.store, Mixture) else {"store": str(self.store.folder.resolve())}
        self.run.sign(command=sys.argv, seed=self.recipe.training.seed, tokenizer=self.tokenizer.fingerprint,
                      **read, versions=versions(), hardware=str(self.hardware), finished=False)

    def _draw(self, group: str, record: dict[str, Any]) -> None:
        if self.board is None:
            return
        for name, value in record.items():
            if isinstance(value, float):
                self.board.add_scalar(f"{group}/{name}", value, record["step"])

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM ask for a stop after the step under way; a second Ctrl-C does not wait."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def asked(number: int, frame: Any) -> None:
            self.trainer.stopping = True
            signal.signal(signal.SIGINT, signal.default_int_handler)
            say("stopping after this step, and saving ...")

        before = {number: signal.signal(number, asked) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                with suppress(ValueError):
                    signal.signal(number, handler)


def versions() -> dict[str, str]:
    return {"foreword": VERSION, "torch": torch.__version__, "numpy": np.__version__,
            "python": platform.python_version()}
