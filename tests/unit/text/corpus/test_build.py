"""A corpus by stages: exact survivors and counters; the same bytes whoever works and wherever it was killed."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault
from foreword.basics.shards import Workers
from foreword.text import reading
from foreword.text.corpus import build as module
from foreword.text.corpus.build import build_corpus
from foreword.text.corpus.passes import Pass, ShardOfSource
from foreword.text.corpus.plan import plan_for, read_plan
from foreword.text.corpus.stage import Tally, merged
from foreword.text.stages.copies import Dedup

PLAN = """
[[sources]]
kind = "text"
path = "{folder}/text.jsonl"
licence = "CC0"

[[stages]]
kind = "clean"
rules = ["javascript", "short"]

[[stages]]
kind = "dedup"

[[stages]]
kind = "private"

[[stages]]
kind = "repeats"
of = "lines"

[[stages]]
kind = "language"
keep = ["en"]
"""
GOOD = "The mill stood on the bank of the river, and all of the children of the town knew the man who lived in it. " * 2
TEXTS = [
    GOOD + "\nWrite to him at miller@example.org and he will answer you.",
    "Too short.",
    GOOD.replace("mill", "house").replace("river", "lake")
    + "\nPlease enable JavaScript.\nOne line that stands in two of the texts here.",
    "  " + GOOD + "\nWrite to him at miller@example.org and he will answer you.\n",
    "Der Müller und die Frau, die mit ihm in dem Haus am Fluss wohnte, waren nicht von hier, und das wusste man auch im Dorf. "
    * 2,
    "One line that stands in two of the texts here.\n"
    + "And then, when the winter came to the hills, they were all of them so far from the sea that no one would go. "
    * 2,
]


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (tmp_path / "text.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    (tmp_path / "plan.toml").write_text(PLAN.format(folder=tmp_path))
    return tmp_path / "plan.toml"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_survivors_and_counters_are_those_worked_out_by_hand(plan: Path, tmp_path: Path) -> None:
    content = build_corpus(read_plan(plan), tmp_path / "out", Workers(1))
    stages = {stage["kind"]: stage for stage in content["stages"]}
    assert [(stage["read"][0], stage["kept"][0]) for stage in content["stages"]] == [
        (6, 5),
        (5, 4),
        (4, 4),
        (4, 4),
        (4, 3),
    ]
    assert (stages["clean"]["removed"], stages["clean"]["changed"]) == ({"short": 1}, {"javascript": 1})
    assert stages["clean"]["samples"] == {"javascript": ["Please enable JavaScript."], "short": ["Too short."]}
    assert stages["dedup"]["removed"] == {"exact duplicate": 1}
    assert stages["private"]["changed"] == {"email": 1}
    assert "miller@example.org" not in json.dumps(stages["private"])
    assert stages["repeats"]["changed"] == {"lines": 1}
    assert stages["language"]["removed"] == {"de": 1}
    rows = [json.loads(line) for path in sorted((tmp_path / "out").glob("*.jsonl")) for line in path.open()]
    assert [row["id"] for row in rows] == ["0.0", "0.2", "0.5"]
    assert rows[0]["text"].endswith("Write to him at <EMAIL> and he will answer you.")
    assert rows[0]["passed"] == {"private": {"email": 1}, "language": "en"}
    assert rows[1]["passed"] == {"clean": {"lines": 1}, "language": "en"}
    assert rows[2]["text"].startswith("And then"), "its first line stood before"
    assert [one.text for one in reading.documents([tmp_path / "out"])] == [row["text"] for row in rows], (
        "removed text is not read"
    )
    removed = [json.loads(line) for path in sorted((tmp_path / "out/removed").iterdir()) for line in path.open()]
    assert {row["id"]: (row["stage"], row["rule"]) for row in removed} == {
        "0.1": ("clean", "short"),
        "0.3": ("dedup", "exact duplicate"),
        "0.4": ("language", "de"),
    }
    assert next(row["like"] for row in removed if row["id"] == "0.3") == "0.0"
    assert (content["documents"], content["by_source"]) == (3, {"text.jsonl": 3})
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"00000.jsonl", "corpus.json", "removed"}


def test_the_same_again_is_found_and_anything_else_is_refused(plan: Path, tmp_path: Path, capsys) -> None:
    first = build_corpus(read_plan(plan), tmp_path / "out", Workers(1))
    assert build_corpus(read_plan(plan), tmp_path / "out", Workers(1)) == first
    assert "already there" in capsys.readouterr().err
    with pytest.raises(Fault, match="already there"):
        build_corpus(plan_for([tmp_path / "text.jsonl"], []), tmp_path / "out", Workers(1))


def test_killed_after_any_shard_and_started_again_the_bytes_are_the_same(
    plan: Path, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(reading, "unit_size", lambda paths: 400)
    build_corpus(read_plan(plan), tmp_path / "whole", Workers(1))
    whole = contents(tmp_path / "whole")
    assert len([name for name in whole if name.endswith(".jsonl")]) > 3
    run, calls, attempts = Pass.__call__, 0, 0

    def dying(self: Pass, shard: ShardOfSource) -> JsonObject:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise KeyboardInterrupt
        return run(self, shard)

    monkeypatch.setattr(Pass, "__call__", dying)
    while not (tmp_path / "broken").exists():
        calls, attempts = 0, attempts + 1
        with contextlib.suppress(KeyboardInterrupt):
            build_corpus(read_plan(plan), tmp_path / "broken", Workers(1))
    assert attempts > 10, "one shard at a time"
    assert contents(tmp_path / "broken") == whole


KILLER = """
# Every attempt is a process of its own, which is killed at its second part: before it, within what it writes, or behind it
# and before that is noted.
import os, signal, sys
from pathlib import Path
from foreword.basics.shards import Workers
from foreword.basics import unfinished
from foreword.text import reading
from foreword.text.corpus import passes
from foreword.text.corpus.build import build_corpus
from foreword.text.corpus.plan import read_plan

