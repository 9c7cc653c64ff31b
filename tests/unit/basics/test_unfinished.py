"""What is finished is kept until the whole is there, for the same settings only, and for one process at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from foreword.basics.messages import Fault, RunFailed
from foreword.basics.shards import Pool
from foreword.basics.unfinished import ShardRecorder, Unfinished, settings_key


class Doubling:
    """Notes which shards it was given, and breaks at one of them."""

    def __init__(self, at: int = -1, error: type[BaseException] = KeyboardInterrupt):
        self.at, self.error = at, error
        self.given: list[int] = []

    def __call__(self, number: int) -> list[int]:
        if number == self.at:
            raise self.error("broken")
        self.given.append(number)
        return [2 * number]


def records(out: Path, function: Doubling, key: str = "same") -> list[list[int]]:
    with Unfinished(out, key) as work:
        return work.map(Pool(1), "doubling", function, range(6))


@pytest.mark.parametrize("error", [KeyboardInterrupt, RunFailed])
def test_finished_shards_are_not_made_again(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error):
        records(tmp_path / "out", Doubling(4, error))
    again = Doubling()
    assert records(tmp_path / "out", again) == [[2 * number] for number in range(6)]
    assert again.given == [4, 5]


def test_other_settings_begin_anew(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        records(tmp_path / "out", Doubling(4))
    other = Doubling()
    records(tmp_path / "out", other, "other")
    assert other.given == list(range(6))
    assert settings_key({"a": 1, "b": 2}) == settings_key({"b": 2, "a": 1}) != settings_key({"a": 1, "b": 3})


def test_what_a_fault_leaves_is_of_no_use(tmp_path: Path) -> None:
    with pytest.raises(Fault):
        records(tmp_path / "out", Doubling(4, Fault))
    assert not list(tmp_path.iterdir())


def test_stages_do_not_mistake_each_others_records(tmp_path: Path) -> None:
    with Unfinished(tmp_path / "out", "same") as work:
        assert work.map(Pool(1), "one", Doubling(), [1, 2]) == [[2], [4]]
        assert work.map(Pool(1), "two", Doubling(), [5, 6]) == [[10], [12]]


def test_a_machine_that_does_not_have_the_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="every machine of the cluster has under the same path"):
        ShardRecorder(tmp_path / "nowhere", Doubling())((tmp_path / "nowhere" / "a.json", 1))
    assert not (tmp_path / "nowhere").exists()
