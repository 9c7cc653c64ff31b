"""A study of training: one recipe with several values of some settings, every combination with the same seeds."""

from __future__ import annotations

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
from foreword.compare.parallel import JobRunner, Trial
from foreword.report import Report, Section, Table
from foreword.runs.folder import RunFolder
from foreword.runs.train import text_run, train
from foreword.tasks.confidence import over_seeds, spread
from foreword.tasks.metrics import Mean, between, finite
from foreword.tokens.store import TokenStore
from foreword.training.hardware import Hardware

UNIT = "nats per guess on validation text"
NATS = Mean(1.0, 4)


@dataclass(frozen=True)
class TrainingJob:
    """One combination of values, one seed."""

    values: tuple[str, ...]  # settings, as --set takes them
    seed: int
    recipe: Recipe
    folder: Path

    def run(self, data: Path, hardware: Hardware) -> RunFolder:
        return train(self.recipe, data, self.folder, hardware=hardware)

    def trial(self, data: Path, hardware: Hardware) -> Trial:
        store = TokenStore.open(data, "train")
        return Trial(text_run(self.recipe, store, store, RunFolder(Path(os.devnull)), hardware))


@dataclass(frozen=True)
class Trained:
    """One combination of values with all its seeds; the lower the better."""

    values: tuple[str, ...]
    seeds: tuple[float, ...]  # the best evaluation of each

    @property
    def name(self) -> str:
        return "  ".join(self.values) or "as it is"

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


def training_study(
    jobs: Sequence[TrainingJob],
    data: Path,
    parallel: int | None = None,
    hardware: Hardware | None = None,
    cluster: str = "",
) -> list[Trained]:
    """Train them all, the best combination first. Runs that an interrupted call finished are not repeated."""
    check_tokenizer(jobs[0].recipe, TokenStore.open(data, "train").tokenizer, str(data))
    failed, found = [], dict[tuple[str, ...], list[float]]()
    with JobRunner(data, hardware, cluster) as runs:
        runs.hardware.ranks.first_writes(jobs[0].folder.parent)
        runs.start(jobs, parallel)
        for job in jobs:
            try:
                loss = best_loss(runs.take(job))
            except Diverged:
                failed.append(job.folder.name)
                continue
            found.setdefault(job.values, []).append(loss)
            say(f"{job.folder.name}: {loss:.4f} {UNIT}")
    if failed:
        raise RunFailed(
            f"{len(failed)} of {len(jobs)} runs diverged: {', '.join(failed[:5])}.",
            f"Try a smaller learning rate. The others are in {jobs[0].folder.parent}.",
        )
    return sorted((Trained(values, tuple(losses)) for values, losses in found.items()), key=lambda one: one.mean)


def best_loss(run: RunFolder) -> float:
    best = run.passport().get("best") or {}
    return float(best.get("valid", float("nan")))


def report(found: Sequence[Trained], title: str) -> Report:
    """Every combination; how far each is behind the best, seed by seed."""
    best = found[0]
    rows: list[tuple[str, ...]] = [("settings", "valid", "sd", "behind the best", "95% (seeds)", "seeds")]
    runs = []
    for one in found:
        each = [mine - other for mine, other in zip(one.seeds, best.seeds)]
        behind = "-" if one is best else f"{sum(each) / len(each):+.4f}"
        bounds = "-" if one is best else between(NATS, over_seeds(each), True)
        sd = f"{spread(one.seeds):.4f}" if len(one.seeds) > 1 else "-"
        rows.append((one.name, f"{one.mean:.4f}", sd, behind, bounds, " ".join(f"{loss:.4f}" for loss in one.seeds)))
        about = {"settings": list(one.values), "valid": one.mean, "spread": finite(spread(one.seeds)) or 0.0}
        runs.append({**about, "seeds": list(one.seeds)})
    return Report(
        title,
        [f"Best: {best.name}, {best.mean:.4f} {UNIT}, mean of {len(best.seeds)} seeds."],
        [Section("Every combination", Table(rows, left=(0, 5), best=1, caption=UNIT))],
        {"runs": runs},
    )
