"""A study of training: recipes, or one with several values of some settings; every combination with the same seeds."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from foreword.assembly import loader
from foreword.assembly.build import check_tokenizer
from foreword.assembly.recipe import Recipe
from foreword.basics.messages import Diverged, Fault, RunFailed
from foreword.basics.progress import say
from foreword.compare.contenders import combinations, short_name
from foreword.compare.parallel import JobRunner, TimedRun
from foreword.evaluate.held_out import Corpus, score_corpus
from foreword.report import Report, Section, Table
from foreword.runs.folder import RunFolder
from foreword.runs.opening import TrainedModel
from foreword.runs.train import text_run, train
from foreword.tasks.confidence import over_seeds, spread
from foreword.tasks.metrics import Mean, between, finite
from foreword.tokens.store import TokenStore
from foreword.training.gradient import GradientTraining
from foreword.training.hardware import Hardware

UNIT = "nats per guess on validation text"
TEST_BYTES = 200_000  # of held-out text, on which recipes are compared
NATS = Mean(1.0, 4)


@dataclass(frozen=True)
class TrainingJob:
    """One combination of values, one seed."""

    values: tuple[str, ...]  # settings, as --set takes them
    seed: int
    recipe: Recipe
    folder: Path
    rival: str = ""  # the recipe, where there are several

    def run(self, data: Path, hardware: Hardware) -> RunFolder:
        return train(self.recipe, data, self.folder, hardware=hardware)

    def trial(self, data: Path, hardware: Hardware) -> TimedRun:
        store = TokenStore.open(data, "train")
        return TimedRun(text_run(self.recipe, store, store, RunFolder(Path(os.devnull)), hardware))


@dataclass(frozen=True)
class Trained:
    """One combination of values with all its seeds; the lower the better."""

    values: tuple[str, ...]
    seeds: tuple[float, ...]  # the best evaluation of each; of several recipes, the score of each on test
    rival: str = ""  # the recipe, where there are several
    facts: tuple[str, ...] = ()  # of its first run: parameters, tokens read, core-seconds

    @property
    def name(self) -> str:
        return "  ".join(filter(None, [self.rival, *self.values])) or "as it is"

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


def rival_jobs(
    names: Sequence[str], settings: Sequence[str], budget: str, seeds: Sequence[int], out: Path
) -> list[TrainingJob]:
    """Several recipes, each with its size (gpt2:laptop). The budget is for those that learn by steps; counts are made once."""
    found = []
    for word in names:
        name, _, size = word.partition(":")
        counts = not isinstance(loader.load(name, size).training, GradientTraining)
        own = [*settings, *([] if counts or not budget else [f'training.budget="{budget}"'])]
        for seed in seeds[:1] if counts else seeds:
            recipe = loader.load(name, size, [*own, f"training.seed={seed}"])
            found.append(TrainingJob((), seed, recipe, out / f"{recipe.name}_seed-{seed}", recipe.name))
    return found


def training_study(
    jobs: Sequence[TrainingJob],
    data: Path,
    parallel: int | None = None,
    hardware: Hardware | None = None,
    cluster: str = "",
) -> list[Trained]:
    """Train them all, the best combination first. Runs that an interrupted call finished are not repeated."""
    for recipe in {job.recipe.name: job.recipe for job in jobs}.values():
        check_tokenizer(recipe, TokenStore.open(data, "train").tokenizer, str(data))
    failed, found = [], dict[tuple[str, tuple[str, ...]], list[float]]()
    facts: dict[str, tuple[str, ...]] = {}
    with JobRunner(data, hardware, cluster) as runs:
        runs.hardware.ranks.first_writes(jobs[0].folder.parent)
        runs.start(jobs, parallel)
        for job in jobs:
            try:
                run = runs.take(job)
                loss = test_score(run, data) if job.rival else best_loss(run)
            except Diverged:
                failed.append(job.folder.name)
                continue
            found.setdefault((job.rival, job.values), []).append(loss)
            facts.setdefault(job.rival, facts_of(run) if job.rival else ())
            say(f"{job.folder.name}: {loss:.4f} {unit_of(jobs, data)}")
    if failed:
        raise RunFailed(
            f"{len(failed)} of {len(jobs)} runs diverged: {', '.join(failed[:5])}.",
            f"Try a smaller learning rate. The others are in {jobs[0].folder.parent}.",
        )
    every = (Trained(values, tuple(losses), rival, facts[rival]) for (rival, values), losses in found.items())
    return sorted(every, key=lambda one: one.mean)


def best_loss(run: RunFolder) -> float:
    best = run.passport().get("best") or {}
    return float(best.get("valid", float("nan")))


def test_score(run: RunFolder, data: Path) -> float:
    """Bits per byte of held-out text, which no seed was chosen by; bits per token, if the tokenizer loses some of it."""
    score = score_corpus(TrainedModel.opened(run.path), Corpus(data, "test", limit=TEST_BYTES)).score
    return score.bits_per_token if score.bits_per_byte is None else score.bits_per_byte


def unit_of(jobs: Sequence[TrainingJob], data: Path) -> str:
    if not jobs[0].rival:
        return UNIT
    of = "byte" if TokenStore.open(data, "test").tokenizer.lossless else "token"
    return f"bits per {of} of {TEST_BYTES // 1000} kB of test text"


def facts_of(run: RunFolder) -> tuple[str, ...]:
    """Parameters, tokens read, seconds of training."""
    passport = run.passport()
    return tuple(
        f"{passport[name]:,.0f}" if passport.get(name) else "-" for name in ("parameters", "tokens", "seconds")
    )


def report(found: Sequence[Trained], title: str, unit: str = UNIT) -> Report:
    """Every combination; how far each is behind the best, seed by seed."""
    best = found[0]
    about = ("parameters", "tokens read", "seconds") if best.rival else ()
    first = ("recipe", "test") if best.rival else ("settings", "valid")
    rows: list[tuple[str, ...]] = [(*first, "sd", "behind the best", "95% (seeds)", *about, "seeds")]
    runs = []
    for one in found:
        each = [mine - other for mine, other in zip(one.seeds, itertools.cycle(best.seeds))]
        behind = "-" if one is best else f"{sum(each) / len(each):+.4f}"
        bounds = "-" if one is best else between(NATS, over_seeds(each), True)
        sd = f"{spread(one.seeds):.4f}" if len(one.seeds) > 1 else "-"
        seeds = " ".join(f"{loss:.4f}" for loss in one.seeds)
        rows.append((one.name, f"{one.mean:.4f}", sd, behind, bounds, *one.facts, seeds))
        who = {"recipe": one.rival} if one.rival else {"settings": list(one.values)}
        measured = {first[1]: one.mean, "spread": finite(spread(one.seeds)) or 0.0, "seeds": list(one.seeds)}
        runs.append({**who, **measured})
    return Report(
        title,
        [f"Best: {best.name}, {best.mean:.4f} {unit}, mean of {len(best.seeds)} seed{'s'[: len(best.seeds) > 1]}."],
        [Section("Every combination", Table(rows, left=(0, len(rows[0]) - 1), best=1, caption=unit))],
        {"runs": runs},
    )
