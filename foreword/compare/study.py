"""Studies of fine-tuning: every setting with several seeds, dev chooses, and no mean without its spread."""

from __future__ import annotations

import itertools
import math
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

from foreword import load
from foreword.basics.messages import Diverged
from foreword.basics.progress import say
from foreword.basics.spec import of_kind
from foreword.compare.contenders import Contender, Plan, beside_counts, contenders
from foreword.compare.parallel import JobRunner, TimedRun
from foreword.compare.significance import Difference, Result, SeedResult, Significance
from foreword.networks.features import trunk_of
from foreword.runs.folder import RunFolder
from foreword.runs.opening import open_model
from foreword.tasks.example import Example
from foreword.tasks.labelled_task import LabelledTask
from foreword.training.gradient import GradientTraining
from foreword.training.hardware import Hardware
from foreword.transfer import baselines
from foreword.transfer.finetune import PUBLISHED, finetune, finetune_run
from foreword.transfer.first_model import LabelledFit, fit_labels
from foreword.transfer.kinds import transfer_kind_of
from foreword.transfer.kinds.base import read_predictions
from foreword.transfer.label_subset import label_subset, with_permuted_labels
from foreword.transfer.labelled_run import LabelledWorkload
from foreword.transfer.tuning import FinetuneSettings

RATES, BATCHES = (2e-5, 3e-5, 5e-5), (16, 32)  # Devlin et al. 2018, appendix A.3
AGAIN = 1000  # a restart's seed is so much larger, that it is no other run's


@dataclass(frozen=True)
class Study:
    task: LabelledTask
    results: tuple[Result, ...]  # as in the table: settings, ensembles, baselines, a constant answer
    differences: tuple[Difference, ...]
    floors: dict[int | None, float]  # by labels: who is not above it on dev has collapsed
    kept: Path | None = None  # the run whose model was kept

    @property
    def metric(self) -> str:
        return self.task.metrics[0]

    def find(self, name: str) -> list[Result]:
        """The chosen rows of this name, one for each number of labels."""
        return [row for row in self.results if row.name == name and row.chosen]


def study(
    model: str | Path,
    task: LabelledTask,
    out: Path,
    how: FinetuneSettings | None = None,
    plan: Plan | None = None,
    hardware: Hardware | None = None,
) -> Study:
    """Run after run, each in a folder of its own below `out`. What is finished is not done again."""
    how, plan = how or FinetuneSettings(), plan or Plan()
    how.check()
    plan.check(Path(model), task, how, out)
    with JobRunner(task, hardware, plan.cluster) as runs:
        runs.hardware.ranks.first_writes(out)
        return StudyRunner(contenders(Path(model), task, how, plan), runs, out, how, plan).run()


class Best(NamedTuple):
    labels: float
    dev: float
    run: Path


@dataclass(frozen=True)
class FinetuneJob:
    """One run: which model, on which of the examples, where."""

    model: Path
    folder: Path
    how: FinetuneSettings
    seed: int  # that draws the examples; a restart keeps it
    shuffled_labels: bool = False

    def task(self, whole: LabelledTask) -> LabelledTask:
        some = label_subset(whole, self.how.labels, self.seed)
        return with_permuted_labels(some, self.seed) if self.shuffled_labels else some

    def run(self, whole: LabelledTask, hardware: Hardware) -> RunFolder:
        if not beside_counts(self.model, self.how):
            return finetune(self.model, self.task(whole), self.folder, self.how, hardware)
        run = RunFolder(self.folder)
        if not run.passport().get("finished"):
            shutil.rmtree(self.folder, ignore_errors=True)  # what was interrupted took seconds
            fit_labels(str(self.model), self.task(whole), self.folder, LabelledFit(seed=self.how.seed))
        return run

    def trial(self, whole: LabelledTask, hardware: Hardware) -> TimedRun | None:
        if beside_counts(self.model, self.how):
            return None
        loop = finetune_run(self.model, self.task(whole), RunFolder(Path(os.devnull)), self.how, hardware)
        assert isinstance(loop.workload, LabelledWorkload)
        return TimedRun(loop, loop.workload.tokens(loop))


