"""bAbI's files, strings of digits and made-up stories, as tasks and as pairs to learn from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foreword.basics.messages import Fault
from foreword.evaluate.prompted import TaskResult
from foreword.evaluate.prompted_report import failed
from foreword.tasks.files import SearchPath
from foreword.tasks.formats.babi import Babi
from foreword.tasks.generators.stories import PEOPLE, Stories
from foreword.tasks.generators.symbols import Symbols
from foreword.tasks.pairs import pairs_of
from foreword.tasks.prompted.request import Judged
from foreword.tasks.task import load

STORY = """1 Mary got the milk.
2 John went to the garden.
3 Where is John?\tgarden\t2
4 Mary dropped the milk.
5 What is Mary carrying?\tnothing,much\t1 4
1 Sandra went home.
2 Where is Sandra?\thome\t1
"""


@pytest.fixture
def where(tmp_path: Path) -> SearchPath:
    return SearchPath(tmp_path, tmp_path)


def written(where: SearchPath, text: str, split: str = "train", task: int = 1) -> Babi:
    source = Babi(task=task)
    path = where.beside / source.shown(split)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return source


def test_a_question_knows_what_stands_before_it_in_its_story(where):
    first, second, third = written(where, STORY).rows("train", where)
    assert (first["story"], first["answer"]) == ("Mary got the milk. John went to the garden.", "garden")
    assert second["facts"] == ["Mary got the milk.", "John went to the garden.", "Mary dropped the milk."]
    assert (second["supporting"], second["answer"]) == ([0, 2], "nothing much")
    assert third["story"] == "Sandra went home."


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("1 Mary got the milk.\nWhere is John?\tgarden\t1\n", 2, "a number and a sentence"),
        ("1 Mary got the milk.\n3 John left.\n", 2, "stands behind line 1"),
        ("1 Mary got the milk.\n2 Where is Mary?\t\t1\n", 2, "has its answer"),
        ("1 Mary got the milk.\n2 Where is Mary?\tthere\n", 2, "has its answer"),
        ("1 Mary got the milk.\n2 Where is Mary?\there\t2\n", 2, "does not stand before it"),
    ],
)
def test_a_broken_line_is_named(where, text, line, said):
    with pytest.raises(Fault, match=said) as fault:
        written(where, text).rows("train", where)
    assert fault.value.where.endswith(f"train.txt:{line}")


def test_every_one_of_the_twenty_has_a_name():
    assert [task.spec.source.task for task in load("babi")] == list(range(1, 21))
    assert load("babi-10k/qa3")[0].spec.source.shown("test") == "babi/en-10k/qa3_three-supporting-facts_test.txt"
    assert Babi(task=21).faults()


@pytest.mark.parametrize(
    ("way", "answer"),
    [
        ("copy", lambda given: given),
        ("reverse", lambda given: given[::-1]),
        ("add", lambda given: " ".join(str(sum(int(n.replace(" ", "")) for n in given.split("+"))))),
    ],
)
def test_strings_are_answered_rightly_and_those_asked_are_longer(where, way, answer):
    source = Symbols(way=way, items=50, asked_items=20, longest=6, asked=9)
    learned, asked = (source.rows(split, where) for split in ("train", "test"))
    for row in (*learned, *asked):
        wanted = answer(row["given"])
        assert row["answer"].lstrip("0 ") == wanted.lstrip("0 ") if way == "add" else row["answer"] == wanted
    length = [len(row["given"].split()) for row in learned]
    assert max(length) == (13 if way == "add" else 6)
    assert {len(row["given"].split()) for row in asked} == {19 if way == "add" else 9}
    assert len({row["given"] for row in learned}) == 50
    assert source.rows("train", where) == learned


@pytest.mark.parametrize("needs", [1, 2, 3])
def test_a_story_shows_its_answer_and_no_story_is_longer(where, needs):
    rows = Stories(needs=needs, items=60).rows("train", where)
    for row in rows:
        sentences = row["story"].removesuffix(".").split(". ")
        assert len(sentences) == 10
        assert row["answer"] == told(sentences, row["question"].removesuffix("?").split()), row
    assert len({row["answer"] for row in rows}) == 4


def told(sentences: list[str], question: list[str]) -> str:
    """The answer by walking through the story once more."""
    at, holds, been = {}, {}, {}
    for who, did, *_, what in (sentence.split() for sentence in sentences):
        if did == "took":
            holds[what], been[what] = who, [at[who]]
        else:
            at[who] = what
            for thing in (one for one, holder in holds.items() if holder == who):
                been[thing].append(what)
    if question[-1] in PEOPLE:
        return at[question[-1]]
    return been[question[3]][-2 if "before" in question else -1]


def test_tasks_become_pairs_to_learn_from_one_behind_the_other(where, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(where.beside / "cache"))
    for task in (1, 2):
        written(where, STORY, task=task)
    rows = [json.loads(line) for line in pairs_of(["babi/qa1", "babi/qa2"], where.beside).read_text().splitlines()]
    assert len(rows) == 6
    assert rows[0] == {"turns": ["Mary got the milk. John went to the garden. Where is John?", "garden"]}
    with pytest.raises(Fault, match="answered by choosing"):
        pairs_of(["winogrande"])


def test_failed_tasks_are_counted():
    results = [
        TaskResult(task, "m", 0, [], [Judged({"exact match": float(n >= wrong)}, {}) for n in range(100)], None)
        for task, wrong in zip(load("babi")[:3], (5, 6, 0))
    ]
    assert failed(results) == ["mean error 3.67%; more than 5% wrong in 1 of 3 tasks: babi/qa2 6.0%"]
    assert failed([]) == []
