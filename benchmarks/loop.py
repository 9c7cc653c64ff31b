"""The trainer's own cost: how much of a step is not the network, and how long it takes until there is a first step.

Goals: under 5% for a model of a million parameters; under 3 seconds, imports not counted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from pydoc_data.topics import topics
from statistics import median
from typing import Any

from benchmarks.limits import gemm_flops
from foreword.assembly import loader
from foreword.runs.folder import RunFolder
from foreword.runs.train import text_run
from foreword.tokens.build import build_store
from foreword.tokens.kinds import ByteBPE
from foreword.tokens.store import TokenStore

SETTINGS = ["network.layers=2", "network.width=192", "network.heads=6"]

# `foreword train` in a process of its own: when everything was imported, and when the first step was done
FIRST_STEP = """
import json, sys, time
from foreword.cli import main, preparing
from foreword.runs import train
from foreword.training import learner
imported = time.time()
step = learner.GradientLearner.step
done = []

def noted(*arguments):
    report = step(*arguments)
    done.append(time.time())
    return report

learner.GradientLearner.step = noted
began = float(sys.argv.pop(1))
try:
    main.main()
finally:
    print(json.dumps({"imports": imported - began, "first_step": done[0] - imported}))
"""


def measure(steps: int = 150) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        store_in(here)
        recipe = loader.load("gpt2", "laptop", [*SETTINGS, f"training.budget={steps}", 'training.save="20s"'])
        store, valid = TokenStore.open(here / "store", "train"), TokenStore.open(here / "store", "valid")
        session = text_run(recipe, store, valid, RunFolder(here / "run"))
        session.run.claim(recipe, store.data)
        spent = {"network": 0.0, "evaluation": 0.0}
        session.learner.step = _timed(session.learner.step, spent, "network")  # type: ignore[method-assign]
        session.evaluate = _timed(session.evaluate, spent, "evaluation")  # type: ignore[method-assign]
        began = time.perf_counter()
        session.go()
        whole = time.perf_counter() - began - spent["evaluation"]
        return {
            "parameters": session.model.parameter_count(),
            "steps": steps,
            "tokens_per_second": session.trainer.progress.tokens / whole,
            "overhead": 1 - spent["network"] / whole,
            "gemm_gflops": gemm_flops() / 1e9,
        }


def store_in(folder: Path) -> None:
    (folder / "text.txt").write_text("\n\n".join(topics.values()), encoding="utf-8")
    build_store([folder / "text.txt"], folder / "store", ByteBPE(vocabulary=1024), workers=1)


def _timed(work: Any, spent: dict[str, float], name: str) -> Any:
    def timed(*arguments: Any) -> Any:
        began = time.perf_counter()
        try:
            return work(*arguments)
        finally:
            spent[name] += time.perf_counter() - began

    return timed


def starts(times: int = 3) -> list[dict[str, float]]:
    """Seconds of importing (the interpreter's start included) and from there to the end of the first step."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        store_in(here)
        for number in range(times):
            words = [
                "train",
                "gpt2",
                "--size",
                "laptop",
                "--data",
                "store",
                "--budget",
                "2",
                "--out",
                f"run-{number}",
                *(word for setting in SETTINGS for word in ("--set", setting)),
            ]
            done = subprocess.run(
                [sys.executable, "-c", FIRST_STEP, str(time.time()), *words],
                cwd=here,
                check=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            found.append(json.loads(done.stdout.splitlines()[-1]))
    return found


def report() -> str:
    found, begun = measure(), starts()
    first, imports = [one["first_step"] for one in begun], [one["imports"] for one in begun]
    return (
        f"{found['parameters']:,} parameters, {found['tokens_per_second']:,.0f} tokens/s, "
        f"{found['overhead']:.1%} of the time outside the network's step (goal: under 5%); "
        f"matrix product {found['gemm_gflops']:.0f} GFLOPS\n"
        f"foreword train: first step done {min(first):.2f}s best {median(first):.2f}s median after the imports "
        f"(goal: under 3 s), which take {min(imports):.2f}s best {median(imports):.2f}s median"
    )


if __name__ == "__main__":
    print(report())
