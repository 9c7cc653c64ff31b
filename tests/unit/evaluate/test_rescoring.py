"""Choosing among hypotheses: weights of 0 change nothing, dev never gets worse, nothing beats the oracle."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.evaluate.rescoring import JUDGES, Weights, choose, fit, language_model_scores
from foreword.tasks.n_best import NBest, read_n_best, word_errors

DICE = np.random.default_rng(3)
WORDS = ["a", "nice", "beach", "speech", "wreck", "recognize", "to", "it"]


def edits(reference: tuple[str, ...], guess: tuple[str, ...]) -> int:
    """The recursive definition."""

    @cache
    def least(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        return min(least(i - 1, j) + 1, least(i, j - 1) + 1, least(i - 1, j - 1) + (reference[i - 1] != guess[j - 1]))

    return least(len(reference), len(guess))


def some(most: int = 7) -> tuple[str, ...]:
    return tuple(DICE.choice(WORDS[:4], DICE.integers(0, most)).tolist())


def test_word_errors_are_the_least_edits():
    for _ in range(500):
        reference, guess, third = some(), some(), some()
        assert word_errors(reference, guess) == edits(reference, guess)
        assert word_errors(reference, third) <= word_errors(reference, guess) + word_errors(guess, third)
    assert word_errors((), ("a", "b")) == word_errors(("a", "b"), ()) == 2


def corrupted(count: int, seed: int) -> tuple[list[NBest], list[np.ndarray]]:
    """Lists of six around a reference, a recogniser that is often wrong, and a language model that knows a little."""
    rng = np.random.default_rng(seed)
    lists, scores = [], []
    for _ in range(count):
        reference = rng.choice(WORDS, 6).tolist()
        texts = [
            " ".join(rng.choice(WORDS) if rng.random() < part else word for word in reference)
            for part in (0, 0.2, 0.2, 0.4, 0.6, 0.9)
        ]
        wrong = np.array([word_errors(reference, text.split()) for text in texts])
        order = rng.permutation(6)
        lists.append(
            NBest(tuple(texts[n] for n in order), (-wrong + rng.normal(0, 2, 6))[order], (" ".join(reference),))
        )
        scores.append((-3 * wrong + rng.normal(0, 4, 6))[order])
    return lists, scores


def worth(lists, scores, weights, metric="wer"):
    return JUDGES[metric].of(JUDGES[metric].columns(lists), choose(lists, scores, weights))


def test_without_weight_the_lists_own_order_stands():
    lists, scores = corrupted(50, 0)
    assert choose(lists, scores, Weights(0, 0)) == [int(np.argmax(one.scores)) for one in lists]
    assert choose(lists, scores, Weights(1e6, 0)) == [int(np.argmax(one)) for one in scores]


@pytest.mark.parametrize("metric", ["wer", "bleu"])
def test_dev_never_gets_worse_and_nothing_beats_the_oracle(metric):
    judge = JUDGES[metric]
    for seed in range(5):
        lists, scores = corrupted(40, seed)
        weights = fit(lists, scores, judge)
        before, after = worth(lists, scores, Weights(), metric), worth(lists, scores, weights, metric)
        best, worst = judge.limits(judge.columns(lists))
        assert judge.better * after >= judge.better * before
        assert judge.better * best >= judge.better * after >= judge.better * worst


@pytest.mark.thorough
def test_fitted_weights_help_on_other_lists_and_a_model_of_noise_does_not():
    """The control: scores that know nothing get nearly no weight, or what they get does not help elsewhere."""
    dev, test = corrupted(300, 1), corrupted(300, 2)
    judge = JUDGES["wer"]
    weights = fit(*dev, judge)
    before = worth(*test, Weights())
    assert worth(*test, weights) < 0.9 * before
    noise = [[np.random.default_rng(n + place).normal(0, 5, 6) for n in range(300)] for place in (0, 1000)]
    assert worth(test[0], noise[1], fit(dev[0], noise[0], judge)) > 0.97 * before


def test_what_a_model_calls_impossible_is_only_as_bad_as_its_weight():
    one = NBest(("a", "b"), np.array([0.0, -1.0]), ("a",))
    assert choose([one], [np.array([-np.inf, -1.0])], Weights(0, 0)) == [0]
    assert choose([one], [np.array([-np.inf, -1.0])], Weights(0.1, 0)) == [1]
    assert choose([one], [np.array([-np.inf, -np.inf])], Weights(0.1, 0)) == [0]


def test_the_nearest_of_several_references_counts():
    columns = JUDGES["wer"].columns([NBest(("a b",), np.zeros(1), ("x y z", "a b c d"))])
    assert columns[0].tolist() == [[2, 4]]


def test_lists_without_references_are_not_judged():
    with pytest.raises(Fault, match="list 2 has no reference"):
        JUDGES["wer"].columns([NBest(("a",), np.zeros(1), ("a",)), NBest(("a",), np.zeros(1), ())])


def test_a_hypothesis_costs_its_tokens_and_its_end(store):
    from types import SimpleNamespace

    from tests.known import Known

    tokenizer = store("byte").tokenizer
    known = Known(tokenizer)
    lists = [NBest(("ab", "b"), np.zeros(2), ()), NBest(("abc",), np.zeros(1), ())]
    found = language_model_scores(SimpleNamespace(tokenizer=tokenizer, language_model=known), lists)  # type: ignore[arg-type]
    end = known.vocabulary.end
    for one, scores in zip(lists, found):
        for text, score in zip(one.texts, scores):
            ids = [end, *tokenizer.encode(text), end]
            assert score == pytest.approx(sum(known.table[a, b] for a, b in zip(ids, ids[1:])))


# --- files ------------------------------------------------------------------------------------------------------------


def test_lists_are_read(tmp_path):
    path = tmp_path / "lists.jsonl"
    rows = [
        {"ref": "a b", "hyps": [{"text": "a", "score": -1}, {"text": "b", "am": -2.5}]},
        {"ref": ["x", "y"], "hyps": [{"text": "z", "score": 0}]},
        {"hyps": [{"text": "z", "score": 0}]},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_n_best(path)
    assert found[0].scores.tolist() == [-1, -2.5]
    assert [one.references for one in found] == [("a b",), ("x", "y"), ()]


def test_every_fault_has_its_file_and_line(tmp_path):
    path = tmp_path / "lists.jsonl"
    rows = [
        {"ref": "a", "hyps": [{"text": "a", "score": -1}]},
        {"ref": "a", "hyps": [{"text": "a", "score": -1}, {"text": "b"}]},
        {"ref": "a"},
        {"ref": "a", "hyps": ["a"]},
        {"ref": "a", "hyps": [{"text": "a", "score": "high"}]},
        {"ref": 7, "hyps": [{"text": "a", "score": -1}]},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(Fault) as said:
        read_n_best(path)
    text = str(said.value)
    for line, words in (
        (2, "hypothesis 2 has no score: 'score' must be a number (it says None)."),
        (3, "there are no hypotheses: 'hyps' must be a list of them."),
        (4, "hypothesis 1 has no 'text'."),
        (5, "hypothesis 1 has no score: 'score' must be a number (it says 'high')."),
        (6, "'ref' must be a text or a list of them (it says 7)."),
    ):
        assert f"{path}:{line}\n    {words}" in text
    assert f"{path}:1\n" not in text
    path.write_text("")
    with pytest.raises(Fault):
        read_n_best(path)
    with pytest.raises(Fault, match="is not there"):
        read_n_best(tmp_path / "gone.jsonl")
