"""What counting pairs of words is worth: sentences with a gap, school questions, and GloVe's vectors, each with shuffled text."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from foreword.assembly import loader
from foreword.runs.train import train
from foreword.tasks.task import load
from foreword.text.stop_words import ENGLISH
from foreword.tokens.build import build_store
from foreword.tokens.kinds import Words
from foreword.vectors.evaluation import analogies, word_similarity
from foreword.vectors.solver import solve, together
from foreword.vectors.words import WordVectors

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def science(data, tmp_path_factory) -> Path:
    """A run over AI2's science sentences."""
    folder = tmp_path_factory.mktemp("science")
    build_store(
        [data / "ai2-science/science_sentences.txt"], folder / "store", Words(minimum=2), fractions=(1.0, 0.0, 0.0)
    )
    train(loader.load("pmi"), folder / "store", folder / "run")
    return folder


def test_a_gap_is_filled_from_the_text_and_not_from_shuffled_text(science, data):
    """A sentence without one of its words; the others to choose from are as frequent."""
    vectors, draw = WordVectors.opened(science / "run"), np.random.default_rng(0)
    lines = (data / "ai2-science/science_sentences.txt").read_text(encoding="utf-8").splitlines()
    counts, pieces = vectors.table.counts, vectors.table.vocabulary.pieces
    content = [
        id for id in np.argsort(-counts) if pieces[id].isalpha() and pieces[id] not in ENGLISH and counts[id] > 4
    ]
    rank = {pieces[id]: at for at, id in enumerate(content)}
    with open(science / "gaps.jsonl", "w", encoding="utf-8") as file:
        for number in draw.permutation(len(lines))[:400]:
            words = [word for word in lines[number].lower().split() if word in rank]
            if len(words) < 4:
                continue
            gap = str(draw.choice(words))
            near = [at for at in range(rank[gap] - 20, rank[gap] + 21) if 0 <= at < len(content) and at != rank[gap]]
            choices = [gap, *(pieces[content[at]] for at in draw.choice(near, 3, replace=False))]
            order = draw.permutation(4)
            stem = " ".join(word for word in words if word != gap)
            row = {"stem": stem, "choices": [choices[at] for at in order], "gold": int(np.flatnonzero(order == 0)[0])}
            file.write(json.dumps(row) + "\n")
    own, control = solve(vectors, load(str(science / "gaps.jsonl"))[0])
    assert own.right / len(own.judged) > 0.25 + 0.10
    assert abs(control.right / len(control.judged) - 0.25) < 3.29 * np.sqrt(0.25 * 0.75 / len(control.judged))


def test_school_questions_are_answered_above_chance_and_not_from_shuffled_text(science):
    vectors = WordVectors.opened(science / "run")
    found = together([one for task in load("ai2-science") for one in solve(vectors, task, split="train")])
    own, control = (one for one in found if one.task == "ai2-science, all")
    assert own.p < 0.01
    assert control.p > 0.01


def test_gloves_vectors_know_what_shuffled_text_does_not_teach(data, tmp_path):
    files = [data / f"wikitext-2/train.part{part}.txt" for part in (1, 2)]
    build_store(files, tmp_path / "store", Words(minimum=5), fractions=(1.0, 0.0, 0.0))
    similar, solved = {}, {}
    for name, settings in {"text": [], "shuffled": ["batches.shuffled=true"]}.items():
        recipe = loader.load("glove", "", ['training.budget="15epochs"', "network.width=50", *settings])
        train(recipe, tmp_path / "store", tmp_path / name)
        vectors = WordVectors.opened(tmp_path / name)
        similar[name] = word_similarity(vectors, data / "word-sim/wordsim353.tsv")
        solved[name] = analogies(vectors, data / "word-sim/questions-words.txt")
    assert similar["text"].interval[0] > 0 > similar["shuffled"].interval[0]
    assert solved["text"].interval[0] > solved["shuffled"].interval[1]
