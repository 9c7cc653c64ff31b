import errno
import json
import os

import pytest

from foreword.basics.files import read_json, whole_folder, write_atomically, write_folder, write_json, write_text
from foreword.basics.messages import Fault, Faults, RunFailed, did_you_mean, duration, thousands


def broken(path):
    (path / "half" if path.is_dir() else path).write_text("half")
    raise KeyboardInterrupt


def test_a_file_is_whole_or_not_there(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "new", broken)
    assert list(tmp_path.iterdir()) == []
    write_text(tmp_path / "old", "before")
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "old", broken)
    assert (tmp_path / "old").read_text() == "before"
    write_text(tmp_path / "old", "after")
    assert (tmp_path / "old").read_text() == "after"
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_a_folder_is_whole_or_not_there(tmp_path):
    write_folder(tmp_path / "model", lambda folder: (folder / "a").write_text("1"))
    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path / "model", broken)
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["a"]
    write_folder(tmp_path / "model", lambda folder: (folder / "b").write_text("2"))
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["b"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_kill_between_the_two_renames_loses_nothing(tmp_path, monkeypatch):
    write_folder(tmp_path / "model", lambda folder: (folder / "a").write_text("1"))
    real = os.rename

    def dying(source, target):
        if str(source).endswith(".partial"):
            raise KeyboardInterrupt
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", dying)
        with pytest.raises(KeyboardInterrupt):
            write_folder(tmp_path / "model", lambda folder: (folder / "b").write_text("2"))
    assert not (tmp_path / "model").exists()
    assert [path.name for path in whole_folder(tmp_path / "model").iterdir()] == ["a"]


@pytest.mark.parametrize("write", [write_atomically, write_folder])
def test_a_full_disk_is_said_and_what_was_there_stays(tmp_path, write):
    (tmp_path / "it").mkdir() if write is write_folder else (tmp_path / "it").write_text("before")

    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(RunFailed, match="The disk is full") as caught:
        write(tmp_path / "it", full)
    assert caught.value.code == 1
    assert "Free some space" in str(caught.value)
    assert (tmp_path / "it").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["it"]


def test_json_that_is_cut_short_is_a_fault_with_its_name(tmp_path):
    write_json(tmp_path / "x.json", {"文": [1, 2.5, None]})
    assert read_json(tmp_path / "x.json") == {"文": [1, 2.5, None]}
    (tmp_path / "x.json").write_text(json.dumps({"a": 1})[:-1])
    with pytest.raises(Fault, match=r"x\.json is not valid JSON"):
        read_json(tmp_path / "x.json")
    with pytest.raises(Fault, match="is not there"):
        read_json(tmp_path / "y.json")


def test_messages_say_where_what_and_what_to_do():
    one = Fault("it is wrong.", "Do this.", "mine.toml:8  network.layers")
    assert str(one) == "mine.toml:8  network.layers\n    it is wrong.\n    Do this."
    assert str(Fault("it is wrong.")) == "it is wrong."
    assert str(Faults([one, Fault("so is this.")])) == f"{one}\nso is this."
    assert did_you_mean("bret", ["bert", "gpt2"]) == " Did you mean bert?"
    assert did_you_mean("zzz", ["bert", "gpt2"]) == ""


def test_numbers_read_at_a_glance():
    assert [thousands(n) for n in (0, 999, 12345, 12_345_678, 2.5e9)] == ["0", "999", "12,345", "12.3M", "2.5G"]
    assert [duration(s) for s in (7.2, 95, 3725)] == ["7s", "1m35s", "1h02m"]
