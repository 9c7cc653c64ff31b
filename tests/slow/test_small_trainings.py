"""Small trainings with relative results: what is trained must beat what is counted, and what is broken must not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from foreword.assembly.build import model_for
from foreword.basics.seeds import chance
from foreword.evaluate import bits_per_byte as bits
from tests.tiny import counted, learner_for, tiny

pytestmark = pytest.mark.slow
READY = ("training.batch_size=16", 'training.schedule={ kind = "cosine", warmup = 0.05 }', "training.clip=1.0")
STEPS = {"gpt2": 150, "lstm": 400, "rnnlm": 400, "bert": 500}
RATES = {"gpt2": 0.004, "lstm": 0.01, "rnnlm": 0.01, "bert": 0.004}
SMALL = {
    "gpt2": ("network.width=64", "network.context=64"),
    "lstm": ("network.dropout=0.0", "network.layers=1", "network.width=96", "batches.length=32"),
    "rnnlm": (
        "network.width=96",
        "batches.length=32",
        'network.cell={ kind = "simple", bptt = 8 }',
        "network.initial.deviation=0.1",
    ),
    "bert": ("network.width=64", "network.context=64", "network.norm=before"),
}


def recipe_of(name):
    return tiny(name, *READY, f'training.optimizer={{ kind = "adamw", learning_rate = {RATES[name]} }}', *SMALL[name])


def trained(name, store, shuffled=False):
    learner, stream = learner_for(recipe_of(name), store)
    reports = []
    for step in range(STEPS[name]):
        batch = stream.batch(step)
        if shuffled:  # the same tokens, anywhere in the batch: nothing stands near what it stood near
            ids = batch.inputs.ids.view(-1)
            ids.copy_(ids[torch.from_numpy(chance(1, step).permutation(len(ids)))])
        reports.append(learner.step(batch, step, step / STEPS[name]).values)
    learner.model.eval()
    return learner, reports


def bits_per_byte(model, store):
    return bits.score_texts(model, store.tokenizer, bits.texts_of(store)).score.bits_per_byte


@pytest.fixture(scope="module")
def unigram(store):
    return bits_per_byte(counted(tiny("unigram"), store(), store(split="valid")), store(split="test"))


@pytest.mark.parametrize("name", ["gpt2", "lstm", "rnnlm"])
def test_a_trained_network_beats_the_unigram_and_an_untrained_one_does_not(name, store, unigram):
    learner, _ = trained(name, store())
    vocabulary = store().tokenizer.vocabulary()
    after = bits_per_byte(learner.model.language_model(vocabulary), store(split="test"))
    torch.manual_seed(0)
    untrained = model_for(recipe_of(name), vocabulary).eval()
    before = bits_per_byte(untrained.language_model(vocabulary), store(split="test"))
    assert after < 0.95 * unigram, (after, unigram)
    assert before > unigram, "the negative control passed"


def test_counting_more_context_is_better(store):
    found = {
        name: bits_per_byte(counted(tiny(name), store(), store(split="valid")), store(split="test"))
        for name in ("uniform", "unigram", "bigram", "kneser-ney")
    }
    assert found["uniform"] > found["unigram"] > found["bigram"] > found["kneser-ney"]


def test_bert_learns_to_fill_gaps_from_their_surroundings(store):
    """Its nll falls well below that of the token frequencies; with shuffled tokens it cannot."""
    open_store = store("wordpiece")
    counts = np.maximum(open_store.counts, 1) / open_store.counts.sum()
    frequencies = -float((open_store.counts / open_store.counts.sum() * np.log(counts)).sum())
    _, reports = trained("bert", open_store)
    _, control = trained("bert", open_store, shuffled=True)

    def late(found):
        return float(np.mean([report["nll.tokens"] for report in found[-30:]]))

    assert late(reports) < 0.93 * frequencies, (late(reports), frequencies)
    assert late(reports) < 0.82 * reports[0]["nll.tokens"]
    assert late(control) > 0.97 * frequencies, (late(control), frequencies)
