"""A study of training: arms of their own settings, or a recipe with several values of some; every one with the same seeds."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from foreword.assembly import loader
from foreword.assembly.build import check_marks, check_tokenizer
from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject
from foreword.basics.messages import Diverged, Fault, RunFailed
from foreword.basics.progress import say
from foreword.compare.contenders import combinations, short_name
from foreword.compare.parallel import JobRunner, TimedRun
from foreword.evaluate.held_out import Corpus, score_corpus
from foreword.evaluate.hidden_tokens import nats_per_hidden_token
from foreword.report import Report, Section, Table
from foreword.runs.folder import RunFolder
from foreword.runs.opening import TrainedModel
from foreword.runs.train import text_run, train
from foreword.tasks.confidence import UNKNOWN, Interval, bootstrap, over_seeds, spread
from foreword.tasks.metrics import Mean, between, finite, finite_bounds
from foreword.tokens.store import TokenStore
from foreword.training.gradient import GradientTraining
from foreword.training.hardware import Hardware

UNIT = "nats per guess on validation text"
TEST_BYTES = 200_000  # of held-out text, on which arms are compared
HIDDEN = 0.15  # share of its tokens that encoders are asked for
FEWEST = 10  # documents; fewer say nothing of others
NATS = Mean(1.0, 4)


@dataclass(frozen=True)
class TrainingJob:
    """One combination of values, one seed."""

    values: tuple[str, ...]  # settings, as --set takes them
    seed: int
    recipe: Recipe
    folder: Path
    arm: str = ""  # its name, where there are several

    def run(self, data: Path, hardware: Hardware) -> RunFolder:
        return train(self.recipe, data, self.folder, hardware=hardware)

    def trial(self, data: Path, hardware: Hardware) -> TimedRun:
        store = TokenStore.open(data, "train")
        return TimedRun(text_run(self.recipe, store, store, RunFolder(Path(os.devnull)), hardware))


@dataclass(frozen=True)
class Trained:
    """One combination of values with all its seeds; the lower the better."""

    values: tuple[str, ...]
    seeds: tuple[float, ...]  # the best evaluation of each; of several arms, the score of each on test
    arm: str = ""  # its name, where there are several
    facts: tuple[str, ...] = ()  # of its first run: parameters, tokens read, core-seconds
    documents: np.ndarray | None = field(default=None, compare=False)  # [documents, 2]: bits, mean over seeds, and size

    @property
    def name(self) -> str:
        return "  ".join(filter(None, [self.arm, *self.values])) or "as it is"

    @property
    def mean(self) -> float:
        return sum(self.seeds) / len(self.seeds)


def training_jobs(
    name: str, size: str, settings: Sequence[str], vary: Sequence[str], seeds: Sequence[int], out: Path
) -> list[TrainingJob]:
    """Every combination with every seed; each recipe is checked before the first one runs."""
    if not seeds:
        raise Fault("--seeds: give at least one.")
    return [
        TrainingJob(
            values,
            seed,
            loader.load(name, size, [*settings, *values, f"training.seed={seed}"]),
            out / "_".join(filter(None, [short_name(values), f"seed-{seed}"])),
        )
        for values in combinations(vary)
        for seed in seeds
    ]


class Arm(NamedTuple):
    """A recipe with its size (gpt2:laptop), and what is its own."""

    recipe: str
    settings: Sequence[str] = ()
    budget: str = ""


def arm_jobs(
    arms: Mapping[str, Arm], settings: Sequence[str], budget: str, seeds: Sequence[int], out: Path
) -> list[TrainingJob]:
    """Every arm with every seed. A budget is for those that learn by steps; counts are made once."""
    found = []
    for arm, one in arms.items():
        name, _, size = one.recipe.partition(":")
        counts = not isinstance(loader.load(name, size).training, GradientTraining)
        budget_of = one.budget or budget
        own = [*settings, *one.settings, *([] if counts or not budget_of else [f'training.budget="{budget_of}"'])]
        for seed in seeds[:1] if counts else seeds:
            recipe = loader.load(name, size, [*own, f"training.seed={seed}"])
            found.append(TrainingJob((), seed, recipe, out / f"{arm}_seed-{seed}", arm))
    measured(found)
    return found


def named_arms(words: Sequence[str]) -> dict[str, Arm]:
    """['lstm:laptop', 'gpt2:laptop'] -> arms with the names of the recipes; with their sizes, where one recipe has several."""
    short = [Path(word.partition(":")[0]).stem for word in words]
    return {name if short.count(name) == 1 else word.replace(":", "-"): Arm(word) for name, word in zip(short, words)}


def measured(jobs: Sequence[TrainingJob]) -> str:
    """What all arms can be compared in: "score" (bits per byte) if each scores a text, else "fill" (hidden tokens)."""
    abilities = {job.arm: job.recipe.abilities() for job in jobs}
    common = frozenset.intersection(*abilities.values())
    if chosen := next((one for one in ("score", "fill") if one in common), ""):
        return chosen
    odd = next((arm for arm, can in abilities.items() if not {"score", "fill"} & can), "")
    why = f"{odd} does neither" if odd else f"{', '.join(abilities)} do not all do the same"
    raise Fault(
        f"arms are compared by how they score a text or fill hidden tokens; {why}.",
        "A study of [starts.NAME] with a task compares what they are worth to a classifier.",
    )


def training_study(
    jobs: Sequence[TrainingJob],
    data: Path,
    parallel: int | None = None,
    hardware: Hardware | None = None,
    cluster: str = "",
) -> list[Trained]:
    """Train them all, the best combination first. Runs that an interrupted call finished are not repeated."""
    store = TokenStore.open(data, "train")
    for recipe in {(job.arm, job.values): job.recipe for job in jobs}.values():
        check_tokenizer(recipe, store.tokenizer, str(data))
        check_marks(recipe, [store])
    measure = measure_of(jobs, data)
    failed, found = [], dict[tuple[str, tuple[str, ...]], list[float]]()
    facts: dict[str, tuple[str, ...]] = {}
    each: dict[str, list[np.ndarray]] = {}
    with JobRunner(data, hardware, cluster) as runs:
        runs.hardware.ranks.first_writes(jobs[0].folder.parent)
        runs.start(jobs, parallel)
        for job in jobs:
            try:
                run = runs.take(job)
                loss, documents = measure.of(run)
            except Diverged:
                failed.append(job.folder.name)
                continue
            found.setdefault((job.arm, job.values), []).append(loss)
            facts.setdefault(job.arm, facts_of(run) if job.arm else ())
            each.setdefault(job.arm, []).extend([] if documents is None else [documents])
            say(f"{job.folder.name}: {loss:.4f} {measure.unit}")
    if failed:
        raise RunFailed(
            f"{len(failed)} of {len(jobs)} runs diverged: {', '.join(failed[:5])}.",
            f"Try a smaller learning rate. The others are in {jobs[0].folder.parent}.",
        )
    every = (
        Trained(values, tuple(losses), arm, facts[arm], np.mean(each[arm], 0) if each[arm] else None)
        for (arm, values), losses in found.items()
    )
    return sorted(every, key=lambda one: one.mean)


def best_loss(run: RunFolder) -> float:
    best = run.passport().get("best") or {}
    return float(best.get("valid", float("nan")))


class Measured(NamedTuple):
    """The lower the better; with the bits and the size of each document [documents, 2], if it is of text."""

    value: float
    documents: np.ndarray | None = None


class Yardstick(NamedTuple):
    """By what runs are compared."""

    unit: str
    of: Callable[[RunFolder], Measured]


def over_documents(one: Trained, other: Trained) -> Interval:
    """Where the difference lies, were other documents drawn for the test: the same for both."""
    if one.documents is None or other.documents is None or len(one.documents) < FEWEST:
        return UNKNOWN
    columns = np.stack([one.documents[:, 0] - other.documents[:, 0], one.documents[:, 1]], 1)
    return bootstrap(columns, lambda sums, documents: sums[:, 0] / np.maximum(sums[:, 1], 1))


def measure_of(jobs: Sequence[TrainingJob], data: Path) -> Yardstick:
    """Several arms are compared on test text, which no seed was chosen by: in bits per byte (per token, if the tokenizer
    loses some of it); encoders on the same hidden tokens."""
    if not jobs[0].arm:
        return Yardstick(UNIT, lambda run: Measured(best_loss(run)))
    text, corpus = f"{TEST_BYTES // 1000} kB of test text", Corpus(data, "test", limit=TEST_BYTES)
    if measured(jobs) == "fill":
        length = min(getattr(job.recipe.network, "context", None) or 512 for job in jobs)
        return Yardstick(
            f"nats per hidden token, {HIDDEN:.0%} of {text}",
            lambda run: Measured(nats_per_hidden_token(TrainedModel.opened(run.path), corpus, length, HIDDEN)),
        )
    lossless = TokenStore.open(data, "test").tokenizer.lossless

    def score(run: RunFolder) -> Measured:
        model = TrainedModel.opened(run.path)
        found = score_corpus(model, corpus)
        lossy = found.score.bits_per_byte is None
        sizes = [len(text.ids) if lossy else text.bytes for text in corpus.texts(model.tokenizer, model.name)]
        bits = [-float(logs.sum()) / math.log(2) for logs in found.logs]
        each = np.stack([bits, sizes], 1) if len(bits) == len(sizes) else None
        return Measured((found.score.bits_per_token if lossy else found.score.bits_per_byte) or 0.0, each)

    return Yardstick(f"bits per {'byte' if lossless else 'token'} of {text}", score)


def facts_of(run: RunFolder) -> tuple[str, ...]:
    """Parameters, tokens read, seconds of training."""
    passport = run.passport()
    return tuple(
        f"{passport[name]:,.0f}" if passport.get(name) else "-" for name in ("parameters", "tokens", "seconds")
    )


def report(found: Sequence[Trained], title: str, unit: str = UNIT) -> Report:
    """Every combination; how far each is behind the best, seed by seed."""
    best = found[0]
    about = ("parameters", "tokens read", "seconds") if best.arm else ()
    first = ("arm", "test") if best.arm else ("settings", "valid")
    extra = ("95% (documents)",) if best.arm else ()
    rows: list[tuple[str, ...]] = [(*first, "sd", "behind the best", "95% (seeds)", *extra, *about, "seeds")]
    runs, apart = [], []
    for one in found:
        each = [mine - other for mine, other in zip(one.seeds, itertools.cycle(best.seeds))]
        behind = "-" if one is best else f"{sum(each) / len(each):+.4f}"
        bounds = "-" if one is best else between(NATS, over_seeds(each), True)
        sd = f"{spread(one.seeds):.4f}" if len(one.seeds) > 1 else "-"
        documents = UNKNOWN if one is best else over_documents(one, best)
        more = (between(NATS, documents, True),) if best.arm and one is not best else ("-",) * len(extra)
        seeds = " ".join(f"{loss:.4f}" for loss in one.seeds)
        rows.append((one.name, f"{one.mean:.4f}", sd, behind, bounds, *more, *one.facts, seeds))
        if one is not best:
            apart.append(_difference(one, best, each, documents, unit))
        who = {"arm": one.arm} if one.arm else {"settings": list(one.values)}
        measured = {first[1]: one.mean, "spread": finite(spread(one.seeds)) or 0.0, "seeds": list(one.seeds)}
        runs.append({**who, **measured})
    return Report(
        title,
        [f"Best: {best.name}, {best.mean:.4f} {unit}, mean of {len(best.seeds)} seed{'s'[: len(best.seeds) > 1]}."],
        [Section("Every combination", Table(rows, left=(0, len(rows[0]) - 1), best=1, caption=unit))],
        {"runs": runs, "apart": apart},
    )


def _difference(one: Trained, best: Trained, each: Sequence[float], documents: Interval, unit: str) -> JsonObject:
    """As studies of labelled tasks have it, for programs."""
    said = {"model": one.name, "minus": best.name, "difference": sum(each) / len(each), "each": list(each)}
    bounds = {"over_seeds": finite_bounds(over_seeds(each)), "over_examples": finite_bounds(documents)}
    return {**said, **bounds, "examples": "documents", "lower_is_better": True, "unit": unit.split(" of ")[0]}
