"""Dialogue from files to a conversation: corpus, train, train further, chat in a terminal and through a pipe, evaluate."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import patch

import pytest

from foreword.runs.folder import RunFolder
from tests.cli.program import TINY, Said, run
from tests.tiny import dialogues

SMALL = [*TINY, "--set", "network.context=64", "--budget", 12]
CHINESE = ["你好吗？", "我很好，你呢？", "今天天气很好。", "我们去公园看花吧。", "好的，走吧。"]


def spoken(folder: Path) -> dict[str, Path]:
    english, chinese = folder / "english.jsonl", folder / "chinese.txt"
    english.write_text("".join(json.dumps({"turns": turns}) + "\n" for turns in dialogues()), encoding="utf-8")
    chinese.write_text(
        "".join(
            "\t".join(" ".join(turn) for turn in CHINESE[i % 3 :]) + f"\t{' '.join(f'第{i}次')}\n" for i in range(120)
        ),
        encoding="utf-8",
    )
    return {"en": english, "zh": chinese}


@pytest.fixture(scope="module")
def talkers(tmp_path_factory) -> dict[str, Path]:
    """For each language its text, a store, and a forward and a backward model."""
    folder = tmp_path_factory.mktemp("talkers")
    found = {}
    for language, path in spoken(folder).items():
        found[f"{language}-text"] = path
        run(
            "tokens",
            path,
            "--documents",
            "dialogues",
            "--vocabulary",
            400,
            "--splits",
            "0.8/0.1/0.1",
            "--out",
            folder / f"{language}-store",
        ).right()
        found[f"{language}-store"] = folder / f"{language}-store"
        for name, recipe in (("forward", "dialogpt"), ("backward", "dialogpt-backward")):
            out = folder / f"{language}-{name}"
            run("train", recipe, *SMALL, "--data", folder / f"{language}-store", "--out", out).right()
            found[f"{language}-{name}"] = out
    return found


class Terminal:
    """The program with a pseudo-terminal before it, as a person has one."""

    def __init__(self, *words: object, cwd: Path):
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "foreword", *map(str, words)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env={**os.environ, "OMP_NUM_THREADS": "1", "TERM": "dumb"},
        )
        os.close(theirs)
        self.seen = ""

    def until(self, ending: str, seconds: float = 60.0) -> str:
        """What is shown until `ending` stands last."""
        shown, limit = b"", time.monotonic() + seconds
        while not shown.decode("utf-8", "ignore").endswith(ending):
            assert time.monotonic() < limit, f"waited for {ending!r}, got {shown.decode('utf-8', 'replace')!r}"
            ready, _, _ = select.select([self.ours], [], [], 0.5)
            if ready:
                try:
                    shown += os.read(self.ours, 4096)
                except OSError:  # the other side has hung up
                    break
        text = shown.decode("utf-8").replace("\r\n", "\n")
        self.seen += text
        return text

    def say(self, line: str) -> str:
        """Type a line; everything shown until the next prompt."""
        os.write(self.ours, line.encode() + b"\n")
        return self.until("you> ")

    def leave(self) -> tuple[str, int]:
        os.write(self.ours, b"\x04")  # Ctrl-D
        text = self.until("\0")
        code = self.process.wait(60)
        os.close(self.ours)
        return text, code


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", ["what is it?", "it is so.", "what is that?", "that is so.", "so what is it?"]), ("zh", CHINESE)],
)
def test_a_conversation_of_five_turns_in_a_terminal(talkers, tmp_path, language, said):
    terminal = Terminal(
        "chat",
        talkers[f"{language}-forward"],
        "--mmi",
        talkers[f"{language}-backward"],
        "--candidates",
        4,
        "--max-tokens",
        12,
        cwd=tmp_path,
    )
    assert "Ctrl-D leaves" in terminal.until("you> ")
    replies = []
    for line in said:
        shown = terminal.say(line)
        assert line in shown, "what is typed is seen, also in Chinese"
        found = re.search(r"bot> (.*)\n", shown)
        assert found, shown
        replies.append(found.group(1))
    why = terminal.say("/why")
    assert "of 4 drawn" in why
    assert "backward" in why
    assert replies[-1] in why
    assert "/reset" in terminal.say("/help")
    assert "Did you mean /why?" in terminal.say("/wyh")
    assert "10 turns added to talk.jsonl." in terminal.say("/save talk.jsonl")
    assert "forgotten." in terminal.say("/reset")
    assert "nothing has been said yet." in terminal.say("/why")
    goodbye, code = terminal.leave()
    assert code == 0
    assert "Goodbye." in goodbye
    assert "Traceback" not in terminal.seen
    saved = json.loads((tmp_path / "talk.jsonl").read_text(encoding="utf-8"))["turns"]
    assert saved[::2] == said
    assert saved[1::2] == list(replies)


def piped(text: str | bytes, *words: object) -> Said:
    """The same with lines that come from another program."""
    given = io.TextIOWrapper(io.BytesIO(text if isinstance(text, bytes) else text.encode()), encoding="utf-8")
    with patch.object(sys, "stdin", given):
        return run(*words)


def test_a_conversation_through_a_pipe_is_one_reply_a_line_and_can_be_repeated(talkers):
    words = ["chat", talkers["zh-forward"], "--max-tokens", 8, "--seed", 3]
    first, second = piped("你好吗？\n\n今天天气很好。\n", *words), piped("你好吗？\n今天天气很好。", *words)
    assert first.right() == second.right()
    assert len(first.out.split("\n")) == 3
    assert "you>" not in first.out
    assert piped(b"caf\xe9 is not UTF-8\n", *words).right()


def test_any_gpt2_folder_can_be_talked_with(made):
    """A Hugging Face directory of a model that never saw a dialogue; and a model that counts."""
    assert (
        len(piped("hello\nhow are you?\n", "chat", made("gpt2") / "model", "--max-tokens", 6).right().splitlines()) >= 2
    )
    assert piped("hello\n", "chat", made("kneser-ney"), "--max-tokens", 6).right()


def test_a_model_that_reads_the_other_way_round_is_refused(talkers):
    said = piped("hi\n", "chat", talkers["en-backward"]).fault()
    assert "reads turns backward" in said
    assert f"--mmi {talkers['en-backward']}" in said
    said = piped("hi\n", "chat", talkers["en-forward"], "--mmi", talkers["en-forward"]).fault()
    assert "reads turns forward" in said
    assert "dialogpt-backward" in said
    assert "no room" in piped("hi\n", "chat", talkers["en-forward"], "--max-tokens", 64).fault()


def test_bert_cannot_chat(made):
    assert "cannot" in run("chat", made("bert")).fault()


def test_text_of_dialogues_is_read_as_such_by_a_recipe_of_turns(talkers, tmp_path):
    said = run(
        "train",
        "dialogpt",
        *SMALL,
        "--set",
        "tokenizer.vocabulary=400",
        "--data",
        talkers["zh-text"],
        "--out",
        tmp_path / "run",
    )
    said.right()
    assert "guesses" in run("preview", "dialogpt", *SMALL[:-2], "--data", talkers["zh-store"], "--rows", 1).right()


def test_a_store_of_plain_text_is_refused_by_a_recipe_of_turns(made, tmp_path):
    assert (
        "--documents dialogues"
        in run("train", "dialogpt", *SMALL, "--data", made("bpe"), "--out", tmp_path / "run").fault()
    )


def test_evaluate_answers_whether_mmi_helps(talkers, tmp_path):
    words = ["dialogue", talkers["en-forward"], "--data", talkers["en-text"], "--prompts", 24]
    said = run(*words, "--mmi", talkers["en-backward"], "--examples", tmp_path / "said.jsonl").right()
    for word in (
        "BLEU-4",
        "NIST-4",
        "distinct-1",
        "distinct-2",
        "entropy-4",
        "length",
        "dull replies",
        "first sample",
        "likeliest",
        "MMI",
        "person",
        "24 prompts",
        "paired bootstrap",
    ):
        assert word in said, word
    rows = [json.loads(line) for line in (tmp_path / "said.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 24
    assert set(rows[0]) == {"turns", "first sample", "likeliest", "MMI", "person"}
    found = json.loads(run(*words, "--mmi", talkers["en-backward"], "--json").right())[str(talkers["en-forward"])]
    assert found["prompts"] == 24
    assert len(found["mmi"]["dull replies"]) == 4
    alone = run("dialogue", talkers["en-forward"], "--data", talkers["en-store"]).right()
    assert "MMI" not in alone
    few = run(
        "dialogue", talkers["en-forward"], "--data", talkers["en-text"], "--prompts", 3, "--mmi", talkers["en-backward"]
    )
    assert "too few to say" in few.right()
    assert "--data DIALOGUES" in run("evaluate", talkers["en-forward"], "dialogue").fault()
    assert "--data DIALOGUES" in run("dialogue", talkers["en-forward"], "--data", "gone.txt").fault()
    assert (
        "--mmi is an option of foreword dialogue"
        in run("evaluate", talkers["en-forward"], "--mmi", talkers["en-backward"]).fault()
    )


def test_a_model_is_trained_further_and_the_run_says_from_what(talkers, tmp_path):
    settings = [*TINY, "--set", "network.context=64", "--budget", 3]
    run("train", "gpt2", *settings, "--data", talkers["en-store"], "--out", tmp_path / "base").right()
    words = [
        "train",
        "dialogpt",
        *settings,
        "--data",
        talkers["en-text"],
        "--out",
        tmp_path / "on",
        "--from",
        tmp_path / "base",
    ]
    said = run(*words)
    said.right()
    assert "further" in said.err
    start = RunFolder(tmp_path / "on").passport()["start"]
    assert start["path"] == str(tmp_path / "base")
    assert "this run is finished" in run(*words).err
    other = run(*words[:-2])
    assert f"was begun from {tmp_path / 'base'}, not from nothing" in other.fault()
    longer = run(
        "train",
        "dialogpt",
        *TINY,
        "--set",
        "network.context=32",
        "--set",
        "network.width=48",
        "--budget",
        3,
        "--data",
        talkers["en-store"],
        "--out",
        tmp_path / "wide",
        "--from",
        tmp_path / "base",
    ).fault()
    for word in ("network.width: 32 -> 48", "network.context: 64 -> 32", "--size"):
        assert word in longer
    assert not (tmp_path / "wide").exists()
    foreign = run(
        "train",
        "dialogpt",
        *settings,
        "--data",
        talkers["zh-store"],
        "--out",
        tmp_path / "zh",
        "--from",
        tmp_path / "base",
    ).fault()
    assert f"foreword tokens TEXT --tokenizer {tmp_path / 'base'}" in foreign


def comment(name: str, parent: str, body: str) -> str:
    return (
        json.dumps({"id": name, "parent_id": parent, "body": body, "created_utc": int(name, 36), "subreddit": "talk"})
        + "\n"
    )


def test_reddits_comments_become_dialogues_with_a_report(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    text = (
        comment("a", "t3_s", "what is the question?")
        + comment("b", "t1_a", "it is [this] one")
        + comment("c", "t1_b", "so it is the one")
        + comment("d", "t1_a", "[deleted]")
        + comment("e", "t1_d", "who was that?")
        + comment("f", "t1_g", "a")
        + comment("g", "t1_f", "a")
    )
    (tmp_path / "RC.zst").write_bytes(zstandard.ZstdCompressor().compress(text.encode()))
    said = run("corpus", "reddit", tmp_path / "RC.zst", "--out", tmp_path / "talk.jsonl").right()
    for count, what in (
        (7, "comments read"),
        (1, "deleted"),
        (2, "comments in a circle"),
        (1, "a square bracket"),
        (1, "dialogues with"),
    ):
        assert re.search(rf"^ +{count} +{re.escape(what)}", said, re.MULTILINE), what
    row = json.loads((tmp_path / "talk.jsonl").read_text(encoding="utf-8"))
    assert row["turns"] == ["what is the question?", "it is [this] one", "so it is the one"]
    assert row["weights"] == [1, 0, 1]
    report = json.loads(
        run("corpus", "reddit", tmp_path / "RC.zst", "--out", tmp_path / "other.jsonl", "--json").right()
    )
    assert report["reasons"] == {"a square bracket": 1}
    assert "already there" in run("corpus", "reddit", tmp_path / "RC.zst", "--out", tmp_path / "talk.jsonl").fault()
    packed = (tmp_path / "RC.zst").read_bytes()
    (tmp_path / "cut.zst").write_bytes(packed[: len(packed) // 2])
    fault = run("corpus", "reddit", tmp_path / "cut.zst", "--out", tmp_path / "third.jsonl").fault()
    assert "cut.zst" in fault
    assert "bytes of text" in fault
    assert not (tmp_path / "third.jsonl").exists()


def test_an_empty_turn_is_said_with_its_line(tmp_path):
    (tmp_path / "a.tsv").write_text("a\tb\nc\t\td\n")
    said = run("tokens", tmp_path / "a.tsv", "--documents", "dialogues", "--out", tmp_path / "store").fault()
    assert "a.tsv:2" in said
    assert "turn 2 of 3 is empty" in said
