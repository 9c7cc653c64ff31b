"""Turns in a store: every one ends with [end], what is not learned is marked, and the notes' Chinese example is rebuilt."""

import json

import numpy as np
import pytest

from foreword.text.document import Dialogue, Document
from foreword.tokens.build import build_store
from foreword.tokens.kinds import Byte, WordPiece
from foreword.tokens.store import TokenStore
from foreword.tokens.turns import SKIPPED, encode_documents, join_turns, split_turns

DIALOGUES = [Dialogue(("hi", "hello you", "bye"), (1, 0, 1)), Dialogue(("你好", "嗯"))]


@pytest.fixture
def store(tmp_path):
    rows = [{"turns": one.turns, "weights": one.weights} for one in DIALOGUES for _ in range(2)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    build_store(
        [tmp_path / "a.jsonl"], tmp_path / "store", Byte(), documents="dialogues", fractions=(1.0, 0.0, 0.0), workers=1
    )
    return TokenStore.open(tmp_path / "store")


def test_every_turn_ends_with_end_and_only_the_last_ends_the_document(store):
    end = store.tokenizer.special("[end]")
    assert store.documents == 4
    assert store.marks[-1] == SKIPPED
    begin = 0
    for stop, dialogue in zip(store.ends, [DIALOGUES[0], DIALOGUES[0], DIALOGUES[1], DIALOGUES[1]]):
        turns = split_turns(store.read(begin, int(stop)), end)
        assert all(turn[-1] == end and end not in turn[:-1] for turn in turns)
        assert tuple(store.tokenizer.decode(turn) for turn in turns) == dialogue.turns
        skipped = split_turns(store.read(begin, int(stop)), end), store.read_mark(SKIPPED, begin, int(stop))
        at = 0
        for turn, learned in zip(skipped[0], dialogue.learned):
            assert (skipped[1][at : at + len(turn) - 1] == (not learned)).all()
            at += len(turn)
        begin = int(stop)


def test_the_bytes_of_a_dialogue_are_those_of_its_text(store):
    assert store.bytes.tolist() == [len(one.text.encode()) for one in DIALOGUES for _ in range(2)]


def test_turns_are_encoded_each_by_itself(store):
    """A turn has the ids it has alone, whatever stands before it: so a chat's history is what training saw."""
    ids, _ = encode_documents(
        store.tokenizer, [Document(one.text, "", one) for one in DIALOGUES], ("word_start", SKIPPED)
    )
    for one, dialogue in zip(ids, DIALOGUES):
        alone = [store.tokenizer.encode(turn) for turn in dialogue.turns]
        assert np.array_equal(np.append(one, store.tokenizer.special("[end]")), join_turns(alone, store.tokenizer))


def test_parting_and_joining_are_inverse(store):
    end = store.tokenizer.special("[end]")
    ids = join_turns([[1, 2], [3], [4, 5, 6]], store.tokenizer)
    assert [turn.tolist() for turn in split_turns(ids, end)] == [[1, 2, end], [3, end], [4, 5, 6, end]]
    assert [turn.tolist() for turn in split_turns(np.array([1, end, 2]), end)] == [[1, end], [2]]


def test_berts_vocabulary_begins_with_cls_and_closes_turns_with_sep():
    """The notes' order: [CLS] reply [SEP] newest turn [SEP] ... oldest turn [SEP]."""
    tokenizer = WordPiece(vocabulary=60).train(iter(["今天天气很好我们去公园吧你想吃什么随便"] * 3))
    turns = ["今天天气很好", "我们去公园吧", "你想吃什么"]
    reply = "随便"
    ids = join_turns([tokenizer.encode(turn) for turn in [reply, *reversed(turns)]], tokenizer)
    assert "".join(tokenizer.pieces(ids)) == "[CLS]随便[SEP]你想吃什么[SEP]我们去公园吧[SEP]今天天气很好[SEP]"