plan, out = Path(sys.argv[1]), Path(sys.argv[2])
reading.unit_size = lambda paths: 400
parts, rows, note = passes.Pass.__call__, passes.write_json_lines, unfinished.write_json


def attempt(where):
    calls = 0

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    def part(self, shard):
        nonlocal calls
        calls += 1
        if calls > 1 and where == 0:
            die()
        return parts(self, shard)

    def halfway(path, lines):
        if calls > 1 and where == 1:
            begun = path.with_name(f".{path.name}.partial")  # as a file that is being written is called
            begun.parent.mkdir(parents=True, exist_ok=True)
            begun.write_text('{"text": "hal')
            die()
        return rows(path, lines)

    def noted(path, value):
        if calls > 1 and where == 2:
            die()
        return note(path, value)

    passes.Pass.__call__, passes.write_json_lines, unfinished.write_json = part, halfway, noted
    build_corpus(read_plan(plan), out, Workers(1))


killed = 0
for number in range(200):
    child = os.fork()
    if not child:
        attempt(number % 3)
        os._exit(0)
    code = os.waitpid(child, 0)[1]
    if code == 0:
        break
    assert os.WIFSIGNALED(code) and os.WTERMSIG(code) == signal.SIGKILL, code
    killed += 1
print(killed)
"""


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_sigkill_at_every_part_and_again_leaves_the_same_bytes(plan: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(reading, "unit_size", lambda paths: 400)
    build_corpus(read_plan(plan), tmp_path / "whole", Workers(1))
    words = [sys.executable, "-c", KILLER, str(plan), str(tmp_path / "broken")]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > 10, "one part at a time"
    assert contents(tmp_path / "broken") == contents(tmp_path / "whole")
    assert not (tmp_path / "broken.partial").exists()


@pytest.mark.thorough
def test_two_processes_write_the_same_bytes(plan: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(reading, "unit_size", lambda paths: 400)
    monkeypatch.setattr(module, "SMALL", 0)
    for workers in (1, 2):
        build_corpus(read_plan(plan), tmp_path / str(workers), Workers(workers))
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_a_stage_that_removes_everything_is_named(plan: Path, tmp_path: Path) -> None:
    plan.write_text(plan.read_text().replace('"en"', '"fr"'))
    with pytest.raises(Fault, match=r"the stage language removed all 4 documents: en 3, de 1\."):
        build_corpus(read_plan(plan), tmp_path / "out", Workers(1))
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "out.partial").exists()


def test_every_fault_of_a_plan_is_told_with_its_line(plan: Path) -> None:
    plan.write_text(
        plan.read_text().replace('kind = "dedup"', 'kind = "dedup"\ntreshold = 1').replace('"short"', '"shrt"')
    )
    with pytest.raises(Fault) as found:
        read_plan(plan)
    assert f"{plan}:9  stages.0.rules\n    there is no rule 'shrt'. Did you mean short?" in str(found.value)
    assert f"{plan}:13  stages.1.treshold\n    there is no setting 'treshold' here. Did you mean threshold?" in str(
        found.value
    )


def test_samples_do_not_depend_on_the_order_of_shards() -> None:
    parts = []
    for first in (0, 50):
        tally = Tally()
        for number in range(first, first + 50):
            tally.change("rule", f"text {number}")
        parts.append(tally.data())
    there, back = merged(parts), merged(reversed(parts))
    assert there == back
    assert there["changed"] == {"rule": 100}
    assert len(there["samples"]["rule"]) == 10
    assert len({int(one.split()[1]) < 50 for one in there["samples"]["rule"]}) == 2, "drawn from both"


def test_dialogues_stay_dialogues(tmp_path: Path) -> None:
    turns = [
        ["Hello there, how are you?", "Fine, and you?"],
        ["Hello there, how are you?", "Fine, and you?"],
        ["A", "B"],
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"turns": one}) + "\n" for one in turns))
    build_corpus(plan_for([tmp_path / "a.jsonl"], [Dedup()], "dialogues"), tmp_path / "out", Workers(1))
    kept = [list(one.dialogue.turns) for one in reading.documents([tmp_path / "out"], "dialogues")]
    assert kept == turns[1:]


def test_nothing_but_white_space_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(" \n ")
    with pytest.raises(Fault, match="there is no text"):
        build_corpus(plan_for([tmp_path / "a.txt"], [Dedup()]), tmp_path / "out", Workers(1))
    assert not (tmp_path / "out.partial").exists()
