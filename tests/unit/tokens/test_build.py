"""A store is the same whoever makes it: one process or two, in one go or after a kill."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from foreword.basics import files
from foreword.basics.messages import Fault, RunFailed
from foreword.basics.unfinished import Unfinished
from foreword.kernels import tokenize
from foreword.text.splits import split_of
from foreword.tokens import build, encode, quick
from foreword.tokens.build import build_store
from foreword.tokens.kinds import Ascii, Byte, ByteBPE, Word, WordPiece
from foreword.tokens.store import TokenStore


def lines(number: int, seed: int = 0) -> list[str]:
    chance = np.random.default_rng(seed)
    words = ["river", "mountain", "the", "of", "naïve", "你好", "stone", "walks", "42"]
    return [" ".join(chance.choice(words, chance.integers(3, 20))) + f" number {i}." for i in range(number)]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "text").mkdir()
    for part in range(4):
        (tmp_path / "text" / f"{part}.txt").write_text("\n".join(lines(80, part)))
    return tmp_path / "text"


@pytest.fixture
def small_units(monkeypatch):
    """So many units that two workers both have some, from little text."""
    monkeypatch.setattr(build, "SMALL", 0)
    real = build.units
    monkeypatch.setattr(build, "units", lambda paths, documents, column, size: real(paths, documents, column, 4000))


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_every_document_is_there_once_in_its_split(corpus, tmp_path):
    content = build_store([corpus], tmp_path / "store", ByteBPE(vocabulary=300), documents="line")
    everything = {line for part in range(4) for line in lines(80, part)}
    found = []
    for split in ("train", "valid", "test"):
        store = TokenStore.open(tmp_path / "store", split)
        texts = [store.tokenizer.decode(store.document(i)) for i in range(store.documents)]
        assert {split_of(text) for text in texts} == {split}
        assert store.bytes.tolist() == [len(text.encode()) for text in texts]
        assert store.characters.tolist() == [len(text) for text in texts]
        assert store.words.tolist() == [len(text.split()) for text in texts]
        assert store.total_bytes == store.bytes.sum() == content["splits"][split]["bytes"]
        ids = store.read(0, store.tokens)
        assert ids.dtype == np.int64
        assert (ids[store.ends - 1] == store.tokenizer.special("[end]")).all()
        assert store.ends[-1] == store.tokens
        assert store.counts.tolist() == np.bincount(ids, minlength=len(store.tokenizer)).tolist()
        found += texts
    assert sorted(found) == sorted(everything)
    assert not (tmp_path / "store.partial").exists()
    assert not list((tmp_path / "store").rglob("*rows.npy"))


def test_the_tokenizer_learns_from_the_training_split_only(tmp_path):
    documents = lines(200)
    (tmp_path / "a.txt").write_text("\n".join(documents))
    build_store([tmp_path / "a.txt"], tmp_path / "store", Word(), documents="line")
    train = [text for text in documents if split_of(text) == "train"]
    assert len(train) < 200
    assert TokenStore.open(tmp_path / "store").fingerprint == Word().train(iter(train)).fingerprint


def test_one_worker_and_two_make_the_same_files(corpus, tmp_path, small_units):
    for workers in (1, 2):
        build_store([corpus], tmp_path / f"store{workers}", ByteBPE(vocabulary=300), documents="line", workers=workers)
    one, two = content_of(tmp_path / "store1"), content_of(tmp_path / "store2")
    assert len([name for name in one if name.startswith("train/") and name.endswith("ids.npy")]) > 4
    assert one == two


def test_the_store_is_the_same_without_a_compiler(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(quick, "WORTH", 0)
    build_store([corpus], tmp_path / "with", ByteBPE(vocabulary=300), documents="line")
    monkeypatch.setattr(tokenize, "library", lambda: None)
    build_store([corpus], tmp_path / "without", ByteBPE(vocabulary=300), documents="line")
    assert content_of(tmp_path / "with") == content_of(tmp_path / "without")


def test_a_document_without_any_id_is_a_document(tmp_path):
    (tmp_path / "a.txt").write_text("你好\n好")
    build_store([tmp_path / "a.txt"], tmp_path / "store", Ascii(), documents="line", fractions=(1.0, 0.0, 0.0))
    store = TokenStore.open(tmp_path / "store")
    assert (store.documents, store.bytes.tolist(), store.characters.tolist()) == (2, [6, 3], [2, 1])


KILLED = """
import sys, time
from pathlib import Path
from foreword.tokens import build
from foreword.tokens.encode import UnitEncoder
from foreword.tokens.kinds import ByteBPE
real, units = UnitEncoder.__call__, build.units
build.units = lambda paths, documents, column, size: units(paths, documents, column, 4000)
def slow(encoder, numbered):
    if numbered[0] == 3:
        print("at work", flush=True)
        time.sleep(600)
    return real(encoder, numbered)
