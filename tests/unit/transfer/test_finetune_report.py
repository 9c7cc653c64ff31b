"""Pictures and mistakes of answers: they count what was said, and the worst comes first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from foreword.report.plots import confusion
from foreword.tasks.example import Example, Span
from foreword.tasks.labelled_task import LabelledTask
from foreword.transfer import finetune_report
from foreword.transfer.kinds import transfer_kind_of
from foreword.transfer.kinds.span import by_length
from tests.labelled import task

KINDS = ("classify", "pair", "similarity", "choice", "span", "tag", "rank")


def right_of(example: Example) -> Any:
    label = example.label
    if isinstance(label, tuple):
        return label[0].text if label and isinstance(label[0], Span) else list(label)
    return label


def told(whole: LabelledTask, said: list[Any]) -> list[dict[str, Any]]:
    """As lines of predictions.jsonl."""
    scores = {"answer": 2.0, "none": -1.0} if whole.kind == "span" else {str(one): 0.9 for one in (*whole.labels, 0, 1, 2)}
    return [{"answer": one, "scores": scores} for one in said]


def test_a_confusion_matrix_counts() -> None:
    counts = confusion(["a", "a", "a", "b", "b"], ["a", "b", "b", "b", "a"], ["a", "b"])
    assert counts.tolist() == [[1, 2], [1, 1]], "rows are what is right"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_picture_and_says_what_it_shows(kind: str) -> None:
    whole = task(kind, 8, 4, 12)
    drawn = transfer_kind_of(kind).plot(whole, [right_of(one) for one in whole.test])
    assert drawn.note
    drawn = drawn.svg()
    assert drawn.startswith("<svg")
    whole_said = {"choice": ">1<", "tag": ">none<", "span": "characters of the right answer", "rank": ">relevant<"}
    assert whole_said.get(kind, "predicted" if kind != "rank" else "score") in drawn


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "rank"])
def test_what_is_right_is_no_mistake(kind: str) -> None:
    whole = task(kind, 8, 4, 12)
    assert finetune_report.mistakes(whole, told(whole, [right_of(one) for one in whole.test])) == []


def test_the_surest_mistake_comes_first() -> None:
    whole = task("classify", 8, 4, 6)
    rows = told(whole, [right_of(one) for one in whole.test])
    for place, sure in ((1, 0.6), (4, 0.99), (5, 0.7)):
        other = next(label for label in whole.labels if label != whole.test[place].label)
        rows[place] = {"answer": other, "scores": {other: sure}}
    found = finetune_report.mistakes(whole, rows, most=2)
    assert [one.texts for one in found] == [whole.test[4].texts, whole.test[5].texts]
    assert found[0].true == whole.test[4].label != found[0].predicted


def test_of_numbers_the_furthest_of_tags_the_most_of_candidates_the_highest() -> None:
    whole = task("similarity", 8, 4, 3)
    said = [float(one.label) + away for one, away in zip(whole.test, (0.1, -2.0, 1.0))]        # type: ignore[arg-type]
    assert [one.texts for one in finetune_report.mistakes(whole, told(whole, said))] == [whole.test[i].texts for i in (1, 2, 0)]
    whole = task("tag", 8, 4, 3)
    said = [["O"] * len(one.words) for one in whole.test]
    first = finetune_report.mistakes(whole, told(whole, said))[0]
    assert first.predicted == "nothing"
    assert ": " in first.true
    whole = task("rank", 8, 4, 6)
    irrelevant = [place for place, one in enumerate(whole.test) if not one.label]
    said = [float(-place) for place in range(6)]
    assert [one.texts for one in finetune_report.mistakes(whole, told(whole, said))] == [whole.test[i].texts for i in irrelevant]


def test_spans_that_share_nothing_with_a_right_one() -> None:
    whole = task("span", 8, 4, 4)
    example = whole.test[0]
    assert isinstance(example.label, tuple)
    text = example.label[0].text                                   # type: ignore[union-attr]
    nothing = replace(example, label=())
    whole = replace(whole, test=(example, example, example, nothing))
    rows = told(whole, [text, text[:2], "what", "what"])
    found = finetune_report.mistakes(whole, rows)
    assert [(one.predicted, one.true) for one in found] == [("what", text), ("what", "no answer")]
    rows = told(whole, ["", text, text, ""])
    assert [(one.predicted, one.true) for one in finetune_report.mistakes(whole, rows)] == [("no answer", text)]


def test_answers_by_the_length_of_the_right_one() -> None:
    def asked(*answers: str) -> Example:
        return Example("1", ("q", "c"), tuple(Span(0, len(one), one) for one in answers))

    whole = replace(task("span", 8, 4, 4), test=(asked("abc", "abcdefgh"), asked("five5"), asked("a six6"), asked("some words"), asked()))
    found = by_length(whole, ["abc", "wrong", "six6", "some", ""])
    assert found == [("no answer", 1, 1.0), ("1 to 5", 2, 0.5), ("6 to 10", 2, pytest.approx(5 / 6))]
