"""Modified Kneser-Ney against the formulas, written again the slow way."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from foreword.basics.seeds import chance
from foreword.counts.smoothed import SmoothedNGram
from foreword.counts.smoothing import discounts
from foreword.tokens.vocabulary import Vocabulary


class BruteForce:
    """Chen & Goodman's formulas over tuples of tokens and sets of predecessors; nothing shared with the package."""

    def __init__(self, documents: list[list[int]], order: int, events: list):
        self.order, self.events = order, events
        raw: list[Counter] = [Counter() for _ in range(order + 1)]
        for document in documents:
            sentence = ["<s>", *document, "</s>"]
            for n in range(1, order + 1):
                for at in range(len(sentence) - n + 1):
                    raw[n][tuple(sentence[at : at + n])] += 1
        del raw[1][("<s>",)]
        self.counts = [Counter() for _ in range(order + 1)]
        self.counts[order] = raw[order]
        for n in range(1, order):
            before: dict[tuple, set] = {}
            for gram in raw[n + 1]:
                before.setdefault(gram[1:], set()).add(gram[0])
            for gram, count in raw[n].items():
                self.counts[n][gram] = count if gram[0] == "<s>" else len(before[gram])
        self.discounts = [None, *(self.discount(self.counts[n]) for n in range(1, order + 1))]

    @staticmethod
    def discount(counts: Counter) -> list[float]:
        n = Counter(counts.values())
        try:
            y = n[1] / (n[1] + 2 * n[2])
            found = [1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3]]
        except ZeroDivisionError:
            return [0, 0.5, 1, 1.5]
        return [0, *found] if all(0 <= d <= r for r, d in enumerate(found, 1)) else [0, 0.5, 1, 1.5]

    def p(self, word, history: tuple, n: int | None = None) -> float:
        n = self.order if n is None else n
        if n == 0:
            return 1 / len(self.events)
        history = history[len(history) - min(n - 1, len(history)) :]
        if len(history) < n - 1:
            return self.p(word, history, len(history) + 1)
        following = {w: self.counts[n][(*history, w)] for w in self.events if (*history, w) in self.counts[n]}
        if not following:
            return self.p(word, history[1:], n - 1)
        total, d = sum(following.values()), self.discounts[n]
        left = sum(d[min(count, 3)] for count in following.values()) / total
        own = following.get(word, 0)
        return max(own - d[min(own, 3)], 0) / total + left * self.p(word, history[1:], n - 1)


def split(ids: np.ndarray, end: int) -> list[list[int]]:
    return [part[part != end].tolist() for part in np.split(ids, np.flatnonzero(ids == end) + 1)][:-1]


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_it_equals_the_formulas_by_brute_force(order, vocabulary, train, held_out):
    end = vocabulary.end
    model = SmoothedNGram(order=order).build(vocabulary)
    model.count(train)
    model.estimate(None)
    slow = BruteForce(split(train, end), order, [*range(12), "</s>"])
    for mine, theirs in zip(model.fitted["discounts"], slow.discounts[1:]):
        np.testing.assert_allclose(mine, theirs[1:], rtol=0, atol=1e-12)
    for document in [*split(held_out, end), [], [11], [0, 10, 0]]:
        ids = np.array([end, *document, end])
        expected, history = [], ("<s>",)
        for word in [*document, "</s>"]:
            expected.append(np.log(slow.p(word, history)))
            history += (word,)
        np.testing.assert_allclose(model.score([ids], [1])[0], expected, rtol=0, atol=1e-12)
    # a context that begins in the middle of a document has no begin symbol
    got = model.score([held_out[1:4]], [1])[0]
    assert end not in held_out[1:4]
    expected = [np.log(slow.p(int(held_out[j]), tuple(map(int, held_out[1:j])))) for j in (2, 3)]
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_all_strings_together_have_probability_one(order):
    vocabulary, rng = Vocabulary(size=4, end=3, silent=()), chance(3)
    model = SmoothedNGram(order=order).build(vocabulary)
    model.count(np.append(rng.integers(0, 4, 300), 3))
    model.estimate(None)
    longest, total = 6, 0.0
    for length in range(longest + 1):
        strings = [np.array([3, *string, 3]) for string in itertools.product(range(3), repeat=length)]
        total += sum(np.exp(scores.sum()) for scores in model.score(strings, [1] * len(strings)))
    longer = [np.array([3, *string]) for string in itertools.product(range(3), repeat=longest + 1)]
    total += sum(np.exp(scores.sum()) for scores in model.score(longer, [1] * len(longer)))
    assert abs(total - 1) < 1e-10


def test_a_text_without_singletons_falls_back_and_says_so_once(capsys):
    vocabulary = Vocabulary(size=5, end=4, silent=())
    model = SmoothedNGram(order=3).build(vocabulary)
    model.count(np.array([0, 1, 2, 4] * 50))
    model.estimate(None)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "order 1, 2, 3" in said
    assert "0.5/1.0/1.5" in said
    np.testing.assert_array_equal(model.fitted["discounts"], [[0.5, 1, 1.5]] * 3)
    log_probs, _ = model.begin([np.array([], int), np.array([0, 1]), np.array([3, 3])])
    np.testing.assert_allclose(np.exp(log_probs).sum(1), 1, rtol=0, atol=1e-10)
    assert log_probs[0].argmax() == 0
    assert log_probs[1].argmax() == 2


def test_a_text_that_is_usual_says_nothing(capsys):
    rng = chance(4)
    vocabulary = Vocabulary(size=500, end=499, silent=())
    model = SmoothedNGram(order=2).build(vocabulary)
    model.count(np.minimum(rng.zipf(1.4, 3000), 499))
    model.estimate(None)
    assert capsys.readouterr().err == ""


def test_discounts_that_would_be_negative_are_not_used():
    assert (
        discounts(np.bincount(np.repeat([1, 2, 3, 4], [10, 2, 2, 60]), minlength=6)) is None
    )  # D3 = 3 - 4 Y n4 / n3 < 0
    assert discounts(np.bincount(np.repeat([1, 2, 3, 4], [10, 5, 3, 2]), minlength=6)) is not None
    assert discounts(np.bincount(np.repeat([1, 2, 4], [10, 5, 3]), minlength=6)) is None  # nothing occurs three times


def test_a_token_seen_in_many_contexts_beats_one_seen_often_in_one():
    """The San Francisco effect: Francisco is frequent, but follows only San."""
    san, francisco, glasses, end = 0, 1, 2, 10
    others = range(3, 10)
    documents = [[san, francisco]] * 30 + [[other, glasses] for other in others]
    model = SmoothedNGram(order=2).build(Vocabulary(size=11, end=end, silent=()))
    model.count(np.concatenate([[*document, end] for document in documents]))
    model.estimate(None)
    after_new_history, _ = model.begin([np.array([francisco])])
    assert after_new_history[0, glasses] > after_new_history[0, francisco]


def test_bytes_can_be_counted_to_order_ten(capsys):
    text = np.frombuffer(("to be or not to be, that is the question: " * 40).encode(), np.uint8).astype(int)
    vocabulary = Vocabulary(size=257, end=256, silent=())
    model = SmoothedNGram(order=10).build(vocabulary)
    model.count(text)
    model.estimate(None)
    bits = -model.score([np.append(256, text)], [1])[0].mean() / np.log(2)
    assert bits < 0.6  # half of each count beyond two is given away, so a refrain still costs something
    log_probs, _ = model.begin([text[:7], text[:3], text[5:30]])
    np.testing.assert_allclose(np.exp(log_probs).sum(1), 1, rtol=0, atol=1e-10)