UnitEncoder.__call__ = slow
build.build_store([Path(sys.argv[1])], Path(sys.argv[2]), ByteBPE(vocabulary=300), documents="line", workers=1)
"""


def test_after_a_kill_the_same_command_goes_on_and_ends_with_the_same_files(corpus, tmp_path, small_units, capsys):
    build_store([corpus], tmp_path / "whole", ByteBPE(vocabulary=300), documents="line", workers=1)
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(corpus), str(tmp_path / "store")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "at work\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    partial = tmp_path / "store.partial"
    assert not (tmp_path / "store").exists()
    assert len(list(partial.glob("done/*.json"))) == 3
    before = {path: path.stat().st_mtime_ns for path in partial.glob("train/*.npy")}
    (partial / "train/.00003-000.ids.npy.1.partial").write_bytes(b"half")  # as a kill in mid-write leaves it
    build_store([corpus], tmp_path / "store", ByteBPE(vocabulary=300), documents="line", workers=2)
    assert "3 finished parts found" in capsys.readouterr().err
    after = {path: (tmp_path / "store/train" / path.name) for path in before if path.name.endswith("ids.npy")}
    assert all(path.stat().st_mtime_ns == before[old] for old, path in after.items())  # not made again
    assert content_of(tmp_path / "store") == content_of(tmp_path / "whole")


def test_the_same_settings_reuse_a_store_and_others_are_refused(corpus, tmp_path, capsys):
    first = build_store([corpus], tmp_path / "store", Byte(), documents="line")
    made = (tmp_path / "store/store.json").stat().st_mtime_ns
    assert build_store([corpus], tmp_path / "store", Byte(), documents="line") == first
    assert "already there" in capsys.readouterr().err
    assert (tmp_path / "store/store.json").stat().st_mtime_ns == made
    with pytest.raises(Fault, match="other settings"):
        build_store([corpus], tmp_path / "store", Byte(), documents="line", fractions=(0.8, 0.1, 0.1))
    with pytest.raises(Fault, match="other settings"):
        build_store([corpus], tmp_path / "store", Ascii(), documents="line")
    (corpus / "0.txt").write_text("changed")
    with pytest.raises(Fault, match="other files"):
        build_store([corpus], tmp_path / "store", Byte(), documents="line")
    (tmp_path / "other").mkdir()
    with pytest.raises(Fault, match="is not a token store"):
        build_store([corpus], tmp_path / "other", Byte(), documents="line")


def test_unfinished_work_for_other_settings_is_begun_anew(corpus, tmp_path):
    partial = tmp_path / "store.partial"
    (partial / "done").mkdir(parents=True)
    (partial / "plan.json").write_text(json.dumps({"settings": "others"}))
    (partial / "done/00000.json").write_text("{}")
    build_store([corpus], tmp_path / "store", Byte(), documents="line")
    assert TokenStore.open(tmp_path / "store").documents > 100


def test_two_processes_do_not_make_the_same_store(corpus, tmp_path):
    with Unfinished(tmp_path / "store", "some settings"):
        with pytest.raises(Fault, match="another process"):
            build_store([corpus], tmp_path / "store", Byte(), documents="line")


def test_a_store_made_with_a_given_tokenizer_keeps_it(corpus, tmp_path):
    tokenizer = WordPiece(vocabulary=200).train(iter(lines(50)))
    build_store([corpus], tmp_path / "store", tokenizer, documents="line", marks=("word_start",))
    store = TokenStore.open(tmp_path / "store")
    assert store.fingerprint == store.tokenizer.fingerprint == tokenizer.fingerprint
    assert store.marks == ("word_start",)


def test_unknown_words_and_dropped_characters_are_counted(tmp_path):
    (tmp_path / "a.txt").write_text("a b zzz\nnaïve 你好 zzz\n")
    everything = (1.0, 0.0, 0.0)
    words = Word().train(iter(["a b"]))
    assert build_store([tmp_path / "a.txt"], tmp_path / "w", words, fractions=everything)["unknown"] == 6
    assert build_store([tmp_path / "a.txt"], tmp_path / "a", Ascii(), fractions=everything, marks=())["dropped"] == 3
    assert build_store([tmp_path / "a.txt"], tmp_path / "b", Ascii(), fractions=everything)["dropped"] == 3


def test_an_empty_split_is_a_fault_that_says_what_to_do(tmp_path):
    (tmp_path / "a.txt").write_text("one document only")
    with pytest.raises(Fault) as caught:
        build_store([tmp_path / "a.txt"], tmp_path / "store", Byte())
    assert "documents: 1; none fell into the" in str(caught.value)
    assert "--documents paragraph" in str(caught.value)
    assert not (tmp_path / "store").exists()
    assert not (tmp_path / "store.partial").exists()
    (tmp_path / "b.txt").write_text(" \n ")
    with pytest.raises(Fault, match="no text"):
        build_store([tmp_path / "b.txt"], tmp_path / "store", Byte())
    with pytest.raises(Fault, match="add up to 1"):
        build_store([tmp_path / "a.txt"], tmp_path / "store", Byte(), fractions=(0.9, 0.2, 0.2))


def test_faults_in_workers_come_back_as_faults_all_together(corpus, tmp_path, small_units):
    for part in range(4):
        (corpus / f"{part}.txt").write_bytes(b"x" * 3000 + b"\xff")
    with pytest.raises(Fault) as caught:
        build_store([corpus], tmp_path / "store", Byte(), documents="line", workers=2)
    assert caught.value.code == 2
    assert str(caught.value).count("is not valid UTF-8") == 4
    assert "3.txt" in str(caught.value)


def test_a_long_unit_is_flushed_in_several_shards_with_the_same_ids(corpus, tmp_path, monkeypatch):
    build_store([corpus], tmp_path / "one", Byte(), documents="line")
    monkeypatch.setattr(encode, "SHARD", 2000)
    build_store([corpus], tmp_path / "many", Byte(), documents="line")
    one, many = TokenStore.open(tmp_path / "one"), TokenStore.open(tmp_path / "many")
    assert (len(one.shards), len(many.shards) > 5) == (1, True)
    assert (one.read(0, one.tokens) == many.read(0, many.tokens)).all()
    assert (one.ends == many.ends).all()
    for mark in one.marks:
        assert (one.read_mark(mark, 0, one.tokens) == many.read_mark(mark, 0, many.tokens)).all()


def test_a_full_disk_is_told_and_what_was_done_is_kept(corpus, tmp_path, small_units, monkeypatch):
    real = files.os.fsync
    calls = {"left": 40}

    def full(handle):
        calls["left"] -= 1
        if calls["left"] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(RunFailed, match="disk is full"):
        build_store([corpus], tmp_path / "store", Byte(), documents="line", workers=1)
    assert list((tmp_path / "store.partial/done").glob("*.json"))
    monkeypatch.setattr(files.os, "fsync", real)
    build_store([corpus], tmp_path / "store", Byte(), documents="line", workers=1)
    build_store([corpus], tmp_path / "whole", Byte(), documents="line", workers=1)
    assert content_of(tmp_path / "store") == content_of(tmp_path / "whole")


def test_a_sample_smaller_than_the_corpus_is_spread_over_it_and_repeatable(corpus, small_units):
    from foreword.basics.progress import Ticker

    work = build.units([corpus], "line", "text", 4000)
    taken = list(build._sample(work, (0.9, 0.05, 0.05), 8000, Ticker("", None)))
    assert 3000 < sum(len(text.encode()) for text in taken) <= 8000
    everything = [line for part in range(4) for line in lines(80, part)]
    places = [everything.index(text) for text in taken]
    assert min(places) < 80
    assert max(places) > 240
    assert taken == list(build._sample(work, (0.9, 0.05, 0.05), 8000, Ticker("", None)))


def test_given_splits_go_where_they_are_given(tmp_path):
    for name, words in (("a", "one two three"), ("b", "two"), ("c", "four one")):
        (tmp_path / f"{name}.txt").write_text("\n".join([words] * 5))
    given = {"train": [tmp_path / "a.txt"], "valid": [tmp_path / "b.txt"], "test": [tmp_path / "c.txt"]}
    content = build_store(given, tmp_path / "store", ByteBPE(vocabulary=300), documents="line")
    assert {split: part["documents"] for split, part in content["splits"].items()} == {
        "train": 5,
        "valid": 5,
        "test": 5,
    }
    for split, text in (("train", "one two three"), ("valid", "two"), ("test", "four one")):
        store = TokenStore.open(tmp_path / "store", split)
        assert {store.tokenizer.decode(store.document(i)) for i in range(5)} == {text}
    assert build_store(given, tmp_path / "store", ByteBPE(vocabulary=300), documents="line") == content, "found again"
    moved = {"train": given["train"], "valid": given["test"], "test": given["valid"]}
    with pytest.raises(Fault, match="made from other files or with other settings"):
        build_store(moved, tmp_path / "store", ByteBPE(vocabulary=300), documents="line")


def test_a_tokenizer_is_learned_from_what_is_given_for_training_alone(tmp_path):
    (tmp_path / "a.txt").write_text("one two\nthree")
    (tmp_path / "b.txt").write_text("four\nfive")
    build_store(
        {"test": [tmp_path / "b.txt"], "train": [tmp_path / "a.txt"]}, tmp_path / "store", Word(), documents="line"
    )
    assert set(TokenStore.open(tmp_path / "store").tokenizer.vocabulary().pieces) == {
        "<unk>",
        "<|endoftext|>",
        "one",
        "two",
        "three",
    }


def test_splits_may_be_missing_and_what_is_missing_is_said(tmp_path):
    (tmp_path / "a.txt").write_text("one two\nthree")
    (tmp_path / "empty.txt").write_text(" ")
    build_store({"train": [tmp_path / "a.txt"]}, tmp_path / "store", Word(), documents="line")
    assert [TokenStore.has(tmp_path / "store", split) for split in ("train", "valid", "test")] == [True, False, False]
    with pytest.raises(Fault, match=r"the valid split of .* is empty.\n.*made from text for train"):
        TokenStore.open(tmp_path / "store", "valid")
    known = TokenStore.open(tmp_path / "store").tokenizer
    build_store({"test": [tmp_path / "a.txt"]}, tmp_path / "test-only", known)
    for given, words in (
        ({"test": [tmp_path / "a.txt"]}, "a word tokenizer is learned from training text"),
        ({"tran": [tmp_path / "a.txt"]}, "no split 'tran'. Did you mean train"),
        ({}, "there is no text to make a store of"),
        ({"train": [tmp_path / "a.txt"], "valid": [tmp_path / "empty.txt"]}, "no text in the files given for valid"),
    ):
        with pytest.raises(Fault, match=words):
            build_store(given, tmp_path / "other", Word(), documents="line")
    assert not (tmp_path / "other").exists()


def test_words_that_are_unknown_in_the_text_already_are_not_lost(tmp_path):
    (tmp_path / "a.txt").write_text("the <unk> sat \n the cat <unk>")
    (tmp_path / "b.txt").write_text("the <unk> sat\nthe dog sat")
    build_store(
        {"train": [tmp_path / "a.txt"], "valid": [tmp_path / "b.txt"]}, tmp_path / "store", Word(), documents="line"
    )
    assert TokenStore.open(tmp_path / "store").whole
    valid = TokenStore.open(tmp_path / "store", "valid")
    assert not valid.whole, "of one document a word is lost"
    assert valid.content["splits"]["valid"]["lost"] == 1
    tokenizer = valid.tokenizer
    assert [
        tokenizer.keeps(text, tokenizer.encode(text))
        for text in ("the cat", " the <unk> cat ", "the  cat", "a\tcat", "The cat", "dog")
    ] == [True, True, False, False, False, False]


def test_a_setting_that_is_new_and_not_used_leaves_older_stores_as_they_were():
    assert build._settings_of(ByteBPE(vocabulary=300)) == {"kind": "byte_bpe", "vocabulary": 300, "minimum": 1}
    assert build._settings_of(ByteBPE(vocabulary=300, specials="roberta"))["specials"] == "roberta"
    assert build._settings_of(Word()) == {"kind": "word", "vocabulary": None, "minimum": 1, "lowercase": False}
