"""Skip-gram with negative sampling, against the formula."""

from __future__ import annotations

import numpy as np

from foreword.objectives.skip_gram import SkipGram
from foreword.tokens.vocabulary import Vocabulary
from foreword.training.online import OnlineTraining
from foreword.vectors.table import VectorTable


def table(words: int, width: int, counts=None) -> VectorTable:
    made = VectorTable(Vocabulary(words, -1, (), counts=counts), width)
    made.begin(3)
    return made


def test_an_update_is_one_step_along_the_gradient():
    made = table(6, 4)
    made.outputs[:] = np.random.default_rng(0).normal(0, 0.5, made.outputs.shape)
    before, guessed = {name: array.astype(np.float64) for name, array in made.arrays().items()}, np.array([2, 3, 5])

    def cost(vectors, outputs):
        scores = outputs[guessed] @ vectors[1]
        signs = np.array([1, -1, -1])
        return np.log1p(np.exp(-signs * scores)).sum()

    found = SkipGram().update(made, 1, guessed, 0.1)
    assert np.isclose(found, cost(*before.values()), rtol=1e-5)
    for name in before:
        for place in np.ndindex(made.vectors.shape):
            moved = {key: array.copy() for key, array in before.items()}
            moved[name][place] += 1e-6
            slope = (cost(*moved.values()) - cost(*before.values())) / 1e-6
            assert np.isclose(made.arrays()[name][place], before[name][place] - 0.1 * slope, atol=1e-4), (name, place)


def test_negatives_are_drawn_by_frequency_to_the_three_quarters():
    counts = np.array([1000, 100, 10, 0])
    noise = SkipGram().noise(table(4, 2, counts))
    drawn = np.bincount(np.searchsorted(noise, np.random.default_rng(0).random(200_000)), minlength=4) / 200_000
    wanted = counts**0.75 / (counts**0.75).sum()
    assert np.allclose(drawn, wanted, atol=0.004)
    assert not np.allclose(drawn, counts / counts.sum(), atol=0.02)


def test_words_of_one_topic_become_neighbours():
    """Two topics that never meet: every word's nearest is of its own."""
    draw, made = np.random.default_rng(0), table(20, 8, np.ones(20))
    learner = OnlineTraining(learning_rate=0.1).learner(made, SkipGram(window=3), None)
    for step in range(60):
        texts = [draw.integers(10, size=40) + 10 * (number % 2) for number in range(8)]
        learner.step([type("Row", (), {"ids": text})() for text in texts], step, step / 60)
    for word in range(20):
        nearest, cosine = made.neighbours(made.vectors[word], 1, (word,))[0]
        assert nearest // 10 == word // 10, word
        assert cosine > 0
