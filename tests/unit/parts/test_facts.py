"""Stories read sentence by sentence, each one vector."""

from __future__ import annotations

import torch

from foreword.networks.base import Inputs
from foreword.networks.encoder_decoder import EncoderDecoderSpec
from foreword.parts.depth import Recurring
from foreword.parts.facts import FactReader
from foreword.parts.positions import Sinusoid
from foreword.tokens.vocabulary import Vocabulary

PIECES = ("<unk>", "a", "b", "c", ".", "?", "end")
KNOWN = Vocabulary(len(PIECES), 6, (), PIECES)
STORY = [1, 2, 3, 4, 2, 4, 1, 1, 5, 6]  # a b c . b . a a ? end


def reader(words: int = 3) -> FactReader:
    torch.manual_seed(0)
    made = FactReader(words, 8, KNOWN).double()
    with torch.no_grad():
        made.mask.normal_()
    return made


def test_a_sentence_is_the_sum_of_its_words_by_their_places():
    made, x = reader(), torch.randn(1, len(STORY), 8, dtype=torch.float64)
    with torch.no_grad():
        found, real = made(x, torch.tensor([STORY]), None)
    places = [0, 1, 2, 2, 0, 1, 0, 1, 2, 0]  # the fourth word of a sentence stands at the last place there is
    sentences = [[0, 1, 2, 3], [4, 5], [6, 7, 8], [9]]
    wanted = torch.stack([sum(x[0, word] * made.mask[places[word]] for word in one) for one in sentences])
    assert torch.allclose(found[0], wanted)
    assert real.tolist() == [[True] * 4]


def test_padding_is_no_word_and_no_sentence():
    made, x = reader(), torch.randn(2, len(STORY), 8, dtype=torch.float64)
    ids, there = torch.tensor([STORY, STORY]), torch.tensor([[True] * 10, [True] * 5 + [False] * 5])
    with torch.no_grad():
        found, real = made(x, ids, there)
        alone, _ = made(x[1:, :5], ids[1:, :5], None)
    assert real.tolist() == [[True] * 4, [True, True, False, False]]
    assert torch.allclose(found[1, :2], alone[0])
    assert not found[1, 2:].any()


def test_an_encoder_of_sentences_sees_their_order_and_ignores_padding():
    spec = EncoderDecoderSpec(
        layers=1, width=8, heads=2, context=16, facts=3, positions=Sinusoid(), depth=Recurring(passes=2, adaptive=True)
    )
    torch.manual_seed(0)
    network = spec.build(KNOWN).double().eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(0, 0.3)
    ids, story = torch.tensor([[6, 1]]), torch.tensor([STORY])
    turned = torch.tensor([[2, 4, 1, 2, 3, 4, 1, 1, 5, 6]])
    longer = torch.cat([story, torch.zeros(1, 4, dtype=torch.long)], 1)
    with torch.no_grad():
        plain = network(Inputs(ids, source=story)).last
        padded = network(Inputs(ids, source=longer, source_real=torch.arange(14)[None] < 10)).last
        assert torch.allclose(plain, padded, atol=1e-12)
        assert (plain - network(Inputs(ids, source=turned)).last).abs().max() > 1e-4
