"""The trainer's own cost: how much of a step is not the network. Goal: under 5% for a model of a million parameters."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

from benchmarks.limits import gemm_flops
from foreword.assembly import loader
from foreword.runs.folder import RunFolder
from foreword.runs.train import Session
from foreword.tokens.build import build_store
from foreword.tokens.kinds import ByteBPE
from foreword.tokens.store import TokenStore


def measure(steps: int = 150) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "text.txt").write_text("\n\n".join(topics.values()), encoding="utf-8")
        build_store([here / "text.txt"], here / "store", ByteBPE(vocabulary=1024), workers=1)
        recipe = loader.load("gpt2", "laptop", ["network.layers=2", "network.width=192", "network.heads=6",
                                                f"training.budget={steps}", 'training.save="20s"'])
        store, valid = TokenStore.open(here / "store", "train"), TokenStore.open(here / "store", "valid")
        session = Session(recipe, store, valid, RunFolder(here / "run"))
        session.run.claim(recipe, store.data)
        spent = {"network": 0.0, "evaluation": 0.0}
        session.learner.step = _timed(session.learner.step, spent, "network")               # type: ignore[method-assign]
        session.evaluate = _timed(session.evaluate, spent, "evaluation")                    # type: ignore[method-assign]
        began = time.perf_counter()
        session.go()
        whole = time.perf_counter() - began - spent["evaluation"]
        return {"parameters": session.model.parameter_count(), "steps": steps,
                "tokens_per_second": session.trainer.progress.tokens / whole,
                "overhead": 1 - spent["network"] / whole, "gemm_gflops": gemm_flops() / 1e9}


def _timed(work: Any, spent: dict[str, float], name: str) -> Any:
    def timed(*arguments: Any) -> Any:
        began = time.perf_counter()
        try:
            return work(*arguments)
        finally:
            spent[name] += time.perf_counter() - began
    return timed


def report() -> str:
    found = measure()
    return (f"loop: {found['parameters']:,} parameters, {found['tokens_per_second']:,.0f} tokens/s, "
            f"{found['overhead']:.1%} of the time outside the network's step (goal: under 5%)")


if __name__ == "__main__":
    print(report())