class StudyRunner:
    """Every contender with every seed and number of labels, and the baselines."""

    def __init__(
        self,
        contenders: Sequence[Contender],
        runs: JobRunner[LabelledTask],
        out: Path,
        how: FinetuneSettings,
        plan: Plan,
    ):
        task = runs.data
        self.contenders, self.runs, self.task, self.out, self.plan = contenders, runs, task, out, plan
        self.sizes = plan.sizes(how)
        self.significance = Significance(task)
        self.constant_answer = task.learn.constant_answer(task.train)
        self.majority = self.constant_result()
        self.floors = {size: self.floor(label_subset(task, size, how.seed).dev) for size in self.sizes}
        self.seeds = range(how.seed, how.seed + plan.seeds)
        self.cells = {one.model: self.grid(one) for one in contenders}
        self.begun, self.all = 0, plan.seeds * len(self.sizes) * sum(len(self.cells[one.model]) for one in contenders)
        self.best: Best | None = None  # of the first contender

    def run(self) -> Study:
        rows: list[Result] = []
        apart: list[Difference] = []
        simple = {size: self.baseline_results(size) for size in self.sizes}  # before what takes long
        self.runs.start(
            (
                self.job(one, how, seed)
                for size in self.sizes
                for one in self.contenders
                for how in self.grid_settings(one, size)
                for seed in self.seeds
            ),
            self.plan.jobs,
        )
        for size in self.sizes:
            settings = [self.settings(one, size) for one in self.contenders]
            first, *others = map(_chosen, settings)
            together = [self.ensemble(first)] if self.plan.ensemble else []
            rows += [*itertools.chain(*settings), *together, *simple[size]]
            apart += [self.significance.difference(first, other) for other in (*others, *simple[size])]
        return Study(self.task, (*rows, self.majority), tuple(apart), self.floors, self.best.run if self.best else None)

    def grid(self, one: Contender) -> list[tuple[float | None, int]]:
        if beside_counts(one.model, one.how):
            return [(None, one.how.batch_size)]  # of word vectors, cross-validation within the labels chooses
        if not self.plan.grid:
            return [(rate, one.how.batch_size) for rate in self.plan.rates or (one.how.learning_rate,)]
        wider = max(1.0, PUBLISHED / trunk_of(open_model(one.model).recipe.network).width)
        return [(rate * wider, batch) for rate, batch in itertools.product(self.task.learn.rates or RATES, BATCHES)]

    def settings(self, one: Contender, size: int | None) -> list[Result]:
        """A row for each cell of the grid; the one that is best on dev is chosen, of equals the first."""
        rows = []
        for how in self.grid_settings(one, size):
            seeds = tuple(self.attempt(one, how, seed) for seed in self.seeds)
            rate, batch = self.rate_and_batch(one, how, seeds[0])
            rows.append(Result(one.name, size, seeds, rate, batch, layers=one.layers))
        best = max(rows, key=lambda row: row.dev)
        return [self.significance.bounded(row) if row is best else replace(row, chosen=False) for row in rows]

    def rate_and_batch(
        self, one: Contender, how: FinetuneSettings, found: SeedResult
    ) -> tuple[float | None, int | None]:
        if beside_counts(one.model, one.how):
            return None, None
        said = RunFolder(found.run).recipe().training if found.run else None
        return of_kind(said, GradientTraining).optimizer.learning_rate if said else how.learning_rate, how.batch_size

    def grid_settings(self, one: Contender, size: int | None) -> list[FinetuneSettings]:
        return [
            replace(one.how, labels=size, learning_rate=rate, batch_size=batch) for rate, batch in self.cells[one.model]
        ]

    def job(self, one: Contender, how: FinetuneSettings, seed: int, again: int = 0) -> FinetuneJob:
        """A restart has other chance and the same examples."""
        folder = self.folder(one, how) / (f"seed-{seed}-again-{again}" if again else f"seed-{seed}")
        return FinetuneJob(one.model, folder, replace(how, seed=seed + AGAIN * again), seed, one.shuffled_labels)

    def folder(self, one: Contender, how: FinetuneSettings) -> Path:
        """What differs among the runs of this study is in their folders' names."""
        parts = [f"labels-{how.labels or 'all'}"] if self.plan.curve else []
        parts += [one.place] if one.place else []
        parts += [f"rate-{how.learning_rate:.2e}-batch-{how.batch_size}"] if self.plan.grid or self.plan.rates else []
        return self.out.joinpath(*parts)

    def attempt(self, one: Contender, how: FinetuneSettings, seed: int) -> SeedResult:
        self.begun += 1
        rate = "" if how.learning_rate is None else f", rate {how.learning_rate:.2g}"
        setting = f"{one.name}, {how.labels or 'all'} labels{rate}, batch {how.batch_size}"
        say(f"run {self.begun} of {self.all}: {setting}, seed {seed}")
        seeds: list[SeedResult] = []
        for again in range(self.plan.restarts + 1):
            if again:
                say(
                    f"seed {seed} is no better on dev than one answer to everything: restart {again} of {self.plan.restarts}"
                )
            seeds.append(self.result(one, self.job(one, how, seed, again)))
            if not seeds[-1].collapsed:
                break
        return replace(seeds[-1], seed=seed, collapsed=seeds[0].collapsed, diverged=seeds[0].diverged)

    def result(self, one: Contender, job: FinetuneJob) -> SeedResult:
        """A run's scores; if it diverged, those of one answer to everything."""
        folder, how = job.folder, job.how
        floor = self.floors[how.labels]
        try:
            run = self.runs.take(job)
        except Diverged:
            say(f"{folder}: diverged. It has collapsed, and counts as one answer to everything.")
            run, constant = RunFolder(folder), self.majority.seeds[0]
            found = replace(constant, seed=how.seed, dev=floor, collapsed=True, run=folder, diverged=True)
        else:
            passport = run.passport()
            dev = passport["scores"]["dev"][self.task.metrics[0]]["value"]
            answers = tuple(line["answer"] for line in read_predictions(run.path))
            found = SeedResult(
                how.seed, dev, self.significance.of(answers), answers, dev <= floor, passport["step"], run.path
            )
        self.keep(found, run, one is self.contenders[0], how.labels)
        return found

    def keep(self, found: SeedResult, run: RunFolder, first: bool, labels: int | None) -> None:
        """Answers and scores of every run; weights only of the best on dev with most labels."""
        shutil.rmtree(run.path / "checkpoints", ignore_errors=True)
        mine, before = Best(labels or math.inf, found.dev, run.path), self.best
        unwanted: Best | None = mine
        if first and not found.diverged and (before is None or mine[:2] > before[:2]):
            unwanted, self.best = before, mine
        if unwanted:
            shutil.rmtree(unwanted.run / "model", ignore_errors=True)

    def constant_result(self) -> Result:
        answers = tuple(self.constant_answer(example) for example in self.task.test)
        one = SeedResult(0, self.floor(self.task.dev), self.significance.of(answers), answers)
        return self.significance.bounded(Result(self.task.learn.constant, None, (one,)))

    def floor(self, dev: Sequence[Example]) -> float:
        return self.significance.of([self.constant_answer(example) for example in dev], dev)

    def baseline_results(self, size: int | None) -> list[Result]:
        """Fitted on the examples that each seed has: on TF-IDF, on the models' embeddings; or a rule on words."""
        kind = transfer_kind_of(self.task.kind)
        embedded: list[Callable[[LabelledTask], baselines.Baseline]] = (
            [partial(baselines.vectors, embed=embed, name=name) for name, embed in self.embeddings.items()]
            if kind.regresses
            else []
        )
        return [self.fitted(fit, size) for fit in (kind.baseline, *embedded)]

    def fitted(self, fit: Callable[[LabelledTask], baselines.Baseline], size: int | None) -> Result:
        seeds = []
        for seed in self.seeds if size is not None else self.seeds[:1]:
            found = fit(label_subset(self.task, size, seed))
            seeds.append(SeedResult(seed, found.dev[0].value, found.test[0].value, found.predictions))
        return self.significance.bounded(Result(found.name, size, tuple(seeds)))

    @cached_property
    def embeddings(self) -> dict[str, baselines.Embed]:
        """By the names of their rows, one for each model."""
        names: dict[Path, str] = {}
        for one in self.contenders:
            names.setdefault(one.model, one.name)
        several = len(names) > 1
        return {
            f"bag of features, {name}" if several else "bag of features": baselines.remembered(load(model).embed)
            for model, name in names.items()
        }

    def ensemble(self, row: Result) -> Result:
        """The mean of the predictions of all seeds that finished."""
        runs = [run for one in row.seeds if one.run and (run := RunFolder(one.run)).passport().get("finished")]
        combined, lines = (
            transfer_kind_of(self.task.kind).combined,
            {split: zip(*(read_predictions(run.path, split) for run in runs)) for split in ("dev", "test")},
        )
        if not runs:
            return replace(self.majority, name="ensemble", labels=row.labels)
        dev = self.significance.of(list(map(combined, lines["dev"])), label_subset(self.task, row.labels, 0).dev)
        answers = tuple(map(combined, lines["test"]))
        one = SeedResult(row.seeds[0].seed, dev, self.significance.of(answers), answers)
        return self.significance.bounded(Result("ensemble", row.labels, (one,), row.rate, row.batch))


def _chosen(rows: Sequence[Result]) -> Result:
    return next(row for row in rows if row.chosen)
