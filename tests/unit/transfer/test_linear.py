"""Linear labellers: what is saved is what was fitted, for texts, pairs and numbers; naive Bayes by its definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from foreword.tasks.example import Example
from foreword.transfer.baselines import TfIdf
from foreword.transfer.linear import LinearLabeller, NaiveBayesRegression, Setting, fitted, naive_bayes
from foreword.transfer.self_training import taught
from tests.labelled import BAD, GOOD, phrase


def examples(count: int, seed: int = 0) -> list[Example]:
    draw = np.random.default_rng(seed)
    found = []
    for number in range(count):
        label, words = ("yes", GOOD) if number % 2 else ("no", BAD)
        found.append(Example(str(number), (phrase(draw, 6, words[int(draw.integers(4))]),), label))
    return found


def pairs(count: int) -> list[Example]:
    draw = np.random.default_rng(1)
    found = []
    for number in range(count):
        first = phrase(draw, 5, GOOD[number % 4])
        second = phrase(draw, 5, GOOD[number % 4] if number % 2 else BAD[number % 4])
        found.append(Example(str(number), (first, second), float(number % 2)))
    return found


def no_model(folder):
    raise AssertionError(f"{folder}: counts need no model")


@pytest.mark.parametrize("kind", ["classify", "similarity"])
def test_what_is_saved_answers_the_same(kind, tmp_path):
    train = examples(40) if kind == "classify" else pairs(40)
    blocks = [TfIdf(), TfIdf(characters=True)]
    [made] = fitted(kind, train, blocks, [Setting((1.0, 0.5), 10.0)])
    made.save(tmp_path / "model")
    opened = LinearLabeller.opened(tmp_path / "model", no_model)
    np.testing.assert_allclose(opened.shares(train), made.shares(train), atol=1e-6)
    assert [one.label for one in opened.answers(train)] == [one.label for one in made.answers(train)]
    if kind == "classify":
        np.testing.assert_allclose(made.shares(train).sum(1), 1.0)
        assert np.mean([one.label == example.label for one, example in zip(made.answers(train), train)]) == 1.0


def test_shares_are_those_of_scikit_learn():
    train = examples(40)
    train += [Example("x", (example.texts[0] + " house house",), "third") for example in train[:12]]
    block = TfIdf()
    [made] = fitted("classify", train, [block], [Setting((1.0,), 1.0)])
    features = block.of([example.texts for example in train])
    model = LogisticRegression(C=1.0, solver="newton-cg", max_iter=200).fit(features, [one.label for one in train])
    assert made.labels == tuple(model.classes_)
    np.testing.assert_allclose(made.shares(train), model.predict_proba(features), atol=1e-6)


def test_a_block_that_weighs_nothing_changes_nothing():
    train = examples(40)
    [both] = fitted("classify", train, [TfIdf(), TfIdf(characters=True)], [Setting((1.0, 0.0), 1.0)])
    [alone] = fitted("classify", train, [TfIdf()], [Setting((1.0,), 1.0)])
    [other] = fitted("classify", train, [TfIdf(), TfIdf(characters=True)], [Setting((1.0, 1.0), 1.0)])
    np.testing.assert_allclose(both.shares(train), alone.shares(train), atol=1e-6)
    assert np.abs(other.shares(train) - alone.shares(train)).max() > 0.01


def test_naive_bayes_scales_counts_by_their_log_ratio():
    counts = np.asarray([[1, 0, 1], [1, 1, 0], [0, 1, 0], [0, 1, 1]], np.float32)
    labels = ["a", "a", "b", "b"]
    made = NaiveBayesRegression(1.0).fit(csr_matrix(counts), labels)
    p, q = counts[2:].sum(0) + 1, counts[:2].sum(0) + 1  # for the second class
    ratio = np.log(p / p.sum()) - np.log(q / q.sum())
    model = LogisticRegression(C=1.0, solver="liblinear").fit(counts * ratio, np.asarray(labels) == "b")
    np.testing.assert_allclose(made.coef_, model.coef_ * ratio, rtol=1e-4, atol=1e-6)
    [labeller] = fitted("classify", examples(40), [TfIdf(binary=True)], [Setting((1.0,), 1.0)], naive_bayes)
    test = examples(40, seed=5)
    assert np.mean([one.label == example.label for one, example in zip(labeller.answers(test), test)]) > 0.95


def test_a_student_learns_words_that_only_unlabelled_text_has():
    """'lovely' stands beside 'good' in unlabelled text only."""
    train = [Example("1", ("good film",), "yes"), Example("2", ("bad film",), "no")] * 6
    more = ["good lovely day"] * 10 + ["bad grim day"] * 10
    setting = Setting((1.0,), 10.0)
    block = TfIdf().fit([(text,) for text in [*more, "good film", "bad film"]])
    model = fitted("classify", train, [TfIdf()], [setting])[0]
    features = block.of([one.texts for one in train])
    known = LogisticRegression(C=10.0).fit(features, [one.label for one in train])
    teacher = replace(model, blocks=(block,), coefficients=known.coef_, intercepts=known.intercept_)
    student = taught(teacher, train, more, setting)
    asked = [Example("3", ("lovely",), None), Example("4", ("grim",), None)]
    before, after = teacher.shares(asked), student.shares(asked)
    assert before[0] == pytest.approx(before[1])  # the teacher does not know them
    yes = student.labels.index("yes")
    assert after[0, yes] - after[1, yes] > 0.05
