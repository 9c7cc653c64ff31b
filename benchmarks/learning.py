"""Learning speed: bits per byte of the same held-out text after the same core-seconds, ours beside nanoGPT's CPU recipe.

Every trial runs alone on one core, with one thread, and pays for all it uses: training a tokenizer and compiling included.
nanoGPT's recipe reads bytes (its own reads characters), ours the tokens that they make of the text; so that one sees what the
tokens are worth, modern-gpt stands there in bytes as well. Settings were chosen on another text (`choose`); this one is only
measured. Two trials run side by side where there are two cores. All of it takes more than an hour: what an interrupted call
measured with the same code is not measured again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from threading import Lock
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from foreword.basics.cores import cores  # noqa: E402

SIZE = 1_115_394  # characters of each text: all of tiny Shakespeare
SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class DemoModel:
    recipe: str
    size: str
    settings: tuple[str, ...] = ()  # its own tokenizer, where none is named here


BYTES = 'tokenizer={ kind = "byte" }'


def nano(rate: float) -> DemoModel:
    """nanoGPT's recipe for a CPU (its README and config/train_shakespeare_char.py), with a rate of one's own."""
    return DemoModel(
        "gpt2",
        "",
        (
            BYTES,
            "network.layers=4",
            "network.width=128",
            "network.heads=4",
            "network.context=64",
            "network.bias=false",
            "network.dropout={ table = 0.0, embeddings = 0.0, attention = 0.0, residual = 0.0 }",
            "training.batch_size=12",
            f'training.optimizer={{ kind = "adamw", learning_rate = {rate}, betas = [0.9, 0.99], weight_decay = 0.1 }}',
            'training.schedule={ kind = "cosine", warmup = 100, floor = 0.1 }',
        ),
    )


RATES = (1e-3, 2e-3, 4e-3, 8e-3)
TUNED = 4e-3  # the best of them on WikiText-2 after 300 core-seconds (`choose`): 2.205, 2.172, 2.197 from 2e-3 up
SHIPPED, PEER = "nanoGPT's recipe as shipped", "nanoGPT's recipe, rate tuned"
PUBLISHED, DEFAULT = "GPT-2 with our settings", "modern-gpt"
ENTRANTS: dict[str, DemoModel] = {
    SHIPPED: nano(1e-3),
    PEER: nano(TUNED),
    PUBLISHED: DemoModel("gpt2", "laptop"),
    DEFAULT: DemoModel("modern-gpt", "laptop"),
    f"{DEFAULT}, bytes": DemoModel("modern-gpt", "laptop", (BYTES,)),
}
ASKED = (PEER, PUBLISHED, DEFAULT)  # with every seed; of the others, which no goal names, one seed is enough
KEPT = Path(__file__).parent.parent / "runs" / "bench-learning.jsonl"


def texts() -> dict[str, Path]:
    data = Path(os.environ.get("FOREWORD_DATA", "../shared/data"))
    return {"shakespeare": data / "tinyshakespeare/input.txt", "wikitext": data / "wikitext-2/train.part1.txt"}


def prepare(text: str, folder: Path) -> None:
    """The first nine tenths of a text to learn from, the last tenth as one held-out document."""
    whole = texts()[text].read_text(encoding="utf-8")[:SIZE]
    cut = len(whole) * 9 // 10
    (folder / "train.txt").write_text(whole[:cut], encoding="utf-8")
    (folder / "held-out.txt").write_text(whole[cut:], encoding="utf-8")


def code() -> str:
    """A fingerprint of all that trials run, but for recipes: an entrant's own is part of what is kept of it."""
    package = Path(__file__).parent.parent / "foreword"
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(path for path in package.rglob("*") if path.suffix in (".py", ".c", ".h")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def core_seconds() -> float:
    """What this process and its children have used: compiling runs in children."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def trial(entrant: DemoModel, seed: int, seconds: float, folder: Path, compile: str = "auto") -> dict[str, Any]:
    """Tokenize and train on one thread until the core-seconds are used, and score the held-out text."""
    import torch

    torch.set_num_threads(1)
    from foreword.assembly import loader
    from foreword.evaluate.held_out import Corpus, score_corpus
    from foreword.model import load
    from foreword.runs.folder import RunFolder
    from foreword.runs.train import text_run
    from foreword.tokens.build import build_store
    from foreword.tokens.store import TokenStore
    from foreword.training.hardware import Hardware

    with tempfile.TemporaryDirectory() as runs:
        tokenizer, began = loader.load(entrant.recipe, entrant.size, entrant.settings).tokenizer, core_seconds()
        build_store(
            [folder / "train.txt"],
            Path(runs) / "store",
            tokenizer,
            documents="file",
            fractions=(1.0, 0.0, 0.0),
            workers=1,
        )
        left = seconds - (core_seconds() - began)
        recipe = loader.load(
            entrant.recipe,
            entrant.size,
            [
                *entrant.settings,
                f'training.budget="{left:g}s"',
                f"training.seed={seed}",
                "training.evaluate=1.0",
                'training.save="100h"',
                "training.valid_batches=1",
            ],
        )
        store = TokenStore.open(Path(runs) / "store", "train")
        session = text_run(
            recipe, store, store, RunFolder(Path(runs) / "run"), Hardware(prefetch=False, compile=compile)
        )  # type: ignore[arg-type]
        session.run.claim(recipe, store.data)
        session.trainer.clock = core_seconds
        session.go()
        score = score_corpus(load(session.run.path), Corpus(folder / "held-out.txt", "all", "file"), None, None).score
        progress = session.trainer.progress
        return {
            "bits_per_byte": score.bits_per_byte,
            "tokens": progress.tokens,
            "seconds": round(progress.seconds, 1),
            "parameters": session.model.parameter_count(),
        }


def run(
    jobs: Sequence[tuple[str, DemoModel, int, float]], text: str, workers: int | None = None
) -> list[dict[str, Any]]:
    """Every (name, entrant, seed, seconds), each in a process of its own, one to a core."""
    KEPT.parent.mkdir(exist_ok=True)
    before = [json.loads(line) for line in KEPT.read_text(encoding="utf-8").splitlines()] if KEPT.is_file() else []
    known, now, writing = {line["key"]: line["found"] for line in before}, code(), Lock()
    from foreword.assembly import loader

    with tempfile.TemporaryDirectory() as made:
        prepare(text, Path(made))

        def one(job: tuple[str, DemoModel, int, float]) -> dict[str, Any]:
            name, entrant, seed, seconds = job
            what = {"entrant": [entrant.recipe, entrant.size, entrant.settings], "seed": seed, "seconds": seconds}
            recipe = loader.load(entrant.recipe, entrant.size, entrant.settings).values()
            key = json.dumps({**what, "text": text, "code": now, "recipe": recipe}, default=str)
            if key in known:
                return {**known[key], "name": name}
            asked = json.dumps({**what, "folder": made})
            done = subprocess.run(
                [sys.executable, str(Path(__file__)), "trial", asked],
                capture_output=True,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            if done.returncode:
                raise RuntimeError(f"{name}, seed {seed}: {done.stderr[-2000:]}")
            found = {"name": name, "seed": seed, "budget": seconds, **json.loads(done.stdout.splitlines()[-1])}
            print(
                f"  {name}, seed {seed}, {seconds:g} core-seconds: {found['bits_per_byte']:.4f} bits per byte "
                f"({found['tokens']:,} tokens read)",
                file=sys.stderr,
                flush=True,
            )
            with writing, open(KEPT, "a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, "found": found}) + "\n")
            return found

        with ThreadPoolExecutor(workers or cores()) as pool:
            return list(pool.map(one, jobs))


def choose(seconds: float) -> str:
    """The peer's rate, on the text that is not measured."""
    found = run([(f"{rate:g}", nano(rate), 0, seconds) for rate in RATES], "wikitext")
    return "\n".join(
        [
            f"nanoGPT's recipe on WikiText-2, {seconds:g} core-seconds, one seed:",
            *(f"  rate {one['name']}: {one['bits_per_byte']:.3f} bits per byte" for one in found),
        ]
    )


def table(found: Iterable[dict[str, Any]]) -> list[str]:
    every = list(found)
    lines = []

    def by(name: str, budget: float) -> list[float]:
        return [one["bits_per_byte"] for one in every if (one["name"], one["budget"]) == (name, budget)]

    for budget in sorted({one["budget"] for one in every}):
        lines.append(f"{budget:g} core-seconds, tiny Shakespeare (best / mean / every seed):")
        for name in ENTRANTS:
            if scores := by(name, budget):
                against = (
                    f"   {mean(scores) / mean(by(PEER, budget)):.3f}x of the tuned peer" if by(PEER, budget) else ""
                )
                lines.append(
                    f"  {name:32} {min(scores):.3f} / {mean(scores):.3f} / "
                    f"{', '.join(f'{score:.3f}' for score in scores)}{against}"
                )
    ours, theirs = by(DEFAULT, 300.0), by(PEER, 1000.0)
    if ours and theirs:
        lines.append(
            f"modern-gpt after 300 core-seconds: {mean(ours):.3f}; the tuned peer after 1000: {mean(theirs):.3f}"
        )
    return lines


def report(short: float = 300.0, long: float = 1000.0, seeds: Sequence[int] = SEEDS) -> str:
    if missing := [str(path) for path in texts().values() if not path.is_file()]:
        return f"learning: not measured, {', '.join(missing)} is not there (set FOREWORD_DATA)"
    jobs: list[tuple[str, DemoModel, int, float]] = []
    for seed in seeds:
        jobs += [
            (name, entrant, seed, short) for name, entrant in ENTRANTS.items() if seed == seeds[0] or name in ASKED
        ]
        jobs += [(name, ENTRANTS[name], seed, long) for name in (PEER, DEFAULT)]
    minutes = sum(job[3] for job in jobs) / cores() / 60
    print(f"learning: up to {minutes:.0f} minutes on {cores()} cores", file=sys.stderr, flush=True)
    return "\n".join(table(run(jobs, "shakespeare")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["report", "choose", "trial"], nargs="?", default="report")
    parser.add_argument("job", nargs="?")
    parser.add_argument("--short", type=float, default=300.0)
    parser.add_argument("--long", type=float, default=1000.0)
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    given = parser.parse_args()
    if given.what == "trial":
        asked = json.loads(given.job)
        recipe, size, settings = asked["entrant"]
        print(
            json.dumps(
                trial(DemoModel(recipe, size, tuple(settings)), asked["seed"], asked["seconds"], Path(asked["folder"]))
            )
        )
    else:
        print(choose(given.short) if given.what == "choose" else report(given.short, given.long, range(given.seeds)))


if __name__ == "__main__":
    main()
