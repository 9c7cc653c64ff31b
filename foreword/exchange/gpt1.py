"""GPT-1 in Hugging Face's names (`OpenAIGPTLMHeadModel`)."""

from __future__ import annotations

from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject
from foreword.basics.spec import of_kind
from foreword.exchange.family import Family, Name, classic, plain_causal, stack_of, task_classes
from foreword.exchange.gpt2 import block_names, lm_head
from foreword.networks.causal import CausalTransformerSpec
from foreword.tokens.tokenizer import Tokenizer

# what Hugging Face calls "gelu" in this class is the tanh form
_ACTIVATIONS = {"gelu_tanh": "gelu", "relu": "relu"}


def names(recipe: Recipe, heads: set[str]) -> list[Name]:
    return [
        Name("network.embeddings.tokens.weight", ("tokens_embed.weight",)),
        Name("network.embeddings.positions.weight", ("positions_embed.weight",)),
        *block_names(stack_of(recipe).layers),
        *lm_head(recipe, heads),
    ]


def config(recipe: Recipe, tokenizer: Tokenizer | None) -> JsonObject:
    spec = of_kind(recipe.network, CausalTransformerSpec)
    return {
        "model_type": "openai-gpt",
        "n_layer": spec.layers,
        "n_embd": spec.width,
        "n_head": spec.heads,
        "n_positions": spec.context,
        "afn": _ACTIVATIONS[spec.activation],
        "layer_norm_epsilon": spec.norm_epsilon,
        # their class drops the sum of the embeddings, the released code the tables: the rate is the same
        "embd_pdrop": spec.dropout.table or spec.dropout.embeddings,
        "resid_pdrop": spec.dropout.residual,
        "attn_pdrop": spec.dropout.attention,
        "initializer_range": spec.initial.deviation,
        "tie_word_embeddings": bool(recipe.head and recipe.head.tied),
    }


def settings(config: JsonObject, heads: set[str]) -> JsonObject:
    back = {theirs: ours for ours, theirs in _ACTIVATIONS.items()}
    return {
        "network": {
            "layers": config.get("n_layer", 12),
            "width": config.get("n_embd", 768),
            "heads": config.get("n_head", 12),
            "context": config.get("n_positions", 512),
            "activation": back.get(config.get("afn", "gelu"), "gelu_tanh"),
            "norm_epsilon": config.get("layer_norm_epsilon", 1e-5),
            "dropout": {
                "table": config.get("embd_pdrop", 0.1),
                "attention": config.get("attn_pdrop", 0.1),
                "residual": config.get("resid_pdrop", 0.1),
            },
        },
        "head": {"tied": config.get("tie_word_embeddings", True)},
    }


def unsupported(config: JsonObject) -> list[str]:
    afn = config.get("afn", "gelu")
    return [] if afn in _ACTIVATIONS.values() else [f"afn = {afn!r}"]


def fits(recipe: Recipe) -> bool:
    spec = plain_causal(recipe)
    return (
        spec is not None
        and classic(spec)
        and spec.norm == "after"
        and spec.activation in _ACTIVATIONS
        and not spec.inner
    )


FAMILY = Family(
    model_type="openai-gpt",
    base="gpt1",
    prefix="transformer.",
    fits=fits,
    architecture=lambda model: "OpenAIGPTLMHeadModel",
    names=names,
    config=config,
    settings=settings,
    unsupported=unsupported,
    tasks=task_classes("OpenAIGPT", "choose"),
    constants=(".attn.bias", "position_ids"),
    copies=(("lm_head.weight", "tokens_embed.weight"),),
)
