"""Every form in which dialogues are written gives the same turns, and what is wrong in a file is said with its line."""

import gzip
import json

import pytest

from foreword.basics.messages import Fault
from foreword.text.dialogues import of_row, unspaced
from foreword.text.document import Dialogue
from foreword.text.reading import documents, units

TURNS = [("Hi there .", "Hello !", "How are you ?"), ("Bye .", "See you .")]


def read(path, **settings):
    return [document.dialogue for document in documents([path], "dialogues", **settings)]


def rows(make):
    return "".join(json.dumps(make(turns)) + "\n" for turns in TURNS)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "".join(" __eou__ ".join(turns) + " __eou__\n" for turns in TURNS)),
        ("b.txt", "".join("__eou__".join(turns) + "__eou__\t3\t1 2 1\t0 0 4\n" for turns in TURNS)),
        ("c.tsv", "".join("\t".join(turns) + "\r\n" for turns in TURNS)),
        ("d.jsonl", rows(lambda turns: {"turns": turns})),
        ("e.jsonl", rows(list)),
        ("f.jsonl", rows(lambda turns: {"id": 7, "dialog": [{"role": "user", "content": turn} for turn in turns]})),
    ],
)
def test_every_form_gives_the_same_turns(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert [one.turns for one in read(tmp_path / name)] == TURNS
    speakers = {one.speakers for one in read(tmp_path / name)}
    assert speakers <= ({("user",) * len(turns) for turns in TURNS} if name == "f.jsonl" else {()})


def test_packed_jsonl_is_read_too(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(rows(list).encode()))
    assert [one.turns for one in read(tmp_path / "a.jsonl.gz")] == TURNS


def test_the_weights_of_dialogpts_own_form(tmp_path):
    (tmp_path / "train.tsv").write_text("0.0 so what EOS 1.0 tell me\t1.0 why not\n1.0 a 0.5 b\t0.0 c d\n")
    assert read(tmp_path / "train.tsv") == [
        Dialogue(("so what", "tell me", "why not"), (0, 1, 1)),
        Dialogue(("a 0.5 b", "c d"), (1, 0)),
    ]


def test_a_file_without_weights_may_have_turns_that_begin_with_a_number(tmp_path):
    (tmp_path / "train.tsv").write_text("how old ?\t1.0 years\n")
    assert read(tmp_path / "train.tsv") == [Dialogue(("how old ?", "1.0 years"))]


@pytest.mark.parametrize(
    ("spaced", "joined"),
    [
        ("你 好 吗 ？", "你好吗？"),
        ("我 用 iphone 8 手 机 … …", "我用iphone 8手机……"),
        ("嗯", "嗯"),
        ("好的 谢谢", "好的 谢谢"),
        ("How are you ?", "How are you ?"),
        ("I don ’ t know …", "I don ’ t know …"),
        ("", ""),
    ],
)
def test_only_chinese_whose_characters_are_parted_is_put_together(spaced, joined):
    assert unspaced(spaced) == joined


def test_cutting_a_file_into_units_loses_no_dialogue(tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"question {i} __eou__ answer {i} __eou__\n" for i in range(200)))
    whole = read(tmp_path / "a.txt")
    pieces = [
        document.dialogue
        for unit in units([tmp_path / "a.txt"], "dialogues", unit_bytes=700)
        for document in unit.documents()
    ]
    assert len(whole) == 200
    assert pieces == whole


def test_the_text_of_a_dialogue_is_its_turns_one_to_a_line(tmp_path):
    (tmp_path / "a.tsv").write_text("a b\tc\n")
    assert [document.text for document in documents([tmp_path / "a.tsv"], "dialogues")] == ["a b\nc"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.tsv", "a\tb\n\nc\t \td\n", ["a.tsv:3", "turn 2 of 3 is empty"]),
        ("a.txt", "a __eou__ __eou__ b __eou__\n", ["a.txt:1", "turn 2 of 3 is empty"]),
        ("a.jsonl", '{"turns": ["a", "b"]}\n{"turns": ["a", ""]}\n', ["a.jsonl:2", "turn 2 of 2 is empty"]),
        ("a.jsonl", '{"turns": "a"}\n', ["a.jsonl:1", "not a list"]),
        ("a.jsonl", '{"turns": ["a", 3]}\n', ["a.jsonl:1", "turn 2 is not a text"]),
        ("a.jsonl", '{"turns": ["a", "b"], "weights": [1]}\n', ["a.jsonl:1", "2 turns need 2 weights"]),
        ("a.jsonl", '{"talk": ["a", "b"]}\n', ["a.jsonl:1", "'turns'", "talk", "--column"]),
        ("a.jsonl", '["a"\n', ["a.jsonl:1", "not JSON"]),
        ("a.txt", "\njust prose, no turns\n", ["a.txt:2", "nothing in it separates its turns", "jsonl"]),
        ("a.tsv", "1.0 a\t0.0 b\nc\t1.0 d\n", ["a.tsv:2", "turn 1 has no weight"]),
        ("a.csv", "a,b\n", ["a.csv", ".jsonl"]),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, name, text, words):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(Fault) as caught:
        read(tmp_path / name)
    assert caught.value.code == 2
    for word in words:
        assert word in str(caught.value)


def test_a_column_can_be_chosen():
    assert of_row({"talk": ["a", "b"], "turns": ["c", "d"]}, "talk") == Dialogue(("a", "b"))
    with pytest.raises(Fault, match="no column 'tlak'. Did you mean talk"):
        of_row({"talk": ["a", "b"]}, "tlak")


def test_the_published_files_are_read_whole(data):
    """The numbers of dialogues are those of data/README.md; the numbers of turns those of `grep -o __eou__ | wc -l`."""
    found = {
        name: read(data / name)
        for name in (
            "dailydialog-en/en_dev_human.txt",
            "zh/xdailydialog/zh_dev_human.txt",
            "zh/lccc-toy/toy_train.txt",
            "dialogpt/dummy_data.tsv",
        )
    }
    assert [len(one) for one in found.values()] == [995, 995, 10000, 10000]
    for name in list(found)[:2]:
        assert sum(len(one.turns) for one in found[name]) == (data / name).read_text().count("__eou__")
    assert not any(
        " " in turn and not turn.isascii() and "你 好" in turn
        for one in found["zh/lccc-toy/toy_train.txt"]
        for turn in one.turns
    )
    assert found["dialogpt/dummy_data.tsv"][0].turns == ("what are you doing for a living ?", "i am a admin .")
