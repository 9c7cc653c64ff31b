"""Paragraph vectors: one epoch against a plain loop, what inference leaves alone, and topics that were planted."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest

from foreword.assembly import loader
from foreword.basics.messages import Fault, Faults
from foreword.basics.seeds import chance
from foreword.batches.row import Row
from foreword.objectives.paragraph import DistributedBagOfWords, DistributedMemory
from foreword.runs.train import train
from foreword.tokens.vocabulary import Vocabulary
from foreword.training.online import OnlineTraining
from foreword.vectors.documents import DocumentVectors
from foreword.vectors.table import DocumentTable
from foreword.vectors.words import WordVectors
from tests.tiny import tiny

END, UNKNOWN, LINE, FIRST = 0, 1, 2, 3
WORDS, WIDTH = 30, 6
WAYS = [
    DistributedMemory(pool="mean"),
    DistributedMemory(pool="word_mean", sides="before"),
    DistributedMemory(pool="sum", negatives=0),
    DistributedMemory(pool="concatenation", sides="before"),
    DistributedMemory(pool="concatenation", negatives=0),
    DistributedBagOfWords(words=False),
    DistributedBagOfWords(words=True, negatives=0),
]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.kind}-{way.pool}-{way.negatives}")


def made(documents: int, words: int = WORDS, width: int = WIDTH) -> DocumentTable:
    pieces = ("<end>", "<unk>", "\n", *(f"w{n}" for n in range(FIRST, words)))
    counts = np.arange(words) % 7 + 1
    table = DocumentTable(Vocabulary(words, END, (), pieces, counts, UNKNOWN, documents), width)
    table.begin(3)
    return table


def plain_loop(way, table, made, documents, rate, seed):
    """Le & Mikolov's loop over documents in float64, written from the formulas: no window shrinks and no word is left out."""
    words, own, outputs = (array.astype(np.float64) for array in (table.vectors, table.documents, table.outputs))
    place = 0
    before, after = way.window, 0 if way.sides == "before" else way.window
    for number, text in enumerate(documents):
        for at, word in enumerate(text):
            near = [*range(max(0, at - before), at), *range(at + 1, min(len(text), at + after + 1))]
            if way.pool == "concatenation":
                there = [*range(at - before, at), *range(at + 1, at + after + 1)]
                inputs = [("d", number), *(("w", text[p] if 0 <= p < len(text) else END) for p in there)]
            else:
                inputs = [("d", number), *(("w", text[p]) for p in near if getattr(way, "words", True))]
            groups = [[one] for one in inputs] if way.pool == "each" else [inputs]
            for guess, group in enumerate(groups):
                rows = [own[row] if which == "d" else words[row] for which, row in group]
                if way.pool == "concatenation":
                    hidden = np.array(rows)
                else:
                    divisor = {"mean": len(rows), "word_mean": len(rows) - 1 or 1}.get(way.pool, 1)
                    hidden = sum(rows) / divisor
                learned = np.zeros_like(hidden)
                for output, wanted in zip(*made.how.guessed(word, seed, place, guess)):
                    error = rate * (wanted - 1 / (1 + math.exp(-float((hidden * outputs[output]).sum()))))
                    learned = learned + error * outputs[output]
                    outputs[output] = outputs[output] + error * hidden
                for place_in_group, (which, row) in enumerate(group):
                    part = learned[place_in_group] if way.pool == "concatenation" else learned
                    (own if which == "d" else words)[row] += part
            place += 1
    return words, own, outputs


@every_way
def test_an_epoch_of_fifty_documents_is_that_of_a_plain_loop(way):
    draw = np.random.default_rng(1)
    documents = [draw.integers(FIRST, WORDS, size=draw.integers(1, 20)) for _ in range(50)]
    way = way.model_copy(update={"shrink": False, "subsample": 0.0, "window": 3})
    table = made(50)
    guessing = way.prepare(table)
    table.outputs[:] = draw.normal(0, 0.5, table.outputs.shape)
    assert table.outputs.shape == ((WORDS, way.joined, WIDTH) if way.joined > 1 else (WORDS, WIDTH))
    words, own, outputs = plain_loop(way, table, guessing, [text.tolist() for text in documents], 0.1, 9)
    before = table.documents.copy()
    way.learn(table, guessing, [Row(text, n, 0, document=n) for n, text in enumerate(documents)], 0.1, 9)
    for ours, plain in ((table.vectors, words), (table.documents, own), (table.outputs, outputs)):
        assert np.allclose(ours, plain, atol=1e-5)
    assert (abs(table.documents - before).max(1) > 1e-3).all()


