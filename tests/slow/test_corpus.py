"""What a clean corpus is worth: boilerplate, copies and noise planted into WikiText-2, and taken out again by `corpus build`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from foreword.assembly import loader
from foreword.basics.shards import Workers
from foreword.evaluate.held_out import Corpus, score_corpus
from foreword.runs.opening import TrainedModel
from foreword.runs.train import train
from foreword.tasks.confidence import over_seeds
from foreword.text.corpus.build import build_corpus
from foreword.text.corpus.plan import read_plan
from foreword.tokens.build import build_store
from foreword.tokens.tokenizer import Tokenizer

pytestmark = pytest.mark.slow
BUDGET, SEEDS = "40core-s", 3
MENU = "Home | News | Contact | Sign in\nThis website uses cookies to improve your experience.\nPlease enable JavaScript to view this page.\n"
PLAN = """
[[sources]]
kind = "text"
path = "{folder}/planted.jsonl"

[[stages]]
kind = "clean"
rules = ["javascript", "policy"]

[[stages]]
kind = "dedup"

[[stages]]
kind = "repeats"
of = "lines"

[[stages]]
kind = "language"
keep = ["en"]
"""


def articles(file: Path, most: int) -> list[str]:
    """WikiText's articles, cut where a heading of the first level stands."""
    found: list[str] = []
    for line in file.read_text(encoding="utf-8").split("\n"):
        if line.startswith(" = ") and not line.startswith(" = = "):
            found.append("")
        if found:
            found[-1] += line + "\n"
    return [one for one in found if len(one) > 2000][:most]


def planted(clean: list[str], draw: np.random.Generator) -> list[str]:
    """As much again of copies and of noise, and boilerplate around everything."""
    noise = ["".join(chr(int(code)) for code in draw.integers(0x400, 0x4FF, 3000)) for _ in clean]
    copies = [clean[int(place)] for place in draw.integers(len(clean), size=len(clean))]
    every = [MENU + text + MENU for text in (*clean, *copies)] + noise
    return [every[int(place)] for place in draw.permutation(len(every))]


def written(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    return path


def test_in_equal_time_a_gpt_learns_more_from_what_was_built(data: Path, tmp_path: Path) -> None:
    draw, wiki = np.random.default_rng(0), data / "wikitext-2"
    clean, test = articles(wiki / "train.part1.txt", 150), articles(wiki / "test.txt", 20)
    dirty = written(tmp_path / "planted.jsonl", planted(clean, draw))
    (tmp_path / "plan.toml").write_text(PLAN.format(folder=tmp_path), encoding="utf-8")
    build_corpus(read_plan(tmp_path / "plan.toml"), tmp_path / "built", Workers(1))
    kept = [json.loads(line) for path in sorted((tmp_path / "built").glob("*.jsonl")) for line in path.open()]
    print(f"{len(clean)} articles, {len(clean) * 3} documents planted, {len(kept)} kept")
    assert len(clean) * 0.9 <= len(kept) <= len(clean) * 1.1
    assert not any("cookies" in one["text"] or "JavaScript" in one["text"] for one in kept)
    held_out = written(tmp_path / "test.jsonl", test)
    recipe = loader.load("gpt2", "laptop")
    build_store([written(tmp_path / "clean.jsonl", clean)], tmp_path / "clean", recipe.tokenizer)
    tokenizer = Tokenizer.load(tmp_path / "clean")  # the same for both: what is compared is the text
    bits: dict[str, list[float]] = {}
    for name, text in (("planted", dirty), ("built", tmp_path / "built")):
        build_store([text], tmp_path / f"store-{name}", tokenizer)
        for seed in range(SEEDS):
            settings = [f"training.seed={seed}", f'training.budget="{BUDGET}"']
            out = tmp_path / f"{name}-{seed}"
            train(loader.load("gpt2", "laptop", settings), tmp_path / f"store-{name}", out)
            score = score_corpus(TrainedModel.opened(out), Corpus(held_out, "all")).score
            bits.setdefault(name, []).append(float(score.bits_per_byte or 0))
    apart = [mine - other for mine, other in zip(bits["built"], bits["planted"])]
    low, high = over_seeds(apart)
    print(
        f"planted {bits['planted']}, built {bits['built']}: {np.mean(apart):+.4f} ({low:+.4f} to {high:+.4f}) bits per byte"
    )
    assert high < 0
