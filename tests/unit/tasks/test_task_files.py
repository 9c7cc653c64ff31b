"""A task file is checked before anything is asked, and all that is wrong with it is said at once."""

from __future__ import annotations

import json

import pytest

from foreword.basics.messages import Fault
from foreword.tasks import task as tasks
from foreword.tasks.files import SearchPath
from foreword.tasks.prompted.request import LikelihoodRequest

GOOD = """name = "mine"
[source]
kind = "jsonl"
test = "mine.jsonl"
[request]
kind = "choice"
context = "{question}"
choices = "{options}"
gold = "{right}"
"""
ROWS = [{"question": "a?", "options": ["x", "y"], "right": 0}, {"question": "b?", "options": ["x", "y"], "right": 1}]


@pytest.fixture
def write(tmp_path):
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")

    def write(text: str) -> str:
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def test_a_task_of_one_s_own_is_a_file_beside_its_data(write):
    (task,) = tasks.load(write(GOOD))
    assert task.name == "mine"
    examples, left_out = task.examples()
    assert [example.row for example in examples] == ROWS
    assert left_out == []
    assert task.kind.requests(ROWS[0]) == [LikelihoodRequest("a?", " x"), LikelihoodRequest("a?", " y")]
    assert task.kind.solved(ROWS[1]) == "b? y"


def test_all_that_is_wrong_is_said_at_once_with_file_line_and_field(write):
    path = write(
        'nmae = "mine"\nshots = "four"\n[source]\nkind = "jsnol"\n[request]\nkind = "choice"\ncontxt = "{question}"\n'
        'choices = "{options}"\ngold = "{right}"\nnormalise = ["chars"]\n'
    )
    with pytest.raises(Fault) as found:
        tasks.load(path)
    said = str(found.value)
    assert f"{path}:4  source.kind\n    'jsnol' is not one of" in said
    assert "Did you mean jsonl?" in said
    assert f"{path}:7  request.contxt\n    there is no setting 'contxt' here. Did you mean context?" in said
    assert "request.context\n    context is not given." in said
    assert f"{path}:10  request.normalise.0" in said
    assert f"{path}:1  nmae\n    there is no setting 'nmae' here. Did you mean name?" in said
    assert f"{path}:2  shots" in said
    assert found.value.code == 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "{question}",
            "{qestion}",
            "request.context\n    the rows have no column 'qestion'. Did you mean question? Columns: question, options, right.",
        ),
        ("{options}", "{question}", "request.choices\n    '{question}' must be one field that holds a list."),
        ("{question}", "{question", "request.context\n    a lone { in '{question'"),
        ("mine.jsonl", "other.jsonl", "source.test\n    other.jsonl is neither beside the task file nor in"),
        ("test =", "valid =", "the source has no split 'test'. It has: valid."),
        ('test = "mine.jsonl"', "", "no file is given: a source needs train, valid or test."),
        ('kind = "choice"', 'kind = "choice"\ncompletion = "x"', "the choice itself, {choice}, is not in it"),
        ('name = "mine"', 'name = "mine"\nshots = -1', "a number of examples is at least 0"),
        ('name = "mine"', 'name = "mine"\nshots = 2', "the source has no split 'train'. It has: test."),
    ],
)
def test_what_does_not_fit_is_said_with_its_place(write, old, new, said):
    assert old in GOOD
    with pytest.raises(Fault) as found:
        tasks.load(write(GOOD.replace(old, new)))[0].examples()
    assert said in str(found.value)
    assert "mine.toml" in str(found.value)


def test_several_missing_fields_are_said_together(write):
    with pytest.raises(Fault) as found:
        tasks.load(write(GOOD.replace("{question}", "{a}").replace("{right}", "{b}")))[0].examples()
    assert str(found.value).count("the rows have no column") == 2


def test_variants_lie_over_the_file(write):
    path = write(GOOD + '[variants.short]\nseparator = " "\n[variants.long.request]\ncompletion = " well, {choice}"\n')
    short, long = tasks.load(path)
    assert (short.name, long.name) == ("mine/short", "mine/long")
    assert short.spec.separator == " "
    assert long.kind.requests(ROWS[0])[0].continuation == " well, x"
    (only,) = tasks.load(f"{path}:long")
    assert only.name == "mine/long"
    with pytest.raises(Fault, match="mine has no variant 'lang'. Did you mean long"):
        tasks.load(f"{path}:lang")


def test_names_that_are_not_tasks():
    assert tasks.is_task("lambada")
    assert tasks.is_task("arithmetic/two_digit_addition")
    assert tasks.is_task("mine.toml")
    assert not tasks.is_task("runs/gpt2")
    assert not tasks.is_task("lambda")
    with pytest.raises(Fault, match="no task is called 'lambda'. Did you mean lambada"):
        tasks.load("lambda")
    with pytest.raises(Fault, match="gone.toml is not there"):
        tasks.load("gone.toml")


def test_the_data_folder_is_said_once(monkeypatch, tmp_path):
    monkeypatch.delenv("FOREWORD_DATA", raising=False)
    with pytest.raises(Fault, match="a.csv is not beside the task file, and no data folder is given."):
        SearchPath(tmp_path).find("a.csv")
    monkeypatch.setenv("FOREWORD_DATA", str(tmp_path))
    assert SearchPath(tmp_path).data == tmp_path
    assert SearchPath(tmp_path, tmp_path / "x").data == tmp_path / "x"


def test_story_endings_as_they_are_published(tmp_path):
    (tmp_path / "story-cloze").mkdir()
    head = "InputStoryid,InputSentence1,InputSentence2,InputSentence3,InputSentence4,RandomFifthSentenceQuiz1,RandomFifthSentenceQuiz2,AnswerRightEnding"
    for name in ("test", "valid"):
        (tmp_path / f"story-cloze/{name}.csv").write_text(
            f'{head}\nx,A.,"B, b.",C.,D.,Good.,Bad.,2\ny,E.,F.,G.,H.,I.,J.,1\n', encoding="utf-8"
        )
    (task,) = tasks.load("story-cloze", tmp_path)
    (first, _), _ = task.examples()
    assert task.kind.requests(first.row) == [
        LikelihoodRequest("A. B, b. C. D.", " Good."),
        LikelihoodRequest("A. B, b. C. D.", " Bad."),
    ]
    assert task.kind.solved(first.row) == "A. B, b. C. D. Bad."
    assert task.prompt(first, 1).shots == ("E. F. G. H. I.",)


def test_children_s_books_as_they_are_published(tmp_path):
    (tmp_path / "cbt").mkdir()
    passage = "1 Once .\n21 The XXXXX slept .\tfox\t\tcat|fox\n\n1 Then .\n21 It XXXXX .\tran\t\tran|sat\n"
    for name in ("test_2500ex", "valid_2000ex"):
        (tmp_path / f"cbt/cbtest_CN_{name}.txt").write_text(passage, encoding="utf-8")
    (task,) = tasks.load("cbt/common-nouns", tmp_path)
    (first, _), _ = task.examples()
    assert task.kind.requests(first.row) == [
        LikelihoodRequest("Once . The", " cat slept ."),
        LikelihoodRequest("Once . The", " fox slept ."),
    ]
    assert task.prompt(first, 1).shots == ("Then . It ran .",)
