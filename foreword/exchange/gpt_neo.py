"""GPT-3's alternating layers in Hugging Face's names (`GPTNeoForCausalLM`).

Their queries, keys and values have no biases, and their scores are not divided by the root of a head's size: that factor
is put into the matrix that makes queries.
"""

from __future__ import annotations

import math
from itertools import chain

from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject
from foreword.basics.spec import of_kind
from foreword.exchange.family import (
    Activations,
    Family,
    Name,
    learned_and_layered,
    plain_causal,
    task_classes,
    windows,
)
from foreword.exchange.gpt2 import lm_head, unsupported_activation, with_common_settings
from foreword.networks.causal import CausalTransformerSpec
from foreword.tokens.tokenizer import Tokenizer

_LAYERS = {"dense": "global", "banded": "local"}
_BACK = {theirs: ours for ours, theirs in _LAYERS.items()}


def names(recipe: Recipe, heads: set[str]) -> list[Name]:
    spec = of_kind(recipe.network, CausalTransformerSpec)
    found = [
        Name("network.embeddings.tokens.weight", ("wte.weight",)),
        Name("network.embeddings.positions.weight", ("wpe.weight",)),
    ]
    scales = (math.sqrt(spec.width // spec.heads), 1.0, 1.0)
    for i in range(spec.layers):
        ours, theirs = f"network.blocks.{i}", f"h.{i}"
        found.append(
            Name(
                f"{ours}.attention.project.weight",
                tuple(f"{theirs}.attn.attention.{part}_proj.weight" for part in "qkv"),
                scales=scales,
            )
        )
        for mine, other in (
            ("attention.out", "attn.attention.out_proj"),
            ("feedforward.inner", "mlp.c_fc"),
            ("feedforward.out", "mlp.c_proj"),
            ("first.norm", "ln_1"),
            ("second.norm", "ln_2"),
        ):
            found += [Name(f"{ours}.{mine}.{part}", (f"{theirs}.{other}.{part}",)) for part in ("weight", "bias")]
    return [
        *found,
        Name("network.norm.weight", ("ln_f.weight",)),
        Name("network.norm.bias", ("ln_f.bias",)),
        *lm_head(recipe, heads),
    ]


def config(recipe: Recipe, tokenizer: Tokenizer | None) -> JsonObject:
    spec = of_kind(recipe.network, CausalTransformerSpec)
    end = tokenizer.special("[end]") if tokenizer and tokenizer.has("[end]") else None
    seen = windows(spec)
    return {
        "model_type": "gpt_neo",
        "num_layers": spec.layers,
        "hidden_size": spec.width,
        "num_heads": spec.heads,
        "max_position_embeddings": spec.context,
        "intermediate_size": spec.inner,
        "attention_types": [[["local" if window else "global" for window in seen], 1]],
        "window_size": next(filter(None, seen), spec.context),
        "activation_function": Activations[spec.activation],
        "layer_norm_epsilon": spec.norm_epsilon,
        "resid_dropout": spec.dropout.residual,
        "embed_dropout": spec.dropout.embeddings,
        "attention_dropout": spec.dropout.attention,
        "initializer_range": spec.initial.deviation,
        "bos_token_id": end,
        "eos_token_id": end,
        "tie_word_embeddings": bool(recipe.head and recipe.head.tied),
    }


def settings(config: JsonObject, heads: set[str]) -> JsonObject:
    network = {
        "layers": config.get("num_layers", 24),
        "width": config.get("hidden_size", 2048),
        "heads": config.get("num_heads", 16),
        "context": config.get("max_position_embeddings", 2048),
        "qkv_bias": False,
        "visible": {
            "kind": "alternating",
            "window": config.get("window_size", 256),
            "order": [_BACK[name] for name in _shortest(_layers(config))],
        },
    }
    names = {"embeddings": "embed_dropout", "attention": "attention_dropout", "residual": "resid_dropout"}
    dropout = {part: config.get(name, 0.0) for part, name in names.items()}
    return with_common_settings(config, network, dropout, "intermediate_size")


def _layers(config: JsonObject) -> list[str]:
    """The kind of every layer: [[["global", "local"], 12]] is twelve times both."""
    types = config.get("attention_types") or [[["global", "local"], config.get("num_layers", 24) // 2]]
    return list(chain.from_iterable(list(names) * times for names, times in types))


def _shortest(order: list[str]) -> list[str]:
    """The part that, repeated, makes the whole."""
    return next(order[:n] for n in range(1, len(order) + 1) if order == (order[:n] * -(-len(order) // n))[: len(order)])


def unsupported(config: JsonObject) -> list[str]:
    found = []
    order, layers = _layers(config), config.get("num_layers", 24)
    if unknown := sorted(set(order) - set(_BACK)):
        found.append(f"attention_types of {', '.join(unknown)}")
    elif len(order) != layers:
        found.append(f"attention_types for {len(order)} of {layers} layers")
    return found + unsupported_activation(config)


def fits(recipe: Recipe) -> bool:
    spec = _would_fit(recipe)
    return spec is not None and not spec.qkv_bias


def obstacle(recipe: Recipe) -> str:
    """Why a model with banded layers is not written as theirs, if its biases alone are the reason."""
    if (spec := _would_fit(recipe)) is None or not any(windows(spec)):
        return ""
    return "GPT-Neo, its class with banded layers, has no biases of queries, keys and values (network.qkv_bias=false)."


def _would_fit(recipe: Recipe) -> CausalTransformerSpec | None:
    spec = plain_causal(recipe)
    return spec if spec is not None and learned_and_layered(spec) and spec.norm == "before" else None


FAMILY = Family(
    model_type="gpt_neo",
    base="gpt3",
    prefix="transformer.",
    fits=fits,
    architecture=lambda model: "GPTNeoForCausalLM",
    names=names,
    config=config,
    settings=settings,
    unsupported=unsupported,
    tasks=task_classes("GPTNeo", "tag", "span"),
    constants=(".attn.attention.bias", ".attn.attention.masked_bias"),
    copies=(("lm_head.weight", "wte.weight"),),
)
