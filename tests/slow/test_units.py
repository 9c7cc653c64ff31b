"""The sentiment neuron, planted: reviews whose hidden polarity chooses words, a multiplicative LSTM that is never told, and its units.

Measured (2026-11-18, 32 units, 400 steps): all units 100% of 1,000 reviews, one unit alone 59.9%, exchanged labels 50.0%.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import foreword
from foreword.assembly import loader
from foreword.basics.seeds import chance
from foreword.compare import units
from foreword.runs.train import train
from foreword.tasks.labelled_task import LabelledTask, load
from foreword.tokens.build import build_store
from foreword.training.hardware import Hardware

pytestmark = pytest.mark.slow
GOOD = ("lovely", "great", "fine", "superb", "funny", "warm", "clever", "moving")
BAD = ("dreadful", "poor", "awful", "dull", "silly", "cold", "clumsy", "boring")
THINGS = ("film", "story", "cast", "music")


def review(good: bool, rng: np.random.Generator) -> str:
    words = GOOD if good else BAD
    return " ".join(
        f"{words[rng.integers(len(words))]} {THINGS[rng.integers(len(THINGS))]} and"
        for _ in range(int(rng.integers(3, 8)))
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("units")
    rng = chance(21)
    (folder / "text.txt").write_text("".join(review(n % 2 == 0, rng) + "\n" for n in range(3000)), encoding="utf-8")
    settings = [
        "network.width=32",
        "network.embedding=16",
        "network.cell.forget_bias=1.0",
        'tokenizer={ kind = "word" }',
        "batches.length=24",
        "training.optimizer.learning_rate=1e-2",
        "network.initial.scaled=true",
        'training.budget="400"',
    ]
    recipe = loader.load("mlstm", "laptop", settings)
    build_store([folder / "text.txt"], folder / "store", recipe.tokenizer, documents="line", workers=1)
    train(recipe, folder / "store", folder / "run", hardware=Hardware())
    return folder / "run"


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> LabelledTask:
    folder, rng = tmp_path_factory.mktemp("task"), chance(22)
    for name, count in {"train": 600, "dev": 300, "test": 1000}.items():
        rows = [f"{review(n % 2 == 0, rng)},{'bad' if n % 2 else 'good'}\n" for n in range(count)]
        (folder / f"{name}.csv").write_text("text,label\n" + "".join(rows), encoding="utf-8")
    return load(str(folder / "train.csv"), None, "", folder / "dev.csv", folder / "test.csv")


def test_units_that_nobody_taught_tell_the_polarity(run: Path, task: LabelledTask) -> None:
    model = foreword.load(run)
    found = units.find(model, task, units.UnitReader(model))
    whole, alone, luck = (one.test[0].value for one in (found.whole, found.alone, found.control))
    print(f"all units {whole:.3f}, unit {found.units[0].number} alone {alone:.3f}, exchanged labels {luck:.3f}")
    assert whole > 0.97
    assert luck < 0.60, "the negative control passed"
