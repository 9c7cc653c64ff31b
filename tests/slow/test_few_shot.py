"""Learning from examples in the prompt: a small GPT trained on many tables does better the more it is shown of a new one.

A table says which digit belongs to each of four letters. A line is a letter behind another that means nothing, `xb3`, so
that a question never stands among its own examples. Every document of the training text is another table: the digits can
only be known from the lines before.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from foreword.basics.seeds import chance
from foreword.evaluate.prompted import TaskResult, run_task
from foreword.evaluate.requests import PromptedModel
from foreword.tasks.task import load
from foreword.tokens import KINDS
from foreword.tokens.build import build_store
from foreword.tokens.store import TokenStore
from tests.tiny import learner_for, tiny

pytestmark = pytest.mark.slow
LETTERS, NOISE, DIGITS, LINES = "abcd", "mnopqrstuvwx", "01234567", 12
STEPS, TABLES, QUESTIONS = 1000, 32, 8
FILE = """name = "table"
separator = "\\n"
[source]
kind = "jsonl"
test = "test.jsonl"
train = "train.jsonl"
[request]
kind = "choice"
context = "{key}"
choices = ["0", "1", "2", "3", "4", "5", "6", "7"]
completion = "{choice}"
gold = "{digit}"
normalise = ["sum"]
[variants.true]
[variants.permuted]
source.train = "permuted.jsonl"
"""


def table(number: int) -> tuple[dict[str, str], np.random.Generator]:
    rng = chance(77, number)
    return {letter: DIGITS[int(rng.integers(len(DIGITS)))] for letter in LETTERS}, rng


def lines(number: int, count: int) -> list[tuple[str, str]]:
    """(key, digit) pairs of one table, no key twice."""
    digits, rng = table(number)
    keys = [noise + letter for noise in NOISE for letter in LETTERS]
    return [(keys[place], digits[keys[place][1]]) for place in rng.permutation(len(keys))[:count]]


def write_tasks(folder: Path) -> list[Path]:
    """A task for each of some tables that the training text does not hold."""
    found = []
    for number in range(TABLES):
        place = folder / str(number)
        place.mkdir()
        rows = [{"key": key, "digit": digit} for key, digit in lines(10**6 + number, 40)]
        shown, asked = rows[QUESTIONS:], rows[:QUESTIONS]
        mixed = [
            {**row, "digit": shown[other]["digit"]}
            for row, other in zip(shown, chance(5, number).permutation(len(shown)))
        ]
        for name, some in (("test", asked), ("train", shown), ("permuted", mixed)):
            (place / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some), encoding="utf-8")
        (place / "table.toml").write_text(FILE, encoding="utf-8")
        found.append(place / "table.toml")
    return found


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> TokenStore:
    folder = tmp_path_factory.mktemp("tables")
    texts = ("\n".join(f"{key}{digit}" for key, digit in lines(number, LINES)) for number in range(30_000))
    (folder / "tables.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    build_store([folder / "tables.jsonl"], folder / "store", KINDS.find("byte")(), workers=1)
    return TokenStore.open(folder / "store")


@pytest.fixture(scope="module", params=[0, 1, 2], ids="seed {}".format)
def trained(store, request) -> PromptedModel:
    # rotary positions find "the letter before this digit" in a few hundred steps, learned ones in some thousands; windows,
    # not documents, because a prompt does not begin with the end of a document
    recipe = tiny(
        "gpt2",
        "network.layers=4",
        "network.width=64",
        "network.heads=4",
        "network.context=64",
        'network.positions={ kind = "rotary" }',
        "network.initial.deviation=0.1",
        "network.dropout.embeddings=0.0",
        "network.dropout.attention=0.0",
        "network.dropout.residual=0.0",
        "training.batch_size=24",
        f"training.seed={request.param}",
        'training.optimizer={ kind = "muon", learning_rate = 0.02, adam = { learning_rate = 0.003, weight_decay = 0.0 } }',
        'training.schedule={ kind = "cosine", warmup = 0.05 }',
    )
    learner, stream = learner_for(recipe, store)
    for step in range(STEPS):
        learner.step(stream.batch(step), step, step / STEPS)
    learner.model.eval()
    return PromptedModel("small", learner.model.language_model(store.tokenizer.vocabulary()), store.tokenizer)


@pytest.fixture(scope="module")
def found(trained, tmp_path_factory) -> dict[tuple[str, int], list[TaskResult]]:
    """Outcomes of all tables, by variant and number of shots."""
    paths = write_tasks(tmp_path_factory.mktemp("tasks"))
    asked = [("true", 0), ("true", 1), ("true", 8), ("permuted", 8)]
    return {
        (variant, shots): [run_task(load(f"{path}:{variant}")[0], trained, shots) for path in paths]
        for variant, shots in asked
    }


def accuracy(outcomes: list[TaskResult]) -> float:
    """Over all tables."""
    return float(np.mean([outcome.value("accuracy") for outcome in outcomes]))


def test_more_shots_are_better(found):
    none, one, eight = (accuracy(found["true", shots]) for shots in (0, 1, 8))
    guess = 1 / len(DIGITS)
    assert abs(none - guess) < 3 * np.sqrt(guess * (1 - guess) / (TABLES * len(LETTERS))), (
        "nothing is known without a shot"
    )
    assert none + 0.05 < one, (none, one)
    assert one + 0.2 < eight, (one, eight)
    assert all(outcome.notes() == [] for outcome in found["true", 8]), "all eight fit"


def test_permuted_answers_hurt(found):
    assert accuracy(found["permuted", 8]) < accuracy(found["true", 8]) - 0.2
