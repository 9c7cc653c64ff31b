"""The protocol for small data: every setting with several seeds, dev chooses, and a mean is never said without its spread."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from foreword.basics.messages import Fault, Faults, did_you_mean
from foreword.basics.progress import say
from foreword.runs.folder import RunFolder
from foreword.runs.opening import open_model
from foreword.tasks.example import Example
from foreword.tasks.intervals import bootstrap
from foreword.tasks.judging import METRICS
from foreword.tasks.labelled import Labelled
from foreword.tasks.metrics import Interval, value
from foreword.training.hardware import Hardware
from foreword.transfer import baselines
from foreword.transfer.finetune import PUBLISHED, Tuning, finetune
from foreword.transfer.start import INITS
from foreword.transfer.subset import subset

RATES, BATCHES = (2e-5, 3e-5, 5e-5), (16, 32)        # Devlin et al. 2018, appendix A.3
AGAIN = 1000                                         # a restart's seed is so much larger, that it is no other run's
UNKNOWN = (math.nan, math.nan)


@dataclass(frozen=True)
class Plan:
    """What is tried, and how often."""

    seeds: int = 5
    grid: bool = False                               # the papers' rates and batch sizes, in the place of one of each
    curve: tuple[int | None, ...] = ()               # numbers of labels; None: all. Empty: the one of the tuning
    restarts: int = 0                                # of a seed that collapsed
    compare: str = ""                                # another beginning, with the same seeds
    ensemble: bool = False

    def check(self, task: Labelled, how: Tuning, out: Path) -> None:
        wrong = [
            (self.seeds < 1, f"--seeds {self.seeds}: there must be at least one.", ""),
            (self.restarts < 0, f"--restarts {self.restarts}: it cannot be fewer than none.", ""),
            (self.grid and how.learning_rate is not None, "--grid tries its own rates.", "Leave out --learning-rate or --grid."),
            (self.curve and how.labels is not None, "--curve says the numbers of labels.", "Leave out --labels or --curve."),
            (self.compare and self.compare not in INITS,
             f"--compare must be one of {', '.join(INITS)}.{did_you_mean(self.compare, INITS)}", ""),
            (self.compare == how.init, f"--compare {self.compare}: that is what it is compared with.", "Name another beginning."),
            (self.ensemble and task.kind not in TOGETHER, f"there is no ensemble for {task.learn.in_words}.",
             f"It is for {', '.join(TOGETHER)}."),
            (RunFolder(out).exists(), f"{out} is itself a run; several would be mixed with it.", "Choose another --out.")]
        faults = [Fault(what, do) for holds, what, do in wrong if holds]
        for size in self.sizes(how):
            try:
                subset(task, size, how.seed)
            except Fault as fault:
                faults.append(fault)
        if faults:
            raise Faults(faults)

    def sizes(self, how: Tuning) -> tuple[int | None, ...]:
        return self.curve or (how.labels,)


def curve_of(text: str) -> tuple[int | None, ...]:
    """'16,64,all' -> (16, 64, None)."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words or not all(word == "all" or (word.isdecimal() and int(word)) for word in words):
        raise Fault(f"--curve {text}: it must be numbers of labels, parted by commas, and 'all'.", "For instance: 16,64,256,all")
    return tuple(dict.fromkeys(None if word == "all" else int(word) for word in words))


@dataclass(frozen=True)
class Try:
    """One seed of one setting."""

    seed: int
    dev: float
    test: float
    answers: tuple[Any, ...]                         # of test
    collapsed: bool = False                          # its first run was no better on dev than knowing nothing
    steps: int = 0
    run: Path | None = None


