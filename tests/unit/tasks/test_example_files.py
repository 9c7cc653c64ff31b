"""Generated questions are what they say; published formats give the fields their readers promise."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from foreword.basics.messages import Fault
from foreword.tasks.files import Csv, JsonLines, Lines, SearchPath, Tsv
from foreword.tasks.formats.aristo import Aristo
from foreword.tasks.formats.childrens_books import ChildrensBooks
from foreword.tasks.formats.squad import Squad
from foreword.tasks.formats.winograd import Winograd, in_place
from foreword.tasks.generators.arithmetic import OPERATIONS, Arithmetic
from foreword.tasks.generators.scramble import SCRAMBLES, SIGNS, Scramble

HERE = SearchPath(Path("."))
SIGN = {"plus": "+", "minus": "-", "times": "*"}


# --- arithmetic ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", OPERATIONS)
def test_2000_different_sums_with_right_answers(operation):
    rows = Arithmetic(operation=operation).rows("test", HERE)
    assert len(rows) == len({row["question"] for row in rows}) == 2000
    digits = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}[operation.split("_")[0]]
    for row in rows:
        said = re.fullmatch(r"What is (.*)\?", row["question"]).group(1)
        for word, sign in SIGN.items():
            said = said.replace(f" {word} ", sign)
        assert re.fullmatch(r"\d\D\(\d\D\d\)" if digits == 1 else r"\d+\D\d+", said)
        numbers = [int(number) for number in re.findall(r"\d+", said)]
        assert max(numbers) < 10**digits
        assert str(eval(said)) == row["answer"]  # noqa: S307  nothing but digits, signs and brackets: matched above
    largest = max(int(number) for row in rows for number in re.findall(r"\d+", row["question"]))
    assert largest > 0.95 * 10**digits - 1, "the whole range is used"


def test_the_ten_operations_of_the_paper():
    assert len(OPERATIONS) == 10


def test_the_same_seed_gives_the_same_sums_and_train_is_not_test():
    one, again, other = (Arithmetic(operation="two_digit_addition", seed=seed).rows("test", HERE) for seed in (0, 0, 1))
    assert one == again != other
    train = Arithmetic(operation="two_digit_addition").rows("train", HERE)
    assert not {row["question"] for row in train} & {row["question"] for row in one}


def test_the_wording_is_openai_s(data):
    """Every published two-digit addition, written by us: the same to the byte (theirs has the separator in front)."""
    from foreword.tasks.task import load

    task = load("arithmetic/two_digit_addition")[0]
    for line in (data / "gpt3-arithmetic/two_digit_addition.jsonl").read_text(encoding="utf-8").splitlines():
        theirs = json.loads(line)
        a, b = re.search(r"(\d+) plus (\d+)", theirs["context"]).groups()
        row = {"question": f"What is {a} plus {b}?", "answer": str(int(a) + int(b))}
        assert task.spec.separator + task.kind.solved(row) == theirs["context"] + theirs["completion"]


# --- scramble --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", SCRAMBLES)
def test_scrambled_words_keep_what_their_way_promises(way):
    rows = Scramble(way=way).rows("test", HERE)
    assert len(rows) > 1000
    assert len({row["word"] for row in rows}) == len(rows)
    for row in rows:
        word, made = row["word"], row["scrambled"]
        assert 5 <= len(word) <= 14
        assert made != word
        if way == "random_insertion":
            assert made[::2] == word
            assert set(made[1::2]) <= set(SIGNS)
            continue
        assert Counter(made) == Counter(word)
        if way == "reversed":
            assert made[::-1] == word
        elif way == "cycle_letters":
            assert made in (word + word)
        else:
            kept = 1 if way == "anagrams_all_but_ends" else 2
            assert (made[:kept], made[-kept:]) == (word[:kept], word[-kept:])
    train = Scramble(way=way).rows("train", HERE)
    assert not {row["word"] for row in train} & {row["word"] for row in rows}


def test_words_may_come_from_a_text(tmp_path):
    (tmp_path / "words.txt").write_text("apple banana apple cherry it Banana", encoding="utf-8")
    source = Scramble(way="reversed", words="words.txt")
    words = {row["word"] for split in ("train", "test") for row in source.rows(split, SearchPath(tmp_path))}
    assert words == {"apple", "banana", "cherry"}


# --- files -----------------------------------------------------------------------------------------------------------


def test_rows_of_columns_and_lines(tmp_path):
    (tmp_path / "a.csv").write_text('q,"x, y",z\n"one ""1""",2,3\n', encoding="utf-8")
    assert Csv(test="a.csv").rows("test", SearchPath(tmp_path)) == [{"q": 'one "1"', "x, y": "2", "z": "3"}]
    assert len(Csv(test="a.csv", columns=("a", "b", "c")).rows("test", SearchPath(tmp_path))) == 2
    (tmp_path / "a.tsv").write_text('a\tb\n"x\ty\n', encoding="utf-8")
    assert Tsv(test="a.tsv").rows("test", SearchPath(tmp_path)) == [{"a": '"x', "b": "y"}]
    (tmp_path / "a.en").write_text("one\ntwo\u2028too\n", encoding="utf-8")  # only a newline ends a line
    (tmp_path / "a.de").write_text("eins\nzwei\n", encoding="utf-8")
    assert Lines(test={"en": "a.en", "de": "a.de"}).rows("test", SearchPath(tmp_path)) == [
        {"en": "one", "de": "eins"},
        {"en": "two\u2028too", "de": "zwei"},
    ]