def fitted(way, texts, epochs=30, width=8) -> DocumentVectors:
    """A table that has learned from texts of ids."""
    table = made(len(texts), width=width)
    table.counts = np.bincount(np.concatenate(texts), minlength=WORDS)
    learner = OnlineTraining(learning_rate=0.1).learner(table, way, None)
    for step in range(epochs):
        order = chance(step).permutation(len(texts))
        learner.step([Row(texts[n], int(n), 0, document=int(n)) for n in order], step, step / epochs)
    return DocumentVectors("fitted", table, None, {"objective": way.model_dump()})


def planted(draw, documents: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Documents of three topics: half of the words are one of the six of a topic, half one of the nine that all have."""
    topics = draw.integers(3, size=documents)
    common = [draw.random(60) < 0.5 for _ in topics]
    return [
        np.where(any_topic, FIRST + 18 + draw.integers(9, size=60), FIRST + 6 * topic + draw.integers(6, size=60))
        for topic, any_topic in zip(topics, common)
    ], topics


@every_way
def test_documents_of_one_topic_are_neighbours_and_new_ones_join_them(way):
    draw = np.random.default_rng(0)
    texts, topics = planted(draw, 60)
    new, wanted = planted(draw, 30)
    vectors = fitted(way.model_copy(update={"subsample": 0.0, "window": 1}), texts)

    def right(found):
        near = found / np.linalg.norm(found, axis=1, keepdims=True) @ vectors._unit_documents.T
        return (topics[near.argmax(1)] == wanted).mean()

    assert right(vectors.infer(new, 50, 0.05, 0)) == 1.0
    assert right(draw.normal(size=(30, 8))) < 0.7


def digest(table) -> str:
    return hashlib.sha256(b"".join(table.arrays()[name].tobytes() for name in sorted(table.arrays()))).hexdigest()


@every_way
def test_inference_leaves_every_table_as_it_was_and_does_not_see_its_neighbours(way):
    draw = np.random.default_rng(0)
    texts, _ = planted(draw, 20)
    vectors = fitted(way, texts, epochs=3)
    before = digest(vectors.table)
    together = vectors.infer([*texts, np.array([END, UNKNOWN]), np.zeros(0, np.int64)], 5, 0.05, 0)
    assert digest(vectors.table) == before
    assert (together[-2:] == 0).all()  # no known word
    for number in (0, 7):
        assert (vectors.infer([texts[number]], 5, 0.05, 0)[0] == together[number]).all()
    assert (vectors.infer([texts[0]], 5, 0.05, 1)[0] != together[0]).any()
    learner = OnlineTraining().learner(vectors.table, way, None)
    learner.step([Row(texts[0], 0, 0, document=0)], 0, 0.0)
    assert digest(vectors.table) != before


def test_the_documents_of_a_step_are_the_only_ones_that_move():
    way, texts = DistributedMemory(), planted(np.random.default_rng(0), 5)[0]
    table = made(5)
    guessing = way.prepare(table)
    table.outputs[:] = 0.3
    before = table.documents.copy()
    way.learn(table, guessing, [Row(texts[3], 0, 0, document=3)], 0.1, 0)
    assert (table.documents != before).any(1).tolist() == [False, False, False, True, False]


def test_a_run_opens_infers_and_names_documents(stores, tmp_path):
    run = train(tiny("paragraph"), stores["byte_bpe"], tmp_path / "run")
    vectors = WordVectors.opened(run.path)
    assert isinstance(vectors, DocumentVectors)
    text = "The if statement is used for conditional execution."
    found = vectors.embed([text, "", "while"])
    assert found.shape == (3, 32)
    assert (vectors.embed(text)[0] == found[0]).all()
    assert not found[1].any()
    assert (vectors.embed(text, pool="mean") != found[0]).any()
    assert (vectors.features([text])[0] == found[0]).all()  # what a classifier reads is inferred
    near = vectors.nearest_documents(text, 3)
    assert len(near) == 3
    assert 0 not in [number for number, _ in vectors.nearest_documents(0, 5)]
    assert isinstance(vectors.document(near[0][0]), str)
    with pytest.raises(Fault, match="is not one of them"):
        vectors.nearest_documents(10_000)


def test_rows_that_are_no_documents_are_a_fault_of_the_recipe():
    with pytest.raises((Fault, Faults), match=r"learns from batches.kind = 'documents' only"):
        loader.load("paragraph", "", ['batches.kind="runs"'])
