"""What recurrent networks learn without labels, planted: senses of a word, which expert is whose, and what tuning is worth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import foreword
from foreword.assembly import loader
from foreword.basics.seeds import chance
from foreword.networks.base import Inputs
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


# --- ELMo: two words written as one -------------------------------------------------------------------------------------


def sentence(fruit: bool, dice: np.random.Generator) -> str:
    """Banana and door are written alike; the words around say which was meant."""
    words = FRUIT if fruit else HOUSE
    said = [words[place] for place in dice.integers(len(words), size=6)]
    said.insert(int(dice.integers(1, 6)), "bananadoor")
    return " ".join(said)


def sense_accuracy(model: foreword.model.LoadedModel, layer: int) -> float:
    """A linear probe on the vector of the word; half of the sentences teach it, none was read in training."""
    dice = chance(33)
    meant = [bool(dice.integers(2)) for _ in range(600)]
    vectors = model.in_context("bananadoor", [sentence(fruit, dice) for fruit in meant], layer)
    from sklearn.linear_model import LogisticRegression

    return float(LogisticRegression(max_iter=500).fit(vectors[:300], meant[:300]).score(vectors[300:], meant[300:]))


def test_layers_above_the_words_know_which_of_two_senses_is_meant(tmp_path: Path) -> None:
    dice = chance(31)
    lines = [sentence(number % 2 == 0, dice) for number in range(2000)]
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


# --- experts: whose language is it? -------------------------------------------------------------------------------------

LANGUAGES, WORDS = 4, 24


def spoken(language: int, dice: np.random.Generator) -> str:
    """The same words in all; which follows which differs: in each, a permutation of its own."""
    follows, word, said = chance(41, language).permutation(WORDS), int(dice.integers(WORDS)), []
    for _ in range(24):
        said.append(f"w{word}")
        word = int(follows[word]) if dice.random() < 0.9 else int(dice.integers(WORDS))
    return " ".join(said)


def information(joint: np.ndarray) -> float:
    """Bits that one of two says of the other, from counts."""
    joint = joint / joint.sum()
    apart = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    return float((joint[joint > 0] * np.log2(joint[joint > 0] / apart[joint > 0])).sum())


def test_experts_take_sides(tmp_path: Path) -> None:
    dice = chance(42)
    lines = [spoken(number % LANGUAGES, dice) for number in range(1600)]
    settings = ["network.width=32", "network.layers=2", "network.between.experts=8", "network.between.active=2"]
    settings += [
        "network.between.hidden=32",
        "batches.length=24",
        'training.budget="600"',
        "training.optimizer.learning_rate=5e-3",
    ]
    run = trained(tmp_path / "moe", "moe-lstm", lines, settings)
    model = foreword.load(run.path)
    network, counts, chosen = model.with_heads.network, np.zeros((LANGUAGES, 8)), list[torch.Tensor]()
    network.cell.between[0].gate.register_forward_hook(lambda _, given, said: chosen.append(said.experts[:, 0]))
    for language in range(LANGUAGES):
        ids = [model.tokenizer.encode(spoken(language, dice)) for _ in range(40)]
        with torch.inference_mode():
            network(Inputs(torch.tensor(ids)))
        counts[language] = np.bincount(chosen[-1].numpy(), minlength=8)
    shuffled = np.tile(counts.sum(0) / LANGUAGES, (LANGUAGES, 1))
    print(
        f"bits that the expert says of the language: {information(counts):.3f} of {np.log2(LANGUAGES):.0f}; {counts.tolist()}"
    )
    assert information(counts) > 0.5
    assert information(shuffled) < 1e-9