@dataclass(frozen=True)
class Row:
    """One setting, all its seeds. What was not chosen on dev has no say about test."""

    name: str
    labels: int | None                               # None: all
    tries: tuple[Try, ...]
    rate: float | None = None
    batch: int | None = None
    chosen: bool = True
    over_examples: Interval = UNKNOWN                # of the mean over seeds, were other examples drawn for test

    @property
    def dev(self) -> float:
        return float(np.mean([one.dev for one in self.tries]))

    @property
    def tests(self) -> list[float]:
        return [one.test for one in self.tries]

    @property
    def test(self) -> float:
        return float(np.mean(self.tests))

    @property
    def spread(self) -> float:
        return spread(self.tests)

    @property
    def over_seeds(self) -> Interval:
        return over_seeds(self.tests)

    @property
    def collapsed(self) -> int:
        return sum(one.collapsed for one in self.tries)

    @property
    def median(self) -> Try:
        """The seed in the middle on dev."""
        return sorted(self.tries, key=lambda one: (one.dev, one.seed))[(len(self.tries) - 1) // 2]


@dataclass(frozen=True)
class Apart:
    """How much better one row is than another on test, seed by seed."""

    labels: int | None
    name: str
    minus: str
    each: tuple[float, ...]
    over_examples: Interval

    @property
    def mean(self) -> float:
        return float(np.mean(self.each))

    @property
    def over_seeds(self) -> Interval:
        return over_seeds(self.each)


@dataclass(frozen=True)
class Study:
    task: Labelled
    rows: tuple[Row, ...]                            # as they are to be read: settings, ensembles, TF-IDF, knowing nothing
    apart: tuple[Apart, ...]
    floor: float                                     # what knowing nothing is worth on dev: who is not above it has collapsed

    @property
    def metric(self) -> str:
        return self.task.metrics[0]

    def find(self, name: str) -> list[Row]:
        """The chosen rows of this name, one for each number of labels."""
        return [row for row in self.rows if row.name == name and row.chosen]


def study(model: str | Path, task: Labelled, out: Path, how: Tuning | None = None, plan: Plan | None = None,
          hardware: Hardware | None = None) -> Study:
    """Run after run, each in a folder of its own below `out`. What is finished is not done again."""
    how, plan = how or Tuning(), plan or Plan()
    how.check()
    plan.check(task, how, out)
    return Work(model, task, out, how, plan, hardware).done()


class Work:
    def __init__(self, model: str | Path, task: Labelled, out: Path, how: Tuning, plan: Plan, hardware: Hardware | None):
        self.model, self.task, self.out, self.how, self.plan, self.hardware = model, task, out, how, plan, hardware
        self.worth = Worth(task)
        self.nothing = self.knowing_nothing()
        self.seeds = range(how.seed, how.seed + plan.seeds)
        self.cells = self.grid()
        self.begun, self.all = 0, len(plan.sizes(how)) * (1 + bool(plan.compare)) * len(self.cells) * plan.seeds

    def done(self) -> Study:
        rows: list[Row] = []
        apart: list[Apart] = []
        sizes = self.plan.sizes(self.how)
        counted = {size: self.counted(size) for size in sizes if self.task.kind in baselines.KINDS}     # before what takes long
        for size in sizes:
            mine = self.settings(self.how.init, size)
            others = self.settings(self.plan.compare, size) if self.plan.compare else []
            beside = [counted[size]] if size in counted else []
            rows += [*mine, *others, *([self.ensemble(_chosen(mine))] if self.plan.ensemble else []), *beside]
            against = [*([_chosen(others)] if others else []), *beside]
            apart += [self.worth.apart(_chosen(mine), other) for other in against]
        return Study(self.task, (*rows, self.nothing), tuple(apart), self.nothing.dev)

    def grid(self) -> list[tuple[float | None, int]]:
        if not self.plan.grid:
            return [(self.how.learning_rate, self.how.batch_size)]
        wider = max(1.0, PUBLISHED / open_model(self.model).recipe.values()["network"]["width"])
        return [(rate * wider, batch) for rate, batch in itertools.product(RATES, BATCHES)]

    def settings(self, init: str, size: int | None) -> list[Row]:
        """A row for each cell of the grid; the one that is best on dev is chosen, of equals the first."""
        rows = []
        for rate, batch in self.cells:
            how = replace(self.how, init=init, labels=size, learning_rate=rate, batch_size=batch)
            tries = tuple(self.attempt(how, seed) for seed in self.seeds)
            said = RunFolder(tries[0].run).recipe().training if tries[0].run else None
            rows.append(Row(init, size, tries, said.optimizer.learning_rate if said else rate, batch))   # type: ignore[attr-defined]
        best = max(rows, key=lambda row: row.dev)
        return [self.worth.bounded(row) if row is best else replace(row, chosen=False) for row in rows]

    def folder(self, how: Tuning) -> Path:
        """What differs among the runs of this study is in their folders' names."""
        parts = [f"labels-{how.labels or 'all'}"] if self.plan.curve else []
        parts += [how.init] if how.init != self.how.init else []
        parts += [f"rate-{how.learning_rate:.2e}-batch-{how.batch_size}"] if self.plan.grid else []
        return self.out.joinpath(*parts)

    def attempt(self, how: Tuning, seed: int) -> Try:
        self.begun += 1
        rate = "" if how.learning_rate is None else f", rate {how.learning_rate:.2g}"
        setting = f"{how.init}, {how.labels or 'all'} labels{rate}, batch {how.batch_size}"
        say(f"run {self.begun} of {self.all}: {setting}, seed {seed}")
        folder, how = self.folder(how), replace(how, seed=seed)
        found = first = self.read(finetune(self.model, self.task, folder / f"seed-{seed}", how, self.hardware))
        for again in range(1, self.plan.restarts + 1):
            if not found.collapsed:
                break
            say(f"seed {seed} is no better on dev than knowing nothing: restart {again} of {self.plan.restarts}")
            same = replace(self.task, train=subset(self.task, how.labels, seed))        # other chance, the same examples
            other = replace(how, labels=None, seed=seed + AGAIN * again)
            found = self.read(finetune(self.model, same, folder / f"seed-{seed}-again-{again}", other, self.hardware))
        return replace(found, seed=seed, collapsed=first.collapsed)

    def read(self, run: RunFolder) -> Try:
        """What a finished run is worth."""
        passport, metric = run.passport(), self.task.metrics[0]
        dev = passport["scores"]["dev"][metric]["value"]
        answers = tuple(line["answer"] for line in predictions(run, "test"))
        return Try(passport["seed"], dev, self.worth.of(answers), answers, dev <= self.nothing.dev, passport["step"], run.path)

    def knowing_nothing(self) -> Row:
        constant = NOTHING[self.task.kind](self.task.train)
        name = "mean" if self.task.kind == "similarity" else "majority" if self.task.kind in baselines.KINDS else "nothing"
        answers = tuple(constant(example) for example in self.task.test)
        dev = self.worth.of([constant(example) for example in self.task.dev], self.task.dev)
        return self.worth.bounded(Row(name, None, (Try(0, dev, self.worth.of(answers), answers),)))

    def counted(self, size: int | None) -> Row:
        """TF-IDF and a regression on the very examples that each seed has."""
        tries = []
        for seed in self.seeds if size is not None else self.seeds[:1]:
            found = baselines.words(replace(self.task, train=subset(self.task, size, seed)))
            tries.append(Try(seed, found.dev[0].value, found.test[0].value, found.predictions))
        return self.worth.bounded(Row("TF-IDF", size, tuple(tries)))

    def ensemble(self, row: Row) -> Row:
        """The mean of what all seeds say."""
        runs = [RunFolder(one.run) for one in row.tries if one.run]
        said = {}
        for split in ("dev", "test"):
            said[split] = [TOGETHER[self.task.kind](lines) for lines in zip(*(predictions(run, split) for run in runs))]
        answers = tuple(said["test"])
        one = Try(row.tries[0].seed, self.worth.of(said["dev"], self.task.dev), self.worth.of(answers), answers)
        return self.worth.bounded(Row("ensemble", row.labels, (one,), row.rate, row.batch))


def _chosen(rows: Sequence[Row]) -> Row:
    return next(row for row in rows if row.chosen)


def predictions(run: RunFolder, split: str) -> list[dict[str, Any]]:
    lines = (run.path / "predictions.jsonl").read_text(encoding="utf-8").split("\n")
    return [one for one in map(json.loads, filter(None, lines)) if one["split"] == split]


class Worth:
    """What answers on test are worth by the task's first metric, and how sure that is."""

    def __init__(self, task: Labelled):
        self.examples = task.test
        self.measure = METRICS[task.metrics[0]](task.labels)

    def of(self, answers: Sequence[Any], examples: Sequence[Example] | None = None) -> float:
        judged = self.measure.judge(self.examples if examples is None else examples, answers)
        return value(self.measure.metric, judged) if judged else 0.0

    def bounded(self, row: Row) -> Row:
        judged = [self.measure.judge(self.examples, one.answers) for one in row.tries]
        if not judged[0]:
            return row
        bounds = self.measure.metric.interval(judged[0]) if len(judged) == 1 else self._resampled(judged, [])
        return replace(row, over_examples=bounds)

    def apart(self, row: Row, other: Row) -> Apart:
        """Of the same seeds where both have them; a row with one try is set beside every one."""
        theirs = list(other.tries) * (len(row.tries) if len(other.tries) == 1 else 1)
        mine, others = ([self.measure.judge(self.examples, one.answers) for one in tries] for tries in (row.tries, theirs))
        each = tuple(one.test - another.test for one, another in zip(row.tries, theirs, strict=True))
        return Apart(row.labels, row.name, other.name, each, self._resampled(mine, others) if mine[0] else UNKNOWN)

    def _resampled(self, mine: Sequence[Sequence[Any]], others: Sequence[Sequence[Any]]) -> Interval:
        """The same examples are drawn for every seed of both."""
        metric = self.measure.metric
        columns = [metric.columns(judged) for judged in (*mine, *others)]
        shares = np.asarray([1 / len(mine)] * len(mine) + [-1 / max(len(others), 1)] * len(others))

        def statistic(sums: np.ndarray, examples: int) -> np.ndarray:
            parts = np.split(sums, len(columns), axis=-1)
            return shares @ np.stack([metric.of(part, examples) for part in parts])

        return bootstrap(np.concatenate(columns, 1), statistic)


def spread(numbers: Sequence[float]) -> float:
    """The standard deviation of what these are a sample of; not a number for one alone."""
    return float(np.std(numbers, ddof=1)) if len(numbers) > 1 else math.nan


def over_seeds(numbers: Sequence[float]) -> Interval:
    """Where the mean over all seeds lies (95%, Student's t), given so many of them."""
    if len(numbers) < 2:
        return UNKNOWN
    half = baselines.library("scipy.stats").t.ppf(0.975, len(numbers) - 1) * spread(numbers) / math.sqrt(len(numbers))
    middle = float(np.mean(numbers))
    return middle - float(half), middle + float(half)


# --- answers without a model, and of several models -------------------------------------------------------------------

Constant = Callable[[Example], Any]


def _commonest(train: Sequence[Example]) -> Constant:
    most = Counter(example.label for example in train).most_common(1)[0][0]
    return lambda example: most


def _mean(train: Sequence[Example]) -> Constant:
    mean = float(np.mean([float(example.label) for example in train]))        # type: ignore[arg-type]
    return lambda example: mean


def _same_tag(train: Sequence[Example]) -> Constant:
    most = Counter(tag for example in train for tag in example.label).most_common(1)[0][0]      # type: ignore[union-attr]
    return lambda example: [most] * len(example.words)


NOTHING: dict[str, Callable[[Sequence[Example]], Constant]] = {
    "classify": _commonest, "pair": _commonest, "similarity": _mean, "choice": _commonest, "tag": _same_tag,
    "span": lambda train: lambda example: "", "rank": lambda train: lambda example: 0.0,
}


def _likeliest(lines: Sequence[dict[str, Any]]) -> str:
    return max(lines[0]["scores"], key=lambda name: sum(line["scores"][name] for line in lines))


def _average(lines: Sequence[dict[str, Any]]) -> float:
    return float(np.mean([line["answer"] for line in lines]))


TOGETHER: dict[str, Callable[[Sequence[dict[str, Any]]], Any]] = {
    "classify": _likeliest, "pair": _likeliest, "choice": lambda lines: int(_likeliest(lines)),
    "similarity": _average, "rank": _average,
}
