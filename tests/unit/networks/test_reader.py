"""Networks without a cache of their own: what they remember of texts of unequal length is joined, or read again."""

from __future__ import annotations

import numpy as np
import pytest
from torch.utils._pytree import tree_map

from foreword.generate.batch import GenerationBatch, generate
from foreword.generate.sample import Sampling
from foreword.networks.decoding import Decoder
from foreword.networks.language_model import NeuralReader
from tests.tiny import drawn, tiny


@pytest.mark.parametrize("positions", ["distance_bias", "relative"])
def test_keys_and_values_of_unequal_length_are_joined_by_reading_again(store, positions):
    tokenizer = store().tokenizer
    model = drawn(tiny("gpt2", f"network.positions.kind={positions}"), tokenizer).language_model(tokenizer.vocabulary())
    assert isinstance(model, NeuralReader)
    assert not isinstance(model, Decoder)
    prompts = [
        np.asarray(tokenizer.encode(text), np.int64) for text in ("The", "A class definition defines", "x = [1, 2, 3]")
    ]
    sampling = Sampling(max_tokens=40, seed=3, top_k=20)
    batch = GenerationBatch(model, tokenizer)
    joined = batch.join(prompts[:1], sampling)
    for prompt in prompts[1:]:
        batch.step()
        joined += batch.join([prompt], sampling)
    while batch.step():
        pass
    for one, prompt in zip(joined, prompts, strict=True):
        assert one.ids == generate(model, tokenizer, [prompt], sampling)[0].ids


def test_a_network_whose_memory_grows_without_limit_must_join_by_itself(store):
    tokenizer = store().tokenizer
    model = drawn(tiny("lstm"), tokenizer).language_model(tokenizer.vocabulary())
    _, state = model.begin([np.array([5])])
    _, other = model.begin([np.array([6])])
    other.state = tree_map(lambda part: part[..., :-1], other.state)
    with pytest.raises(TypeError, match="Recurrent remembers of texts of unequal length cannot be joined"):
        model.join(state, other)
