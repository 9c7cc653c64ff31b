"""Every token is scored exactly once, and the unit does not depend on how."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foreword.assembly.build import model_for
from foreword.basics.messages import Fault
from foreword.counts.mixture import MixtureOfModels
from foreword.evaluate import bits_per_byte as bits
from foreword.evaluate.score import Score, check_comparable, total
from tests.tiny import counted, drawn, reader, tiny


def cost_of(*args, **more) -> Score:
    return bits.score_texts(*args, **more).score


@pytest.mark.parametrize("context", [None, 1, 2, 5, 8, 32])
@pytest.mark.parametrize("stride", [None, 1, 2, 3, 5, 8])
def test_every_token_is_scored_exactly_once(context, stride):
    if context and stride and stride > context:
        with pytest.raises(Fault, match="does not fit"):
            bits.windows(100, context, stride)
        return
    for length in range(80):
        found = bits.windows(length, context, stride)
        scored = [i for window in found for i in range(window.scored, window.stop)]
        assert scored == list(range(1, length))
        for window in found:
            assert 0 <= window.start < window.scored < window.stop <= length
            assert context is None or window.stop - window.start <= context + 1
            if context is not None and window.start > 0:  # the promise of `policy`
                assert window.scored - window.start >= context - (stride or max(1, context // 2))
                assert window.stop - window.start == context + 1, "a window that could look further back"


@pytest.fixture(scope="module")
def texts(store):
    return list(bits.texts_of(store(split="test")))


@pytest.mark.parametrize("split", ["valid", "test"])
def test_uniform_over_bytes_is_exactly_eight_bits(store, split):
    open_store = store("byte", split)
    model = counted(tiny("uniform"), store("byte"))
    score = cost_of(model, open_store.tokenizer, bits.texts_of(open_store))
    assert score.bits_per_byte == pytest.approx(8.0, abs=1e-12)
    assert score.bytes == open_store.total_bytes
    assert score.tokens == open_store.total_bytes
    assert score.documents == open_store.documents


def test_bytes_do_not_depend_on_the_tokenizer(store):
    sizes = set()
    for kind in ("byte", "byte_bpe"):
        model = counted(tiny("unigram"), store(kind))
        score = cost_of(model, store(kind).tokenizer, bits.texts_of(store(kind, "test")))
        sizes.add((score.bytes, score.characters, score.words, score.documents))
    assert len(sizes) == 1


class Spy:
    """A model that looks back `context` tokens and says of each token what it saw."""

    def __init__(self, context):
        self.context = self.reach = context

    def score(self, sequences, starts):
        return [
            np.array([-float(sequence[j]) - j / 1e3 for j in range(start, len(sequence))])
            for sequence, start in zip(sequences, starts)
        ]


class Tokens:
    def __init__(self, end):
        self.end = end

    def has(self, name):
        return self.end >= 0 and name == "[end]"

    def special(self, name):
        return self.end

    def token_bytes(self):
        return np.ones(1000, int)

    lossless = True


@pytest.mark.parametrize("end", [999, -1])
@pytest.mark.parametrize("context", [None, 4, 7])
def test_scores_come_back_in_the_order_of_the_tokens(end, context):
    texts = [bits.TokenizedText(np.arange(n) * 3 % 500, n, n, 1) for n in (1, 5, 30, 2, 13, 0)]
    found = bits.log_probs(Spy(context), Tokens(end), texts, None)
    for text, logs in zip(texts, found):
        wanted = text.ids if end >= 0 else text.ids[1:]
        assert np.ceil(-logs - 0.999).astype(int).tolist() == wanted.tolist()
    score = cost_of(Spy(context), Tokens(end), texts)
    assert score.tokens == sum(map(len, found))
    assert score.bytes == (
        sum(text.bytes for text in texts) if end >= 0 else sum(max(0, text.bytes - 1) for text in texts)
    )


def test_one_window_or_many_agree_where_the_context_is_the_same(store):
    """A bigram sees one token back whatever the window; a network with stride 1 sees all of its context each time."""
    open_store = store(split="test")
    texts = list(bits.texts_of(open_store))[:2]
    bigram = counted(tiny("bigram"), store())
    whole = bits.log_probs(bigram, open_store.tokenizer, texts)
    for context, stride in ((1, 1), (5, 2), (16, 16)):
        bigram.context = context
        assert all(
            np.allclose(a, b, atol=1e-12)
            for a, b in zip(whole, bits.log_probs(bigram, open_store.tokenizer, texts, stride))
        )
    model = reader("gpt2", store())
    short = [bits.TokenizedText(text.ids[:60], 60, 60, 9) for text in texts]
    for text, found in zip(short, bits.log_probs(model, open_store.tokenizer, short, 1)):
        sequence = np.concatenate([[open_store.tokenizer.special("[end]")], text.ids])
        for j in (1, 2, 31, 32, 33, 34, 59, 60):
            alone = model.score([sequence[max(0, j - 32) : j + 1]], [min(j, 32)])[0]
            assert found[j - 1] == pytest.approx(float(alone[0]), abs=2e-5), j


def test_totals_do_not_depend_on_batching(store, texts):
    model = reader("gpt2", store())
    tokenizer = store().tokenizer
    scores = [cost_of(model, tokenizer, texts, at_once=n) for n in (1, 2, 64)]
    model.tokens_at_once = 40
    scores.append(cost_of(model, tokenizer, texts))
    assert len({(score.tokens, score.bytes, score.documents) for score in scores}) == 1
    assert [score.nats for score in scores] == pytest.approx([scores[0].nats] * 4, rel=1e-6)
    apart = [cost_of(model, tokenizer, [text]) for text in texts]
    assert total(apart).nats == pytest.approx(scores[0].nats, rel=1e-6)


def test_a_recurrent_network_scores_texts_longer_than_its_pieces(store):
    model = reader("lstm", store())
    ids = np.concatenate([store().document(i) for i in range(6)])[:2500]
    whole = model.score([ids], [1])[0]
    assert len(whole) == 2499
    late = model.score([ids], [2400])[0]
    assert np.allclose(whole[-100:], late, atol=1e-5)


def test_a_mixture_is_never_worse_than_its_best_part_where_it_was_fitted(store, texts):
    tokenizer = store().tokenizer
    parts = [counted(tiny(name), store(), store(split="valid")) for name in ("unigram", "bigram", "kneser-ney")]
    parts.append(reader("gpt2", store()))
    each = [np.concatenate(bits.log_probs(part, tokenizer, texts)) for part in parts]
    mixed = MixtureOfModels(parts)
    mixed.fit(each)
    together = np.logaddexp.reduce([np.log(max(w, 1e-300)) + one for w, one in zip(mixed.weights, each)])
    assert together.sum() >= max(one.sum() for one in each) - 1e-6
    assert mixed.weights.sum() == pytest.approx(1)


def score(**more):
    return Score(**{"nats": 100.0, "tokens": 50, "bytes": 80, "characters": 70, "words": 10, **more})


def test_units_are_what_they_say():
    one = score()
    assert one.bits_per_byte == pytest.approx(100 / math.log(2) / 80)
    assert one.bits_per_character == pytest.approx(100 / math.log(2) / 70)
    assert one.perplexity == pytest.approx(math.exp(2))
    assert one.word_perplexity == pytest.approx(math.exp(10))
    assert score(nats=1e9).word_perplexity == math.inf
    lossy = score(lossless=False)
    assert (lossy.bits_per_byte, lossy.bits_per_character, lossy.word_perplexity) == (None, None, None)
    assert lossy.perplexity == one.perplexity
    both = total([one, score(nats=20.0, tokens=10, bytes=8)])
    assert (both.nats, both.tokens, both.bytes, both.documents) == (120.0, 60, 88, 2)


@pytest.mark.parametrize("other", [{"lossless": False}, {"kind": "pseudo-likelihood"}, {"bytes": 81}])
def test_what_is_not_comparable_is_refused(other):
    check_comparable({"a": score(), "b": score(nats=50.0, tokens=3)})
    with pytest.raises(Fault, match="cannot be compared|texts of different size"):
        check_comparable({"a": score(), "b": score(**other)})


def test_pseudo_likelihood_is_labelled_and_hides_each_token(store):
    open_store = store("wordpiece", "test")
    recipe = tiny("bert")
    model = drawn(recipe, open_store.tokenizer)
    some = [bits.TokenizedText(text.ids[:70], 300, 300, 50) for text in bits.texts_of(open_store)][:2]
    found = bits.pseudo_score(model, open_store.tokenizer, some)
    assert found.kind == "pseudo-likelihood"
    assert "not a probability" in found.policy
    assert found.tokens == 140
    import torch

    from foreword.networks.base import Inputs

    ids, nats = some[0].ids[:30], 0.0
    frame = [open_store.tokenizer.special(name) for name in ("[cls]", "[separator]", "[mask]")]
    with torch.no_grad():
        for place in range(30):
            row = np.concatenate([[frame[0]], ids, [frame[1]]])
            row[place + 1] = frame[2]
            hidden = model.network(Inputs(torch.from_numpy(row)[None])).last[0, place + 1]
            nats -= float(model.heads["tokens"].log_probs(hidden)[ids[place]])
    alone = bits.pseudo_score(model, open_store.tokenizer, [bits.TokenizedText(ids, 100, 100, 10)])
    assert alone.nats == pytest.approx(nats, rel=1e-4)


def test_a_reader_is_made_for_the_vocabulary(store):
    model = model_for(tiny("gpt2"), store().tokenizer.vocabulary())
    assert model.language_model(store().tokenizer.vocabulary()).context == 32
