"""ReplyRanking by recall: only the source's tokens are charged, in one batch as one by one, and the same source for all."""

import numpy as np
import pytest
import torch

from foreword.basics.messages import Fault
from foreword.generate.rerank import (
    ReplyRanking,
    TextModel,
    backward_scores,
    backward_sequence,
    last_that_fit,
)
from foreword.networks.base import Inputs
from foreword.tokens.kinds import WordPiece
from foreword.tokens.turns import join_turns
from tests.tiny import drawn, tiny

SOURCE = ["what is it?", "no idea", "really"]
REPLIES = ["yes", "it is a rather long reply", "no", "what is what?"]


@pytest.fixture(scope="module")
def model(store):
    return drawn(tiny("dialogpt-backward", "network.context=64"), store("dialogues").tokenizer)


@pytest.fixture(scope="module")
def backward(model, store):
    tokenizer = store("dialogues").tokenizer
    return TextModel(model.language_model(tokenizer.vocabulary()), tokenizer)


def by_hand(model, tokenizer, source, reply):
    """log P(source | reply) off the network's logits, one token after another."""
    turns = [tokenizer.encode(turn) for turn in [reply, *source[::-1]]]
    ids = join_turns(turns, tokenizer)
    logs = model.heads["tokens"].log_probs(model.network(Inputs(torch.from_numpy(ids)[None])).last[0])
    first = len(turns[0]) + 1
    return float(sum(logs[place - 1, ids[place]] for place in range(first, len(ids))))


@torch.inference_mode()
def test_a_batch_with_padding_gives_what_each_reply_gives_alone_and_what_is_summed_by_hand(model, backward):
    together = backward_scores(backward, SOURCE, REPLIES)
    alone = [backward_scores(backward, SOURCE, [reply])[0] for reply in REPLIES]
    hand = [by_hand(model, backward.tokenizer, SOURCE, reply) for reply in REPLIES]
    assert together == pytest.approx(alone, abs=1e-4)
    assert together == pytest.approx(hand, abs=1e-4)


def test_the_replys_own_tokens_are_not_charged_and_that_matters(backward):
    """With them the ranks would be others: this fixture tells the two apart."""
    tokenizer = backward.tokenizer
    scores = backward_scores(backward, SOURCE, REPLIES)
    laid = [backward_sequence(backward.encode(SOURCE), ids, tokenizer) for ids in backward.encode(REPLIES)]
    with_reply = [float(one.sum()) for one in backward.model.score([ids for ids, _ in laid], [1] * len(laid))]
    assert all(a < b for a, b in zip(with_reply, scores))
    assert np.argsort(scores).tolist() != np.argsort(with_reply).tolist()
    assert [len(one) for one in backward.model.score([ids for ids, _ in laid], [start for _, start in laid])] == [
        len(join_turns(backward.encode(SOURCE), tokenizer))
    ] * len(laid)


def test_the_notes_chinese_example_in_the_order_of_its_ids():
    tokenizer = WordPiece(vocabulary=60).train(iter(["今天天气很好我们去公园吧你想吃什么随便"] * 3))
    reader = TextModel(None, tokenizer)
    ids, start = backward_sequence(
        reader.encode(["今天天气很好", "我们去公园吧", "你想吃什么"]), reader.encode(["随便"])[0], tokenizer
    )
    assert "".join(tokenizer.pieces(ids)) == "[CLS]随便[SEP]你想吃什么[SEP]我们去公园吧[SEP]今天天气很好[SEP]"
    assert "".join(tokenizer.pieces(ids[start:])) == "你想吃什么[SEP]我们去公园吧[SEP]今天天气很好[SEP]"


def test_of_a_long_source_the_same_turns_are_left_out_for_every_reply(store, model):
    tokenizer = store("dialogues").tokenizer
    small = TextModel(model.language_model(tokenizer.vocabulary()), tokenizer)
    source = [f"what is {word}?" for word in ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")]
    longest = max(len(ids) for ids in small.encode(REPLIES)) + 1
    kept = last_that_fit(small.encode(source), 65 - longest)
    assert 0 < len(kept) < len(source)
    assert backward_scores(small, source, REPLIES) == pytest.approx(
        backward_scores(small, source[-len(kept) :], REPLIES), abs=1e-4
    )
    with pytest.raises(Fault, match="leaves its source no room"):
        backward_scores(small, source, ["what " * 64])


@pytest.mark.parametrize(
    ("room", "kept"),
    [(None, [3, 2, 4]), (12, [3, 2, 4]), (11, [2, 4]), (8, [2, 4]), (7, [4]), (5, [4]), (4, [3]), (2, [1]), (0, [1])],
)
def test_whole_turns_are_kept_and_only_a_newest_that_is_too_long_is_cut(room, kept):
    turns = [np.arange(length) for length in (3, 2, 4)]
    found = last_that_fit(turns, room)
    assert [len(turn) for turn in found] == kept
    assert found[-1].tolist() == turns[-1][-len(found[-1]) :].tolist(), "cut from the left"


def test_the_combination_is_what_it_says():
    assert ReplyRanking().score(-3.0, -5.0, 7) == -5.0
    assert ReplyRanking(balance=1.0).score(-3.0, -5.0, 7) == -3.0
    assert ReplyRanking(0.25, 0.5).score(-4.0, -8.0, 6) == pytest.approx(0.25 * -4 + 0.75 * -8 + 3)
    with pytest.raises(Fault, match="balance"):
        ReplyRanking(1.5)
