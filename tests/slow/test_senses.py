"""What a bidirectional language model learns without labels, planted: which of two senses a word has in its sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import foreword
from foreword.assembly import loader
from foreword.basics.seeds import chance
from foreword.runs.folder import RunFolder
from foreword.runs.train import train
from foreword.tokens.build import build_store
from foreword.training.hardware import Hardware

pytestmark = pytest.mark.slow
FRUIT = ("sweet", "ripe", "peel", "juice", "yellow", "market", "eat", "bowl")
HOUSE = ("open", "wooden", "lock", "handle", "hinge", "knock", "hall", "key")


def trained(folder: Path, name: str, lines: list[str], settings: list[str]) -> RunFolder:
    folder.mkdir(exist_ok=True)
    (folder / "text.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    recipe = loader.load(name, "laptop", ['tokenizer={ kind = "word" }', "training.batch_size=16", *settings])
    build_store([folder / "text.txt"], folder / "store", recipe.tokenizer, documents="line", workers=1)
    return train(recipe, folder / "store", folder / "run", hardware=Hardware())


def sentence(fruit: bool, rng: np.random.Generator) -> str:
    """Banana and door are written alike; the words around say which was meant."""
    words = FRUIT if fruit else HOUSE
    said = [words[place] for place in rng.integers(len(words), size=6)]
    said.insert(int(rng.integers(1, 6)), "bananadoor")
    return " ".join(said)


def sense_accuracy(model: foreword.model.LoadedModel, layer: int) -> float:
    """A linear probe on the vector of the word; half of the sentences teach it, none was read in training."""
    rng = chance(33)
    meant = [bool(rng.integers(2)) for _ in range(600)]
    vectors = model.in_context("bananadoor", [sentence(fruit, rng) for fruit in meant], layer)
    from sklearn.linear_model import LogisticRegression

    return float(LogisticRegression(max_iter=500).fit(vectors[:300], meant[:300]).score(vectors[300:], meant[300:]))


def test_layers_above_the_words_know_which_of_two_senses_is_meant(tmp_path: Path) -> None:
    rng = chance(31)
    lines = [sentence(number % 2 == 0, rng) for number in range(2000)]
    settings = ["network.width=32", "network.cell.projection=16", "network.embedding=16", "head.samples=16"]
    settings += ["batches.length=8", 'network.words={ kind = "table" }']
    run = trained(tmp_path / "elmo", "elmo", lines, [*settings, 'training.budget="300"'])
    model = foreword.load(run.path)
    found = [sense_accuracy(model, layer) for layer in (0, 1, 2)]
    print(f"which sense, by layer: {', '.join(f'{one:.3f}' for one in found)}")
    assert found[0] < 0.6, "layer 0 says the same of a word everywhere"
    assert max(found[1:]) > 0.8
    for weight in model.with_heads.network.parameters():
        torch.nn.init.normal_(weight, 0.0, 0.1)  # the control knows no word
    print(f"untrained, layers 1 and 2: {[round(sense_accuracy(model, layer), 3) for layer in (1, 2)]}")
