"""Two files whose lines belong together."""

from __future__ import annotations

import json

import pytest

from foreword.basics.messages import Fault
from foreword.text.pairs import joined


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def write(source: str, target: str):
        (tmp_path / "a.en").write_text(source, encoding="utf-8")
        (tmp_path / "a.de").write_text(target, encoding="utf-8")
        return tmp_path / "a.en", tmp_path / "a.de"

    return write


def test_line_n_is_the_partner_of_line_n(files):
    made = joined(*files("one\u2028more\ntwo\tthree\n", "eins\nzwei"))
    rows = [json.loads(line)["turns"] for line in made.read_text(encoding="utf-8").split("\n") if line]
    assert rows == [["one\u2028more", "eins"], ["two\tthree", "zwei"]]


def test_files_of_unequal_length_are_refused_with_the_line(files):
    with pytest.raises(Fault, match=r"a.de has 1 lines, .*a.en has 3: line 2 of .*a.en has no partner"):
        joined(*files("one\ntwo\nthree\n", "eins\n"))


def test_every_empty_line_is_named(files):
    with pytest.raises(Fault) as found:
        joined(*files("one\n\nthree\n", "eins\nzwei\n \n"))
    assert "a.en:2" in str(found.value)
    assert "a.de:3" in str(found.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(Fault, match="is not there"):
        joined(tmp_path / "a", tmp_path / "b")
