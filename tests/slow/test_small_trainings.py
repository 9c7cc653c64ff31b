"""Small trainings with relative results: what is trained must beat what is counted, and what is broken must not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from foreword.assembly.build import language_model, model_for
from foreword.basics.seeds import chance
from foreword.evaluate import bits
from tests.tiny import counted, learner_for, tiny

pytestmark = pytest.mark.slow
STEPS = 150
READY = ("training.batch_size=16", 'training.optimizer={ kind = "adamw", learning_rate = 0.004 }',
         'training.schedule={ kind = "cosine", warmup = 0.05 }', "training.clip=1.0", f'training.budget="{STEPS}"')
SMALL = {"gpt2": ("network.width=64", "network.context=64"), "lstm": ("network.dropout=0.0", "network.layers=1", "network.width=96", "batches.length=32"),
         "rnnlm": ("network.width=96", "batches.length=32", 'network.cell={ kind = "simple", bptt = 8 }', "network.initial.deviation=0.1"),
         "bert": ("network.width=64", "network.context=64", "network.norm=before")}


def trained(name, store, steps=STEPS, shuffled=False):
    recipe = tiny(name, *READY, *SMALL[name])
    learner, stream = learner_for(recipe, store)
    reports = []
    for step in range(steps):
        batch = stream.batch(step)
        if shuffled:        # the same tokens, in an order that means nothing
            order = torch.from_numpy(chance(1, step).permutation(batch.inputs.ids.size(1)))
            batch.inputs.ids.copy_(batch.inputs.ids[:, order])
        reports.append(learner.step(batch, step, step / STEPS).values)
    learner.model.eval()
    return learner, reports


def bits_per_byte(model, store):
    return bits.ask(model, store.tokenizer, bits.texts_of(store)).score.bits_per_byte


@pytest.fixture(scope="module")
def unigram(store):
    return bits_per_byte(counted(tiny("unigram"), store(), store(split="valid")), store(split="test"))


@pytest.mark.parametrize("name", ["gpt2", "lstm", "rnnlm"])
def test_a_trained_network_beats_the_unigram_and_an_untrained_one_does_not(name, store, unigram):
    learner, _ = trained(name, store())
    vocabulary = store().tokenizer.vocabulary()
    after = bits_per_byte(language_model(learner.model, vocabulary), store(split="test"))
    torch.manual_seed(0)
    untrained = model_for(tiny(name, *READY, *SMALL[name]), vocabulary).eval()
    before = bits_per_byte(language_model(untrained, vocabulary), store(split="test"))
    assert after < 0.95 * unigram, (after, unigram)
    assert before > unigram, "the negative control passed"


def test_counting_more_context_is_better(store):
    found = {name: bits_per_byte(counted(tiny(name), store(), store(split="valid")), store(split="test"))
             for name in ("uniform", "unigram", "bigram", "kneser-ney")}
    assert found["uniform"] > found["unigram"] > found["bigram"] > found["kneser-ney"]


def test_bert_learns_to_fill_gaps_from_their_surroundings(store):
    """Its nll falls well below that of the token frequencies; with shuffled tokens it cannot."""
    open_store = store("wordpiece")
    counts = np.maximum(open_store.counts, 1) / open_store.counts.sum()
    frequencies = -float((open_store.counts / open_store.counts.sum() * np.log(counts)).sum())
    _, reports = trained("bert", open_store, steps=300)
    _, control = trained("bert", open_store, steps=300, shuffled=True)

    def late(found):
        return float(np.mean([report["nll.tokens"] for report in found[-30:]]))
    assert late(reports) < 0.92 * frequencies, (late(reports), frequencies)
    assert late(reports) < 0.8 * reports[0]["nll.tokens"]
    assert late(control) > 0.97 * frequencies, (late(control), frequencies)
