"""Reading a store: across shards, by document, and a message for whatever is wrong with it."""

import json
import pickle

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.tokens import encode, store
from foreword.tokens.build import build_store
from foreword.tokens.kinds import Byte
from foreword.tokens.store import TokenStore

DOCUMENTS = [f"Document {i}. It has {'many ' * (i % 7)}words; 你好。" for i in range(120)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(encode, "SHARD", 500)
    (tmp_path / "a.txt").write_text("\n".join(DOCUMENTS))
    build_store([tmp_path / "a.txt"], tmp_path / "store", Byte(), documents="line")
    return tmp_path / "store"


def test_any_stretch_is_read_across_shards(folder, monkeypatch):
    monkeypatch.setattr(store, "OPEN_AT_ONCE", 2)
    opened = TokenStore.open(folder)
    assert len(opened.shards) > 4
    everything = np.concatenate([np.append(opened.document(i), 256) for i in range(opened.documents)])
    assert len(everything) == opened.tokens
    for start, stop in ((0, 0), (0, 1), (3, 700), (499, 1501), (opened.tokens - 1, opened.tokens), (0, opened.tokens)):
        found = opened.read(start, stop)
        assert found.dtype == np.int64
        assert (found == everything[start:stop]).all()
    assert len(opened._mapped) <= 2
    for start, stop in ((-1, 2), (5, 4), (0, opened.tokens + 1)):
        with pytest.raises(IndexError):
            opened.read(start, stop)


def test_marks_are_read_by_name(folder):
    opened = TokenStore.open(folder)
    stop = int(opened.ends[0])
    text = opened.tokenizer.decode(opened.document(0))
    ends = opened.read_mark("sentence_end", 0, stop)
    assert ends.dtype == bool
    assert ends.sum() == 2
    assert ends[text.index(".")]
    assert opened.read_mark("word_start", 0, stop)[0]
    assert not opened.read_mark("word_start", 0, stop)[-1]  # [end] carries no mark
    with pytest.raises(Fault, match="Did you mean word_start"):
        opened.read_mark("word_strat", 0, 1)


def test_documents_count_from_either_end(folder):
    opened = TokenStore.open(folder)
    assert (opened.document(-1) == opened.document(opened.documents - 1)).all()
    with pytest.raises(IndexError):
        opened.document(opened.documents)


def test_small_vocabularies_take_two_bytes_an_id(folder):
    assert np.load(folder / "train/00000-000.ids.npy").dtype == np.uint16


def test_the_fingerprint_of_the_data_tells_splits_apart_and_survives_pickling(folder):
    opened = TokenStore.open(folder)
    opened.read(0, 10)
    again = pickle.loads(pickle.dumps(opened))
    assert again.data == opened.data != TokenStore.open(folder, "valid").data
    assert (again.read(0, 10) == opened.read(0, 10)).all()
    assert (again.ends == opened.ends).all()


def test_what_is_not_a_store_is_a_fault(folder, tmp_path):
    with pytest.raises(Fault, match="is not there"):
        TokenStore.open(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(Fault, match=r"no store\.json"):
        TokenStore.open(tmp_path / "empty")
    with pytest.raises(Fault, match="Did you mean train"):
        TokenStore.open(folder, "trian")


def changed(folder, change):
    content = json.loads((folder / "store.json").read_text())
    change(content)
    (folder / "store.json").write_text(json.dumps(content))


def test_another_format_number_is_named(folder):
    changed(folder, lambda content: content.update(format=7))
    with pytest.raises(Fault, match=r"format 7; this Foreword reads format 1"):
        TokenStore.open(folder)


def test_missing_and_short_files_are_all_named(folder):
    (folder / "train/00000-001.ids.npy").unlink()
    whole = (folder / "train/00000-002.marks.npy").read_bytes()
    (folder / "train/00000-002.marks.npy").write_bytes(whole[:-100])
    with pytest.raises(Fault) as caught:
        TokenStore.open(folder)
    assert "00000-001.ids.npy is not there" in str(caught.value)
    assert "00000-002.marks.npy is cut short" in str(caught.value)
    assert TokenStore.open(folder, "valid").documents


def test_an_empty_split_is_a_fault(tmp_path):
    (tmp_path / "a.txt").write_text("all of it is for training")
    build_store([tmp_path / "a.txt"], tmp_path / "store", Byte(), fractions=(1.0, 0.0, 0.0))
    assert TokenStore.open(tmp_path / "store").documents == 1
    with pytest.raises(Fault, match=r"valid split of .* is empty"):
        TokenStore.open(tmp_path / "store", "valid")


def test_a_tokenizer_that_was_exchanged_is_noticed(folder):
    from foreword.tokens.kinds import Ascii

    Ascii().train(iter([])).save(folder)
    with pytest.raises(Fault, match=r"ascii-129 .* byte-257"):
        _ = TokenStore.open(folder).tokenizer
