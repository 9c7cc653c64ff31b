"""A text is read to its end, and then written by the same weights from what is remembered."""

from __future__ import annotations

import numpy as np
import torch

from foreword.batches.row import Row
from foreword.networks.base import Inputs, Model
from foreword.networks.recurrent import RecurrentSpec
from foreword.objectives.autoencode import Autoencode
from foreword.objectives.base import NOTHING
from foreword.parts.heads import Softmax
from foreword.parts.lstm import LstmCell
from foreword.tokens.vocabulary import Vocabulary

TEXTS = ([5, 3, 7], [4, 4, 6, 2, 3, 1])


class Tokens:
    def special(self, name):
        return 0


def batch(texts=TEXTS):
    return Autoencode().collate([Row(np.array(text), number, 0) for number, text in enumerate(texts)], Tokens())


def model(width=8, size=9) -> Model:
    torch.manual_seed(0)
    network = RecurrentSpec(cell=LstmCell(), width=width).build(Vocabulary(size, 0, ()))
    return Model(network, {"tokens": Softmax(tied=False, bias=True).build(width, size, None)})


def test_the_first_half_is_only_read():
    made = batch([*TEXTS, [2, 8, 0]])  # the last one has its end already
    assert made.inputs.ids[0].tolist()[:7] == [5, 3, 7, 0, 5, 3, 7]
    assert made.targets["tokens"][0].tolist()[:7] == [NOTHING] * 3 + [5, 3, 7, 0]
    assert made.targets["tokens"][2].tolist()[:5] == [NOTHING] * 2 + [2, 8, 0]
    assert made.guesses == {"tokens": 4 + 7 + 3}
    assert made.tokens == 7 + 13 + 5
    assert Autoencode().row_ids(801, 1) == 400


def test_it_is_an_encoder_whose_last_state_begins_a_decoder_with_the_same_weights():
    whole, objective = model().double(), Autoencode()
    for weight in whole.parameters():
        torch.nn.init.normal_(weight, 0, 0.7)
    for text in TEXTS:
        made = batch([text])
        cost = objective.loss(whole, made).charges["tokens"].total
        state = whole.network(Inputs(torch.tensor([text]))).state
        decoded = whole.network(Inputs(torch.tensor([[0, *text]])), state).last[0]
        wanted = whole.heads["tokens"].nll(decoded, torch.tensor([*text, 0])).sum()
        assert torch.allclose(cost, wanted, atol=1e-12)
        forgotten = whole.network(Inputs(torch.tensor([[0, *text]]))).last[0]
        assert not torch.allclose(whole.heads["tokens"].nll(forgotten, torch.tensor([*text, 0])).sum(), cost, atol=1e-3)


def test_short_texts_can_be_written_back_without_a_fault():
    draw = np.random.default_rng(0)
    texts = [draw.integers(1, 9, int(draw.integers(3, 7))).tolist() for _ in range(20)]
    whole, objective, made = model(48), Autoencode(), batch(texts)
    optimizer = torch.optim.Adam(whole.parameters(), 0.02)
    for _ in range(300):
        optimizer.zero_grad()
        (objective.loss(whole, made).charges["tokens"].total / made.guesses["tokens"]).backward()
        torch.nn.utils.clip_grad_norm_(whole.parameters(), 1.0)
        optimizer.step()
    right = 0
    for text in texts:
        state, token, written = whole.network(Inputs(torch.tensor([text]))).state, 0, []
        while len(written) <= len(text):
            output = whole.network(Inputs(torch.tensor([[token]])), state)
            token, state = int(whole.heads["tokens"].logits(output.last[0, -1]).argmax()), output.state
            written.append(token)
        right += written == [*text, 0]
    assert right == 20
