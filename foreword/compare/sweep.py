"""Sweeps: one recipe with several values and seeds. Small models run one to a core where that is measured to be faster."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch

from foreword.assembly import loader
from foreword.assembly.build import check_tokenizer
from foreword.assembly.recipe import Recipe
from foreword.basics import toml
from foreword.basics.cores import cores
from foreword.basics.files import write_json, write_text
from foreword.basics.messages import Fault, RunFailed, thousands
from foreword.basics.progress import say
from foreword.runs.folder import RunFolder
from foreword.runs.train import Session
from foreword.tokens.store import TokenStore
from foreword.training.hardware import Hardware

TRIED = 6            # steps timed for each way of using the cores


@dataclass(frozen=True)
class Member:
    """One run of a sweep: what is special about it, and its seed."""

    values: tuple[str, ...]        # settings, as --set takes them
    seed: int
    recipe: Recipe

    @property
    def folder(self) -> str:
        named = [f"{key.rsplit('.', 1)[-1]}-{value}" for key, _, value in (one.partition("=") for one in self.values)]
        return "_".join(["".join(c if c.isalnum() or c in ".-" else "-" for c in name) for name in named] + [f"seed-{self.seed}"])


def members(name: str, size: str, settings: Sequence[str], vary: Sequence[str], seeds: int) -> list[Member]:
    """Every combination of the varied values, with every seed; each is checked before the first one runs."""
    if seeds < 1:
        raise Fault(f"--seeds {seeds}: at least one.")
    choices = []
    for one in vary:
        key, equals, several = one.partition("=")
        values = [value.strip() for value in several.split(",") if value.strip()]
        if not equals or not key.strip() or not values:
            raise Fault(f"--vary {one}: it is written section.key=value,value,...")
        choices.append([f"{key.strip()}={value}" for value in values])
    return [Member(values, seed, loader.load(name, size, [*settings, *values, f"training.seed={seed}"]))
            for values in itertools.product(*choices) for seed in range(seeds)]


def sweep(every: Sequence[Member], data: Path, out: Path, at_once: int | None = None) -> list[dict[str, Any]]:
    """Train them all in folders under `out`; what an earlier, interrupted call finished is not done again."""
    check_tokenizer(every[0].recipe, TokenStore.open(data, "train").tokenizer, str(data))
    together = at_once or fastest(lambda threads: paced(_first(every[0].recipe, data), threads))
    threads = max(1, cores() // together)
    failed: list[str] = []

    def one(member: Member) -> None:
        folder = out / member.folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        asked = out / f"{member.folder}.toml"
        write_text(asked, toml.write(member.recipe.values()))
        command = [sys.executable, "-m", "foreword", "train", str(asked), "--data", str(data), "--out", str(folder)]
        with open(out / f"{member.folder}.log", "a", encoding="utf-8") as log:
            done = subprocess.run(command, stdout=log, stderr=log, env={**os.environ, "OMP_NUM_THREADS": str(threads)})
        if done.returncode:
            failed.append(member.folder)
            say(f"{member.folder}: failed, see {log.name}")
        else:
            say(f"{member.folder}: {outcome(folder):.4f} nats per guess on validation text")

    with ThreadPoolExecutor(together) as pool:
        list(pool.map(one, every))
    if failed:
        raise RunFailed(f"{len(failed)} of {len(every)} runs failed: {', '.join(failed[:5])}.", f"Their logs are in {out}.")
    found = summary(every, out)
    write_json(out / "sweep.json", {"runs": found})
    return found


def _first(recipe: Recipe, data: Path) -> Session:
    store = TokenStore.open(data, "train")
    return Session(recipe, store, store, RunFolder(Path(os.devnull)), Hardware(prefetch=False))


def outcome(folder: Path) -> float:
    best = RunFolder(folder).passport().get("best") or {}
    return float(best.get("valid", float("nan")))


def summary(every: Sequence[Member], out: Path) -> list[dict[str, Any]]:
    """The best first: the mean over seeds of each combination's best evaluation, and how far seeds lie apart."""
    found = []
    for values in dict.fromkeys(member.values for member in every):
        scores = [outcome(out / member.folder) for member in every if member.values == values]
        found.append({"settings": list(values), "valid": mean(scores), "spread": stdev(scores) if len(scores) > 1 else 0.0,
                      "seeds": scores})
    return sorted(found, key=lambda one: one["valid"])


def fastest(pace: Callable[[int], float], most: int | None = None, work: float = math.inf, worth: float = 0.0) -> int:
    """How many runs at once: one to a core if one thread, times the cores, is quicker than all threads on one run.

    `pace`: tokens a second with so many threads. `most` can go on together for other reasons; `work` (tokens) that takes less
    than `worth` seconds is not parted.
    """
    together = cores() if most is None else min(cores(), most)
    if together < 2:
        return 1
    all_of_them = pace(cores())
    if work < worth * all_of_them:
        return 1
    alone = pace(1)
    parted = alone * together > all_of_them
    say(f"one thread makes {thousands(alone)} tokens a second, {cores()} make {thousands(all_of_them)}: "
        + (f"{together} runs at a time" + ", one to a core" * (together == cores()) if parted
           else "one run at a time, on all cores"))
    return together if parted else 1


def paced(session: Session, threads: int) -> float:
    """Tokens a second of a few steps with so many threads."""
    before, times, tokens = torch.get_num_threads(), 0.0, 0
    try:
        torch.set_num_threads(threads)
        for step in range(TRIED + 2):
            batch = session.trainer.stream.batch(step)
            began = time.perf_counter()
            read = session.learner.step(batch, step, 0.0).tokens
            if step > 1:
                times, tokens = times + time.perf_counter() - began, tokens + read
        return tokens / times
    finally:
        torch.set_num_threads(before)
