"""The modern block in Hugging Face's names (`NanoChatForCausalLM`)."""

from __future__ import annotations

from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject
from foreword.basics.spec import of_kind
from foreword.exchange.family import (
    Activations,
    ActivationsBack,
    Family,
    Name,
    plain_causal,
    stack_of,
    usual_widths,
    windows,
)
from foreword.exchange.gpt2 import lm_head
from foreword.networks.causal import CausalTransformerSpec
from foreword.parts.positions import Rotary
from foreword.tokens.tokenizer import Tokenizer


def names(recipe: Recipe, heads: set[str]) -> list[Name]:
    found = [Name("network.embeddings.tokens.weight", ("embed_tokens.weight",))]
    for i in range(stack_of(recipe).layers):
        ours, theirs = f"network.blocks.{i}", f"layers.{i}"
        found.append(
            Name(f"{ours}.attention.project.weight", tuple(f"{theirs}.self_attn.{part}_proj.weight" for part in "qkv"))
        )
        found += [
            Name(f"{ours}.{mine}.weight", (f"{theirs}.{other}.weight",))
            for mine, other in (
                ("attention.out", "self_attn.o_proj"),
                ("feedforward.inner", "mlp.fc1"),
                ("feedforward.out", "mlp.fc2"),
            )
        ]
    return found + lm_head(recipe, heads)


def config(recipe: Recipe, tokenizer: Tokenizer | None) -> JsonObject:
    spec = of_kind(recipe.network, CausalTransformerSpec)
    positions = of_kind(spec.positions, Rotary)
    end = tokenizer.special("[end]") if tokenizer and tokenizer.has("[end]") else None
    return {
        "model_type": "nanochat",
        "num_hidden_layers": spec.layers,
        "hidden_size": spec.width,
        "intermediate_size": spec.inner or 4 * spec.width,
        "num_attention_heads": spec.heads,
        "num_key_value_heads": spec.heads,
        "max_position_embeddings": spec.context,
        "hidden_act": Activations[spec.activation],
        "attention_dropout": spec.dropout.attention,
        "rms_norm_eps": spec.norm_epsilon,
        "rope_parameters": {"rope_type": "default", "rope_theta": positions.base},
        "final_logit_softcapping": None,
        "attention_bias": False,
        "bos_token_id": end,
        "eos_token_id": end,
        "pad_token_id": end,
        "tie_word_embeddings": bool(recipe.head and recipe.head.tied),
    }


def settings(config: JsonObject, heads: set[str]) -> JsonObject:
    rope = config.get("rope_parameters") or {}
    return {
        "network": {
            "layers": config.get("num_hidden_layers", 12),
            "width": config.get("hidden_size", 768),
            "inner": config.get("intermediate_size", 8192),
            "heads": config.get("num_attention_heads", 6),
            "context": config.get("max_position_embeddings", 2048),
            "activation": ActivationsBack.get(config.get("hidden_act", "relu2"), "relu_squared"),
            "norm_epsilon": config.get("rms_norm_eps", 1e-6),
            "positions": {"kind": "rotary", "base": rope.get("rope_theta", config.get("rope_theta", 10000.0))},
            "dropout": {"attention": config.get("attention_dropout", 0.0)},
        },
        "head": {"tied": config.get("tie_word_embeddings", False)},
    }


def unsupported(config: JsonObject) -> list[str]:
    found = []
    if config.get("final_logit_softcapping", 15.0) is not None:
        found.append(f"final_logit_softcapping = {config.get('final_logit_softcapping', 15.0)}")
    if config.get("attention_bias"):
        found.append("attention_bias = true")
    heads = config.get("num_attention_heads", 6)
    if (config.get("num_key_value_heads") or heads) != heads:
        found.append(f"num_key_value_heads = {config['num_key_value_heads']}")
    if (config.get("rope_parameters") or {}).get("rope_type", "default") != "default":
        found.append(f"rope_type = {config['rope_parameters']['rope_type']!r}")
    if config.get("hidden_act", "relu2") not in ActivationsBack:
        found.append(f"hidden_act = {config['hidden_act']!r}")
    return found


def fits(recipe: Recipe) -> bool:
    spec = plain_causal(recipe)
    return (
        spec is not None
        and "generate" in recipe.abilities()
        and isinstance(spec.positions, Rotary)
        and (spec.norm, spec.norm_kind) == ("before", "rms")
        and spec.qk_norm
        and spec.embedding_norm
        and not spec.bias
        and not any(windows(spec))
        and usual_widths(spec)
    )


FAMILY = Family(
    model_type="nanochat",
    base="modern-gpt",
    prefix="model.",
    fits=fits,
    architecture=lambda model: "NanoChatForCausalLM",
    names=names,
    config=config,
    settings=settings,
    unsupported=unsupported,
    copies=(("lm_head.weight", "embed_tokens.weight"),),
)
