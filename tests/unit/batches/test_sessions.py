"""Sessions as rows: whole turns, every reply once, the last turn carried over."""

import json

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance
from foreword.batches.sessions import Sessions, whole_turns
from foreword.tokens.build import build_store
from foreword.tokens.kinds import Byte, WordPiece
from foreword.tokens.store import TokenStore
from foreword.tokens.turns import split_turns
from tests.rows import causal


def made(tmp_path, sessions, tokenizer=None, weights=None):
    rows = [{"turns": turns, **({"weights": weights[i]} if weights else {})} for i, turns in enumerate(sessions)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    build_store(
        [tmp_path / "a.jsonl"],
        tmp_path / "store",
        tokenizer or Byte(),
        documents="dialogues",
        fractions=(1.0, 0.0, 0.0),
        workers=1,
    )
    return TokenStore.open(tmp_path / "store")


def text(row, store):
    return store.tokenizer.decode(row.ids, keep_specials=True).replace("<|endoftext|>", "|")


def test_a_short_session_is_one_row_and_a_long_one_goes_on_from_its_last_turn(tmp_path, capsys):
    store = made(tmp_path, [["ab", "cd"], ["aaaa", "bbbb", "cccc", "dddd", "eeee"]])
    cutter = causal(Sessions(length=14)).over(store, 1, 0)
    found = {text(row, store) for row in cutter.rows(0, 0, int(cutter.epoch))}
    assert found == {"ab|cd|", "aaaa|bbbb|cccc|", "cccc|dddd|eeee|"}
    assert cutter.left_out == 0
    assert "too long" not in capsys.readouterr().err


def test_what_is_answered_is_cut_from_the_left_and_a_reply_that_fills_a_row_is_left_out(tmp_path, capsys):
    store = made(tmp_path, [["0123456789", "abcde", "A" * 30, "z"]])
    cutter = causal(Sessions(length=11)).over(store, 1, 0)
    assert {text(row, store) for row in cutter.rows(0, 0, int(cutter.epoch))} == {"56789|abcde|", "AAAAAAAAA|z|"}
    assert cutter.left_out == 1
    assert (
        "1 reply is too long to stand in a row with anything it answers, and is not learned." in capsys.readouterr().err
    )


def test_every_reply_stands_in_exactly_one_row_behind_what_it_answers():
    for seed in range(200):
        draw = chance(seed)
        borders = np.concatenate([[0], np.cumsum(draw.integers(2, 12, size=int(draw.integers(1, 12))))]).tolist()
        room = int(draw.integers(6, 30))
        rows, left_out = whole_turns(borders, room)
        turns = list(zip(borders, borders[1:]))
        charged = []
        for start, stop in rows:
            assert stop - start <= room
            inside = [turn for turn in turns if turn[0] >= start and turn[1] <= stop]
            first = next(turn for turn in turns if turn[0] <= start < turn[1])
            charged += [turn for turn in inside if turn != first]
            assert start == first[0] or stop == turns[turns.index(first) + 1][1], "only a pair may be cut"
        assert len(charged) == len(set(charged)) == len(turns) - 1 - left_out
        lost = [turn for turn in turns[1:] if turn not in charged]
        assert all(stop - start + 2 > room for start, stop in lost)


def test_an_epoch_has_every_row_once_and_a_row_depends_on_its_number_alone(tmp_path):
    draw = chance(1)
    store = made(tmp_path, [[f"question {i}" + "x" * int(draw.integers(40)), f"answer {i}"] for i in range(100)])
    one, eight = causal(Sessions(length=80)).over(store, 8, 3), causal(Sessions(length=80)).over(store, 8, 3)
    rows = [text(row, store) for step in range(25) for row in one.rows(step, 0, 8)]
    assert sorted(rows[:100]) == sorted(rows[100:])
    assert len(set(rows[:100])) == 100
    assert rows[:100] != rows[100:]
    assert [text(row, store) for row in eight.rows(0, 0, 200)] == rows
    assert [row.number for row in one.rows(3, 2, 5)] == [26, 27, 28]


def test_rows_of_like_length_stand_together(tmp_path):
    draw = chance(2)
    store = made(tmp_path, [[f"q{i}" + "x" * int(draw.integers(60)), "yes"] for i in range(256)])
    cutter = causal(Sessions(length=80)).over(store, 8, 0)
    batches = [[len(row.ids) for row in cutter.rows(step, 0, 8)] for step in range(32)]
    padding = sum(max(batch) * 8 - sum(batch) for batch in batches) / sum(map(sum, batches))
    lengths = [length for batch in batches for length in batch]
    mixed = [list(chance(0, i).choice(lengths, 8)) for i in range(32)]
    assert padding < 0.05 < sum(max(batch) * 8 - sum(batch) for batch in mixed) / sum(map(sum, mixed))
    assert sorted(max(batch) for batch in batches) != [max(batch) for batch in batches], (
        "the short ones do not come first"
    )


def test_a_turn_of_weight_0_is_not_learned_with_its_end(tmp_path):
    store = made(tmp_path, [["aa", "bb", "cc"]], weights=[[1, 0, 1]])
    row = causal(Sessions(length=20)).over(store, 1, 0).rows(0, 0, 1)[0]
    assert text(row, store) == "aa|bb|cc|"
    assert row.learned.tolist() == [True] * 3 + [False] * 3 + [True] * 3
    last = made(tmp_path / "x", [["aa", "bb"]], weights=[[1, 0]]) if (tmp_path / "x").mkdir() is None else None
    assert causal(Sessions(length=20)).over(last, 1, 0).rows(0, 0, 1)[0].learned.tolist() == [True] * 3 + [False] * 3


def test_a_tokenizer_that_begins_with_cls_leaves_room_for_it(tmp_path):
    store = made(tmp_path, [["a a a a", "b b b b", "c c"]], WordPiece(vocabulary=20))
    length = 10
    rows = causal(Sessions(length=length)).over(store, 1, 0).rows(0, 0, 2)
    assert sorted(len(row.ids) for row in rows) == [8, 10]
    assert max(len(row.ids) for row in rows) + 1 <= length + 1
    assert all(len(split_turns(row.ids, store.tokenizer.special("[end]"))) == 2 for row in rows)


def test_a_store_of_plain_text_is_refused_and_so_is_one_without_replies(store, tmp_path):
    with pytest.raises(Fault, match="--documents dialogues"):
        causal(Sessions(length=32)).over(store(), 1, 0)
    with pytest.raises(Fault, match="no reply to learn from"):
        causal(Sessions(length=32)).over(made(tmp_path, [["alone"], ["alone too"]]), 1, 0)
