"""Transformer-XL beside the class that `transformers` had until version 4.35, by numbers that it wrote once.

The fixture was made in an install of its own (torch 2.13, transformers 4.35.2): `TransfoXLLMHeadModel` with `cutoffs=[]`, 2 layers of
width 8, `untie_r=False`, `mem_len=5`, random weights rounded to six digits, read in a segment of 4 ids and one of 5.
The first segment was given an empty memory: by default the class begins with rows of zeros, and lets every position look at them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from foreword.exchange.family import Name
from foreword.exchange.hugging_face import place
from foreword.networks.base import Inputs, Model
from foreword.networks.segment import SegmentTransformerSpec
from foreword.parts.heads import Softmax
from foreword.tokens.vocabulary import Vocabulary

GOLDEN = json.loads((Path(__file__).parent / "fixtures" / "transformer-xl.json").read_text(encoding="utf-8"))
BLOCK = {
    "attention.project.weight": "dec_attn.qkv_net.weight",
    "attention.out.weight": "dec_attn.o_net.weight",
    "attention.scores.distance.weight": "dec_attn.r_net.weight",
    "first.norm.weight": "dec_attn.layer_norm.weight",
    "first.norm.bias": "dec_attn.layer_norm.bias",
    "feedforward.inner.weight": "pos_ff.CoreNet.0.weight",
    "feedforward.inner.bias": "pos_ff.CoreNet.0.bias",
    "feedforward.out.weight": "pos_ff.CoreNet.3.weight",
    "feedforward.out.bias": "pos_ff.CoreNet.3.bias",
    "second.norm.weight": "pos_ff.layer_norm.weight",
    "second.norm.bias": "pos_ff.layer_norm.bias",
}
NAMES = {
    "network.embeddings.tokens.weight": "transformer.word_emb.emb_layers.0.weight",
    "network.embeddings.positions.biases.content": "transformer.r_w_bias",
    "network.embeddings.positions.biases.place": "transformer.r_r_bias",
    "heads.tokens.out.bias": "crit.out_layers.0.bias",
    **{
        f"network.blocks.{i}.{ours}": f"transformer.layers.{i}.{theirs}"
        for i in range(2)
        for ours, theirs in BLOCK.items()
    },
}


def model(**settings) -> Model:
    usual = {"memory": 5, "embedding_scale": True}
    spec = SegmentTransformerSpec(
        layers=2, width=8, heads=2, inner=12, norm="after", activation="relu", attention_bias=False, **usual | settings
    )
    network = spec.build(Vocabulary(13, -1, ()))
    made = Model(network, {"tokens": Softmax(bias=True).build(8, 13, network.table())})
    theirs = {name: torch.tensor(values).view(GOLDEN["shapes"][name]) for name, values in GOLDEN["weights"].items()}
    place(made, [Name(ours, (name,)) for ours, name in NAMES.items()], theirs, "golden")
    return made


def log_probs(made: Model) -> torch.Tensor:
    ids = torch.tensor(GOLDEN["ids"])
    made.train()  # theirs sees its whole segment and all of its memory, as ours does while it learns
    with torch.no_grad():
        first = made.network(Inputs(ids[:, :4]))
        second = made.network(Inputs(ids[:, 4:]), first.state)
        return made.heads["tokens"].log_probs(torch.cat([first.last, second.last], 1))


def test_two_segments_give_their_numbers():
    assert (log_probs(model()) - torch.tensor(GOLDEN["log_probs"])).abs().max() < 1e-4


@pytest.mark.parametrize("wrong", [{"memory": 3}, {"embedding_scale": False}])
def test_another_model_does_not(wrong):
    assert (log_probs(model(**wrong)) - torch.tensor(GOLDEN["log_probs"])).abs().max() > 1e-3