def test_broken_files_are_said_with_their_line(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n{"a": \n', encoding="utf-8")
    with pytest.raises(Fault, match=r"a\.jsonl:2\n    this line is not JSON"):
        JsonLines(test="a.jsonl").rows("test", SearchPath(tmp_path))
    (tmp_path / "a.tsv").write_text("a\tb\nx\n", encoding="utf-8")
    with pytest.raises(Fault, match=r"a\.tsv:2\n    this row has 1 columns, not the 2 of a, b"):
        Tsv(test="a.tsv").rows("test", SearchPath(tmp_path))
    (tmp_path / "b.en").write_text("one\n", encoding="utf-8")
    (tmp_path / "b.de").write_text("eins\nzwei\n", encoding="utf-8")
    with pytest.raises(Fault, match="same number of lines: en 1, de 2"):
        Lines(test={"en": "b.en", "de": "b.de"}).rows("test", SearchPath(tmp_path))
    with pytest.raises(Fault, match="neither beside the task file nor in"):
        JsonLines(test="gone.jsonl").rows("test", SearchPath(tmp_path))


def test_children_s_books(tmp_path):
    (tmp_path / "cbt.txt").write_text(
        "1 Once there was a fox .\n2 It ran .\n21 The XXXXX slept .\tfox\t\tcat|fox|dog\n\n1 Next .\n21 XXXXX !\tno\t\tyes|no\n",
        encoding="utf-8",
    )
    first, second = ChildrensBooks(test="cbt.txt").rows("test", SearchPath(tmp_path))
    assert first == {
        "passage": "Once there was a fox . It ran .",
        "before": "The",
        "after": " slept .",
        "choices": ["cat", "fox", "dog"],
        "gold": 1,
    }
    assert second["passage"] == "Next ."


@pytest.mark.parametrize(
    ("noun", "pronoun", "before", "written"),
    [
        ("The city councilmen", "they", "a permit because", "the city councilmen"),
        ("The fish", "It", "ate the worm.", "The fish"),
        ("The man", "his", "the boy onto", "the man's"),
        ("Emma", "her", "long ago, and", "Emma's"),
        ("Bob", "him", "saw", "Bob"),
    ],
)
def test_a_noun_in_the_place_of_a_pronoun(noun, pronoun, before, written):
    assert in_place(noun, pronoun, before) == written


def test_published_files_read_whole(data):
    where = SearchPath(data)
    schemas = Winograd(test="wsc/WSCollection.xml", first=273).rows("test", where)
    assert len(schemas) == 273
    assert Counter(row["gold"] for row in schemas).keys() == {0, 1}
    assert schemas[0]["before"] + " " + schemas[0]["choices"][0] + schemas[0]["after"] == (
        "The city councilmen refused the demonstrators a permit because the city councilmen feared violence."
    )
    questions = Aristo(test="ai2-science/qasc_dev.jsonl").rows("test", where)
    assert len(questions) == 926
    assert questions[0]["choices"][questions[0]["gold"]] == "local weather conditions"
    asked = Squad(valid="squad/dev-v1.1.json").rows("valid", where)
    assert len(asked) == 10_570
    assert asked[0]["answers"] == ["Denver Broncos"]
