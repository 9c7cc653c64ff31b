"""Skip-gram and CBOW: the windows of the text, and what is learned from it."""

from __future__ import annotations

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance
from foreword.batches.row import Row
from foreword.objectives.skip_gram import ContinuousBagOfWords, SkipGram
from foreword.tokens.vocabulary import Vocabulary
from foreword.training.online import OnlineTraining
from foreword.vectors.contexts import Contexts, kept_shares
from foreword.vectors.table import VectorTable

END, UNKNOWN, LINE = 0, 1, 2


def table(words: int, width: int, counts=None) -> VectorTable:
    pieces = ("<end>", "<unk>", "\n", *(f"w{n}" for n in range(3, words)))
    made = VectorTable(Vocabulary(words, END, (), pieces, counts, unknown=UNKNOWN), width)
    made.begin(3)
    return made


def test_windows_end_with_the_line_and_the_document_and_unknown_words_leave_the_text_first():
    contexts = Contexts(table(10, 4), 2, 0.0, "code", shrink=False)
    text = contexts.stretch([np.array([3, 4, UNKNOWN, 5, LINE, 6, 7, END, 8]), np.array([9, 3])], chance(0))
    assert text.ids.tolist() == [3, 4, 5, 6, 7, 8, 9, 3]
    around = [text.around(place) for place in range(8)]
    assert around == [[4, 5], [3, 5], [3, 4], [7], [6], [], [3], [9]]


def test_each_word_draws_how_far_it_sees():
    contexts = Contexts(table(100, 4), 5, 0.0, "code", shrink=True)
    text = contexts.stretch([np.full(20_000, 50)], chance(0))
    reach = (text.last - text.first)[10:-10] // 2
    assert np.allclose(np.bincount(reach, minlength=6)[1:] / len(reach), 0.2, atol=0.02)


def test_frequent_words_are_left_out_by_either_formula():
    counts = np.array([90_000, 9_000, 900, 100])
    shares = counts / counts.sum()
    assert np.allclose(kept_shares(counts, 1e-3, "paper"), np.minimum(1, np.sqrt(1e-3 / shares)))
    assert np.allclose(kept_shares(counts, 1e-3, "code"), np.minimum(1, (np.sqrt(shares / 1e-3) + 1) * 1e-3 / shares))
    assert (kept_shares(counts, 0.0, "code") == 1).all()
    contexts = Contexts(table(5, 4, np.array([0, 0, 0, 90_000, 100])), 5, 1e-3, "code", shrink=False)
    text = contexts.stretch([np.full(100_000, 3)], chance(0))
    assert len(text.ids) / 100_000 == pytest.approx(contexts.kept[3], abs=0.003)


def test_no_word_to_learn_from_is_a_sentence():
    with pytest.raises(Fault, match=r"no word is left to learn from.*\n.*tokenizer.minimum=1"):
        SkipGram().prepare(table(4, 4, np.array([5, 9, 3, 0])))


@pytest.mark.parametrize(
    "settings", [{}, {"negatives": 0}, {"kind": "cbow"}, {"kind": "cbow", "negatives": 0}], ids=str
)
def test_words_of_one_topic_become_neighbours(settings):
    """Two topics that never meet: every word's nearest is of its own. Words shuffled across topics have no such neighbours."""
    cls = ContinuousBagOfWords if settings.get("kind") else SkipGram

    def of_its_own(mixed: bool) -> float:
        draw, made = np.random.default_rng(0), table(23, 8, np.ones(23))
        objective = cls(**{**settings, "window": 3, "subsample": 0.0})
        learner = OnlineTraining(learning_rate=0.1).learner(made, objective, None)
        for step in range(80):
            texts = [draw.integers(10, size=40) + 3 + 10 * (number % 2) for number in range(8)]
            if mixed:
                texts = np.split(draw.permutation(np.concatenate(texts)), 8)
            learner.step([Row(text, number, 0) for number, text in enumerate(texts)], step, step / 80)
        vectors = made.vectors[3:] / np.linalg.norm(made.vectors[3:], axis=1, keepdims=True)
        cosines = vectors @ vectors.T - 3 * np.eye(20)
        return float(np.mean(cosines.argmax(1) // 10 == np.arange(20) // 10))

    assert of_its_own(mixed=False) == 1.0
    assert of_its_own(mixed=True) < 1.0


def test_a_budget_reads_little_text_more_often_but_not_by_heart():
    spec = OnlineTraining()
    assert spec.spending(1e9).written == "5epochs"
    assert spec.spending(400_000).amount == 10
    assert spec.spending(1000).amount == 30
    assert OnlineTraining(budget="6epochs").spending(1000).amount == 6
    assert OnlineTraining(budget="9").spending(1000).unit == "steps"
