"""Across data sets: what is right is counted by hand, labels meet where they mean the same, and nothing learned is asked again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from foreword.basics.messages import Fault
from foreword.compare import cross_dataset as crossed
from foreword.compare.cross_dataset import ScoredModel, cross, matching, meanings, of_run
from foreword.tasks.example import Example
from foreword.tasks.labelled.classify import PairClassification
from foreword.tasks.labelled_task import LabelledTask
from foreword.transfer.finetune import finetune
from foreword.transfer.multitask import multitask
from foreword.transfer.predict import is_tuned
from foreword.transfer.tuning import FinetuneSettings
from tests.labelled import KINDS, folder, task

QUICK = FinetuneSettings(epochs=1, batch_size=16, learning_rate=3e-3)
THREE = ("entailment", "neutral", "contradiction")


def pairs(name: str, labels: Sequence[str], gold: Sequence[str], parted: bool = False) -> LabelledTask:
    """The second text of each pair is what will be said of it."""
    some = tuple(
        Example(str(n), ("a text", said), label) for n, (label, said) in enumerate(label.split(">") for label in gold)
    )
    third = len(some) // 3
    splits = (some[:third], some[third : 2 * third], some[2 * third :]) if parted else ((), (), some)
    return LabelledTask(
        name, PairClassification(first="{a}", second="{b}", label="{l}"), tuple(labels), *splits, one_file=parted
    )


def parrot(labels: Sequence[str] = THREE, home: Sequence[tuple[str, str]] = (), task: str = "snli") -> ScoredModel:
    return ScoredModel(
        task,
        ("pair",),
        tuple(labels),
        "parrot",
        lambda examples: [one.texts[1] for one in examples],
        home,
        frozenset([task]),
    )


def test_three_labels_meet_two() -> None:
    """By hand: entails and not meet neutral and contradiction on one side; 4 of 5 are right."""
    other = pairs(
        "scitail",
        ("entails", "neutral"),
        ["entails>entailment", "entails>neutral", "neutral>neutral", "neutral>contradiction", "neutral>contradiction"],
    )
    home = [
        ("entailment", "entailment"),
        ("neutral", "contradiction"),
        ("contradiction", "entailment"),
        ("neutral", "neutral"),
    ]
    found = cross(parrot(home=home), other)
    assert (found.learned, found.task, found.joined, found.labels) == (
        "snli",
        "scitail",
        True,
        ("entailment", "not_entailment"),
    )
    assert found.scores[0].value == pytest.approx(4 / 5)
    assert found.balanced == pytest.approx((1 / 2 + 3 / 3) / 2)
    assert found.commonest == pytest.approx(3 / 5)
    assert found.drop == pytest.approx(3 / 4 - 4 / 5)  # at home neutral for contradiction is right when they are joined
    entailment, other_one = 2 * 1 / (1 + 2), 2 * 3 / (4 + 3)
    assert found.scores[1].value == pytest.approx((entailment + other_one) / 2)
    low, high = found.scores[0].interval
    assert low < 4 / 5 < high
    assert not cross(parrot(), pairs("mnli", THREE, ["neutral>neutral", "entailment>neutral"])).joined


def test_two_labels_meet_three() -> None:
    other = pairs(
        "snli", THREE, ["entailment>entails", "neutral>neutral", "contradiction>neutral", "contradiction>entails"]
    )
    found = cross(parrot(("entails", "neutral"), task="scitail"), other)
    assert found.scores[0].value == pytest.approx(3 / 4)
    assert found.drop is None


def test_a_set_of_which_nothing_was_learned_is_asked_whole() -> None:
    one = pairs("one", THREE, ["neutral>neutral"] * 9, parted=True)
    assert cross(parrot(), one).scores[0].count == 9
    assert cross(parrot(task="one"), one).scores[0].count == 3, "train and dev were learned from"
    assert cross(parrot(), one, limit=4).scores[0].count == 4


def test_labels_that_do_not_mean_the_same_are_refused() -> None:
    with pytest.raises(Fault, match=r"the labels of odd \(yes, no\) are not those of snli"):
        meanings(parrot(), pairs("odd", ("yes", "no"), []))
    with pytest.raises(Fault, match="snli is pair classification and toy is token tagging"):
        meanings(parrot(), task("tag", 8, 4, 4))
    odd, right = pairs("odd", ("yes", "no"), []), pairs("right", THREE, [])
    other = replace(parrot(("no", "yes")), name="other")
    assert [(who.name, which.name) for who, which in matching([parrot(), other], [odd, right])] == [
        ("other", "odd"),
        ("parrot", "right"),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_at_home_scores_what_it_scored(kind: str, tmp_path: Path) -> None:
    whole = replace(task(kind, 24, 9, 9), name="home")
    run = finetune(folder("bert", tmp_path / "base"), whole, tmp_path / "run", QUICK)
    assert is_tuned(run.path)
    assert is_tuned(run.model)
    assert not is_tuned(tmp_path / "base")
    (who,) = of_run(run.path)
    found = cross(who, whole)
    said: dict[str, Any] = run.passport()["scores"]["test"]
    for one in found.scores:
        if one.metric in said:
            assert one.value == pytest.approx(said[one.metric]["value"], abs=1e-9), one.metric
    if kind in ("classify", "pair"):
        assert found.drop == pytest.approx(0)
    (bare,) = of_run(run.model)
    assert [one.value for one in cross(bare, whole).scores] == [one.value for one in found.scores]


def test_of_several_heads_those_that_fit_are_asked(tmp_path: Path) -> None:
    tasks = [replace(task(kind, 16, 6, 9), name=kind) for kind in ("classify", "pair")]
    run = multitask(folder("bert", tmp_path / "base"), tasks, tmp_path / "run", ('training.budget="1epochs"',))
    found = [cross(*one) for one in matching(of_run(run.path), tasks)]
    assert [(one.name, one.task) for one in found] == [("run/classify", "classify"), ("run/pair", "pair")]
    for one in found:
        assert one.scores[0].value == pytest.approx(run.passport()["scores"][one.task]["test"]["accuracy"]["value"])
        assert one.drop == pytest.approx(0)


def test_table_matrix_and_file_say_the_same(tmp_path: Path) -> None:
    sets = [
        pairs("snli", THREE, ["neutral>neutral", "entailment>neutral"]),
        pairs("scitail", ("entails", "neutral"), ["entails>entailment"] * 3),
    ]
    found = [cross(who, other) for who in (parrot(), replace(parrot(), name="second")) for other in sets]
    lines = list(crossed.report(found).lines())
    assert lines[0].split() == [
        "model",
        "trained",
        "on",
        "tested",
        "on",
        "metric",
        "value",
        "95%",
        "interval",
        "examples",
        "balanced",
        "majority",
        "drop",
    ]
    assert lines[1].split()[:5] == ["parrot", "snli", "snli", "accuracy", "50.0"]
    assert lines[-1] == "snli on scitail: labels joined to entailment, not_entailment."
    drawn = crossed.matrix(found).svg()
    assert drawn.startswith("<svg")
    for word in ("parrot (trained on snli)", "second (trained on snli)", "scitail", "50.0", "100.0", "tested on"):
        assert word in drawn, word
    values = crossed.values(found)
    assert [one["metrics"]["accuracy"]["value"] for one in values] == [0.5, 1.0, 0.5, 1.0]
