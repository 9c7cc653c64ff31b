"""Folds, the look at labels, the race's comparisons and the learning curve."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from foreword.compare.advise.curve import extended, through
from foreword.compare.advise.looking import disagreements, label_facts, language_of
from foreword.compare.advise.problem import Problem, log_loss, same_text, sizes
from foreword.compare.advise.race import CandidateRace, Clock, average
from foreword.compare.advise.trials import KeptTrials, Trial
from foreword.compare.advise.without_labels import ranks
from foreword.tasks import LABELLED_KINDS
from foreword.tasks.example import Example
from foreword.tasks.labelled_task import LabelledTask
from foreword.tasks.metrics import Proportion
from tests.labelled import BAD, COLUMNS, GOOD, phrase


def task(train: list[Example], test: list[Example]) -> LabelledTask:
    learn = LABELLED_KINDS.find("classify")(**COLUMNS["classify"])
    labels = tuple(sorted({str(one.label) for one in train}))
    return LabelledTask("mine", learn, labels, tuple(train), (), tuple(test))


def sentiment(count: int, seed: int = 0) -> list[Example]:
    draw = np.random.default_rng(seed)
    kinds = (("yes", GOOD), ("no", BAD))
    return [
        Example(str(n), (f"{phrase(draw, 5, kinds[n % 2][1][int(draw.integers(4))])} {seed}-{n}",), kinds[n % 2][0])
        for n in range(count)
    ]


def test_folds_share_no_text_and_together_are_all():
    train = sentiment(60)
    train += [replace(one, id=f"copy{one.id}", texts=(one.texts[0].upper(),)) for one in train[:20]]
    problem = Problem.of(task(train, sentiment(10, seed=1)))
    answered = sorted(place for fold in problem.folds for place in fold.off)
    assert answered == list(range(80))
    for fold in problem.folds:
        learned = {same_text(train[place]) for place in fold.on}
        assert not learned & {same_text(train[place]) for place in fold.off}
        assert sorted((*fold.on, *fold.off)) == list(range(80))
        yes = np.mean([train[place].label == "yes" for place in fold.off])
        assert 0.3 < yes < 0.7
    few, more = (problem.train_of(problem.folds[0], size) for size in (10, 20))
    assert len(few) == 10
    assert {one.id for one in few} <= {one.id for one in more}


def test_test_texts_that_train_has_are_left_out():
    train, test = sentiment(20), sentiment(6, seed=1)
    problem = Problem.of(task(train, [*test, replace(train[0], id="copy")]))
    assert problem.task.test == tuple(test)
    assert any("1 of 7 test texts" in line for line in label_facts(task(train, [*test, train[0]])))


def test_labels_that_are_given_away_are_told():
    train = sentiment(100)
    plain = label_facts(task(train, []))
    assert not [line for line in plain if "alone tells" in line]
    told = [replace(one, texts=(one.texts[0] + (" stars5" if one.label == "yes" else ""),)) for one in train]
    assert [line for line in label_facts(task(told, [])) if "'stars5' alone tells 100%" in line]
    rows = [
        {"text": one.texts[0], "label": one.label, "source": f"{one.label}-{n % 3}", "n": n}
        for n, one in enumerate(train)
    ]
    found = [line for line in label_facts(task(train, []), rows) if "column" in line]
    assert len(found) == 1
    assert "'source' alone tells 100%" in found[0]  # and not the number of the row, which no other row has


def test_copies_with_other_labels_are_counted():
    train = sentiment(50)
    train += [
        replace(train[0], id="again", label="no" if train[0].label == "yes" else "yes"),
        replace(train[1], id="twice"),
    ]
    assert any("2 training examples are copies of others, 1 of these" in line for line in label_facts(task(train, [])))


def test_the_language_of_texts():
    assert language_of(["the cat sat on the mat and it was there for a while"] * 3) == "en"
    assert language_of(["das ist ein Mann und er geht mit der Frau in das Haus"] * 3) == "de"
    assert language_of(["今天天气很好我们去公园看花"] * 3) == "zh"
    assert language_of(["xq zzt"]) == "other"


def made(name: str, right: list[bool], problem: Problem, shares: float = 0.0) -> Trial:
    truth = [str(one.label) for one in problem.examples[: len(right)]]
    other = {"yes": "no", "no": "yes"}
    said = tuple(one if ok else other[one] for one, ok in zip(truth, right))
    table = tuple((shares, 1 - shares) if one == "no" else (1 - shares, shares) for one in said) if shares else ()
    return Trial(name, None, 0, "", float(np.mean(right)), 1.0, tuple(range(len(right))), said, table)


def test_a_trial_is_compared_on_what_both_answered(tmp_path):
    problem = Problem.of(task(sentiment(100), sentiment(10, seed=1)))
    good, bad = made("good", [True] * 90 + [False] * 10, problem), made("bad", [True] * 50 + [False] * 50, problem)
    race = CandidateRace(problem, KeptTrials(tmp_path), Clock(100.0), None)  # type: ignore[arg-type]
    race.trials = {(one.name, None): one for one in (good, bad)}
    apart, error = race.apart(good, bad)
    assert apart == pytest.approx(0.4)
    assert 0.03 < error < 0.07
    assert race.apart(bad, good)[0] == pytest.approx(-0.4)
    assert race.alive("good", None)
    assert not race.alive("bad", None)
    race.kept.keep(good)
    assert race.kept.find("good", None) == good
    assert race.kept.find("bad", None) is None


def test_the_mean_of_several_takes_the_surer():
    problem = Problem.of(task(sentiment(40), sentiment(4, seed=1)))
    sure, unsure = made("sure", [True] * 40, problem, 0.9), made("unsure", [False] * 40, problem, 0.6)
    both = average(problem, sure, unsure)
    assert both is not None
    assert both.value == 1.0
    np.testing.assert_allclose(both.table.sum(1), 1.0)
    assert average(problem, sure, replace(unsure, places=unsure.places[:5])) is None


def test_a_planted_curve_is_gone_on_with_and_no_further_than_four_times():
    labels, rng = np.asarray([100.0, 200.0, 400.0, 800.0]), np.random.default_rng(0)
    truth = 0.9 - 2.0 * labels**-0.5
    found = [extended(labels, truth, np.asarray([1600.0, 3200.0]), rng) for _ in range(50)]
    np.testing.assert_allclose(np.median(found, 0), 0.9 - 2.0 * np.asarray([1600.0, 3200.0]) ** -0.5, atol=0.005)
    judged = [list(np.arange(500) < 500 * share) for share in truth]
    ahead = through(Proportion(), [100, 200, 400, 800], judged, [3200])[0]
    assert ahead.low < 0.9 - 2.0 * 3200**-0.5 < ahead.high
    assert ahead.high - ahead.low > 0.02
    with pytest.raises(ValueError, match="beyond 3,200"):
        through(Proportion(), [100, 200, 400, 800], judged, [3201])


def test_labels_that_may_be_wrong_come_surest_first():
    train = sentiment(4)
    shares = np.asarray([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]])  # no, yes; truth: yes no yes no
    found = disagreements(train, ("no", "yes"), (0, 1, 2, 3), shares)
    assert [(one.id, said) for one, said, _ in found] == [("0", "no"), ("1", "yes"), ("3", "yes")]
    assert log_loss(("no", "yes"), train[:1], shares[:1]) == pytest.approx(-np.log(0.1))


def test_the_sizes_grow_by_four():
    problem = Problem.of(task(sentiment(30), sentiment(4, seed=1)))
    assert sizes(problem) == [None]
    assert Clock(10.0, before=4.0).left == pytest.approx(6.0, abs=0.5)


def test_its_own_half_is_found_by_vectors_that_tell_documents_apart():
    halves = [(f"a{n}", f"b{n}") for n in range(30)]
    own = np.eye(30)
    assert ranks(lambda some: np.stack([own[int(one[1:])] for one in some]), halves).mean() == 1.0
    rng = np.random.default_rng(0)
    assert ranks(lambda some: rng.normal(size=(len(some), 30)), halves).mean() < 0.4
