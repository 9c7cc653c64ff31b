"""A session costs what its pairs cost one by one; the first turn costs nothing; backward is the turns reversed, not the words."""

import numpy as np
import pytest
import torch

from foreword.basics.seeds import chance
from foreword.batches.row import Row
from foreword.networks.base import Inputs
from foreword.objectives.base import NOTHING
from foreword.objectives.dialogue import DialogueTurns, reversed_turns
from foreword.tokens.kinds import WordPiece
from foreword.tokens.turns import join_turns, split_turns
from tests.tiny import drawn, tiny


@pytest.fixture(scope="module")
def tokenizer(store):
    return store("dialogues").tokenizer


@pytest.fixture(scope="module")
def model(tokenizer):
    return drawn(tiny("dialogpt"), tokenizer, dtype=torch.float64)


def turns_of(seed, tokenizer, count=4):
    draw = chance(seed)
    return [draw.integers(0, 200, size=int(draw.integers(1, 7))) for _ in range(count)]


def row(turns, tokenizer, learned=None):
    return Row(join_turns(turns, tokenizer), 0, 0, learned=learned)


def total(model, objective, rows, tokenizer):
    batch = objective.collate(rows, tokenizer)
    return objective.loss(model, batch).charges["tokens"].total


@pytest.mark.parametrize("reverse", [False, True])
def test_the_loss_of_a_session_is_the_sum_of_the_losses_of_its_pairs(model, tokenizer, reverse):
    """A pair: all turns before, and the reply, computed here from the network's own logits."""
    objective = DialogueTurns(reverse=reverse)
    for seed in range(3):
        turns = turns_of(seed, tokenizer)
        read = turns[::-1] if reverse else turns
        pairs = 0.0
        for k in range(1, len(read)):
            history, reply = join_turns(read[:k], tokenizer), join_turns([read[k]], tokenizer)
            ids = torch.from_numpy(np.concatenate([history, reply]))[None]
            log_probs = model.heads["tokens"].out(model.network(Inputs(ids)).last[0]).log_softmax(-1)
            pairs -= log_probs[len(history) - 1 : -1].gather(1, torch.from_numpy(reply)[:, None]).sum()
        assert total(model, objective, [row(turns, tokenizer)], tokenizer).item() == pytest.approx(
            pairs.item(), rel=1e-8
        )


def test_a_session_equals_its_pairs_as_rows_of_weights(model, tokenizer):
    """The same through the objective itself: K - 1 rows in which only the last turn has weight 1."""
    turns = turns_of(5, tokenizer)
    whole = total(model, DialogueTurns(), [row(turns, tokenizer)], tokenizer)
    rows = []
    for k in range(2, len(turns) + 1):
        lengths = [len(turn) + 1 for turn in turns[:k]]
        rows.append(row(turns[:k], tokenizer, np.repeat([False] * (k - 1) + [True], lengths)))
    assert whole.item() == pytest.approx(total(model, DialogueTurns(), rows, tokenizer).item(), rel=1e-8)


def test_the_first_turn_contributes_no_gradient(model, tokenizer):
    """A session of one turn costs exactly nothing, and no target of a longer one lies in its first turn."""
    model.zero_grad(set_to_none=False)
    total(model, DialogueTurns(), [row(turns_of(1, tokenizer, 1), tokenizer)], tokenizer).backward()
    assert all(
        float(parameter.grad.abs().max()) == 0.0 for parameter in model.parameters() if parameter.grad is not None
    )
    turns = turns_of(2, tokenizer)
    targets = DialogueTurns().collate([row(turns, tokenizer)], tokenizer).targets["tokens"][0]
    assert (targets[: len(turns[0])] == NOTHING).all()
    assert (targets[len(turns[0]) :] != NOTHING).all()


def test_end_is_a_target_and_padding_is_not(model, tokenizer):
    end = tokenizer.special("[end]")
    short, long = turns_of(3, tokenizer, 2), turns_of(4, tokenizer, 4)
    batch = DialogueTurns().collate([row(short, tokenizer), row(long, tokenizer)], tokenizer)
    targets = batch.targets["tokens"]
    assert [(int((one == end).sum()), int((one != NOTHING).sum())) for one in targets] == [
        (1, len(short[1]) + 1),
        (3, sum(len(turn) + 1 for turn in long[1:])),
    ]
    alone = [total(model, DialogueTurns(), [row(turns, tokenizer)], tokenizer).item() for turns in (short, long)]
    assert total(
        model, DialogueTurns(), [row(short, tokenizer), row(long, tokenizer)], tokenizer
    ).item() == pytest.approx(sum(alone), rel=1e-10)


def test_weights_switch_turns_off_and_only_them(tokenizer):
    turns = turns_of(6, tokenizer)
    lengths = [len(turn) + 1 for turn in turns]
    learned = np.repeat([True, False, True, False], lengths)
    for reverse, charged in ((False, [2]), (True, [2, 0])):
        batch = DialogueTurns(reverse=reverse).collate([row(turns, tokenizer, learned)], tokenizer)
        wanted = np.concatenate([join_turns([turns[i]], tokenizer) for i in charged])
        found = batch.targets["tokens"][0]
        assert found[found != NOTHING].tolist() == wanted.tolist()


def test_backward_is_the_turns_reversed_and_twice_is_as_before(tokenizer):
    turns = turns_of(7, tokenizer)
    ids, _ = DialogueTurns(reverse=True).lay_out(row(turns, tokenizer), tokenizer)
    assert ids.tolist() == join_turns(turns[::-1], tokenizer).tolist()
    again, _ = DialogueTurns(reverse=True).lay_out(Row(ids, 0, 0), tokenizer)
    assert again.tolist() == join_turns(turns, tokenizer).tolist()
    assert [one.tolist() for one in reversed_turns(reversed_turns(turns))] == [one.tolist() for one in turns]


def test_with_berts_vocabulary_cls_is_read_first_and_never_guessed():
    tokenizer = WordPiece(vocabulary=60).train(iter(["今天天气很好我们去公园吧你想吃什么随便"] * 3))
    said = ["今天天气很好", "我们去公园吧", "随便"]
    ids = np.concatenate(
        [[*tokenizer.encode(turn), tokenizer.special("[end]")] for turn in said]
    )  # as a store has them
    read, learned = DialogueTurns(reverse=True).lay_out(Row(ids, 0, 0), tokenizer)
    assert "".join(tokenizer.pieces(read)) == "[CLS]随便[SEP]我们去公园吧[SEP]今天天气很好[SEP]"
    assert "".join(tokenizer.pieces(read[learned])) == "我们去公园吧[SEP]今天天气很好[SEP]"


def test_what_is_shown_says_what_is_read_and_what_is_guessed(tokenizer):
    turns = [tokenizer.encode(text) for text in ("what is it?", "it is.")]
    shown = DialogueTurns().show(DialogueTurns().collate([row(turns, tokenizer)], tokenizer), 0, tokenizer)
    assert "reads   what is it?" in shown
    assert "guesses it is." in shown
    assert len(split_turns(join_turns(turns, tokenizer), 256)) == 1
