"""Few labels: what is cut, what never is, and labels that say nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from foreword.tasks import LABELLED_KINDS
from foreword.tasks.example import Example
from foreword.tasks.labelled_task import LabelledTask
from foreword.transfer.label_subset import DEV, label_subset, with_permuted_labels
from tests.labelled import KINDS, task


def ids(examples: tuple[Example, ...]) -> list[str]:
    return [one.id for one in examples]


def uneven(dev: int) -> LabelledTask:
    whole = task("classify", 96, dev, 24)
    return replace(
        whole, dev=tuple(one for number, one in enumerate(whole.dev) if one.label == "good" or number % 6 == 0)
    )


def test_dev_is_cut_with_the_labels_and_keeps_the_shares() -> None:
    whole = uneven(1500)
    share = sum(one.label == "good" for one in whole.dev) / len(whole.dev)
    cut = label_subset(whole, 16, 3)
    assert len(whole.dev) > DEV == len(cut.dev)
    assert len(cut.train) == 16
    assert Counter(one.label for one in cut.dev)["good"] == pytest.approx(share * DEV, abs=1)
    assert (
        cut.notes[-1] == f"dev is cut from {len(whole.dev):,} to 500: with few labels there are no more to choose by."
    )


def test_test_is_never_cut_and_neither_is_anything_without_a_number_of_labels() -> None:
    whole = task("classify", 96, 24, 1500)
    assert label_subset(whole, 16, 0).test == whole.test
    assert label_subset(whole, 16, 0).dev == whole.dev  # there are no more than 500
    assert label_subset(whole, None, 0) is whole


def test_who_has_more_labels_may_choose_by_more() -> None:
    whole = task("classify", 800, 1500, 24)
    assert len(label_subset(whole, 700, 0).dev) == 700
    assert set(ids(label_subset(whole, 16, 0).dev)) < set(ids(label_subset(whole, 700, 0).dev))


def test_every_seed_has_its_own_labels_and_the_same_dev() -> None:
    whole = task("classify", 96, 1500, 24)
    one, other = label_subset(whole, 16, 0), label_subset(whole, 16, 1)
    assert ids(one.dev) == ids(other.dev)
    assert ids(one.train) != ids(other.train)


@pytest.mark.parametrize("kind", ["classify", "rank", "span"])
def test_cutting_twice_is_cutting_once(kind: str) -> None:
    whole = task(kind, 96, 2400, 24)
    for seed in range(3):
        once = label_subset(whole, 12, seed)
        assert label_subset(once, 12, seed + 1000) == once


def test_a_query_keeps_all_its_candidates() -> None:
    cut = label_subset(task("rank", 96, 2400, 24), 4, 0)
    assert set(Counter(one.group for one in cut.dev).values()) == {3}
    assert len({one.group for one in cut.dev}) == DEV


# --- labels that say nothing --------------------------------------------------------------------------------------------


def labels(some: LabelledTask) -> list[object]:
    return [tag for one in some.train for tag in (one.label if isinstance(one.label, tuple) else (one.label,))]


@pytest.mark.parametrize("kind", [kind for kind in sorted(KINDS) if LABELLED_KINDS.find(kind).shuffles])
def test_exchanged_labels_are_the_same_labels_and_no_ones_own(kind: str) -> None:
    whole = task(kind, 240, 9, 9)
    mixed = with_permuted_labels(whole, 5)
    assert [replace(one, label=None) for one in mixed.train] == [replace(one, label=None) for one in whole.train]
    assert (mixed.dev, mixed.test) == (whole.dev, whole.test)
    before, after = labels(whole), labels(mixed)
    if kind == "choice":
        assert Counter(after).keys() == Counter(before).keys()
    else:
        assert Counter(after) == Counter(before)
    shares = Counter(before)
    expected = sum((count / len(before)) ** 2 for count in shares.values())  # of two independent draws
    assert sum(a == b for a, b in zip(before, after)) / len(before) == pytest.approx(expected, abs=0.12)
    assert mixed == with_permuted_labels(whole, 5) != with_permuted_labels(whole, 6)


def test_every_query_keeps_as_many_relevant_candidates() -> None:
    whole = task("rank", 240, 9, 9)
    count = [Counter((one.group, one.label) for one in some.train) for some in (whole, with_permuted_labels(whole, 0))]
    assert count[0] == count[1]


def test_an_answer_in_a_text_cannot_be_anothers() -> None:
    assert [kind for kind in KINDS if not LABELLED_KINDS.find(kind).shuffles] == ["span"]
