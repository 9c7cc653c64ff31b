"""GPT-2 in Hugging Face's names (`GPT2LMHeadModel`)."""

from __future__ import annotations

from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject
from foreword.basics.spec import of_kind
from foreword.exchange.family import (
    Activations,
    ActivationsBack,
    Family,
    Name,
    classic,
    plain_causal,
    stack_of,
    task_classes,
)
from foreword.networks.causal import CausalTransformerSpec
from foreword.tokens.tokenizer import Tokenizer


def block_names(layers: int, ours: str = "network.blocks", theirs: str = "h") -> list[Name]:
    """GPT-1 and GPT-2 name a block's tensors alike; their linear maps are stored [inputs, outputs]."""
    found = []
    for i in range(layers):
        for mine, other in (
            ("attention.project", "attn.c_attn"),
            ("attention.out", "attn.c_proj"),
            ("feedforward.inner", "mlp.c_fc"),
            ("feedforward.out", "mlp.c_proj"),
        ):
            found.append(Name(f"{ours}.{i}.{mine}.weight", (f"{theirs}.{i}.{other}.weight",), transposed=True))
            found.append(Name(f"{ours}.{i}.{mine}.bias", (f"{theirs}.{i}.{other}.bias",)))
        for mine, other in (("first.norm", "ln_1"), ("second.norm", "ln_2")):
            for part in ("weight", "bias"):
                found.append(Name(f"{ours}.{i}.{mine}.{part}", (f"{theirs}.{i}.{other}.{part}",)))
    return found


def lm_head(recipe: Recipe, heads: set[str]) -> list[Name]:
    untied = recipe.head is not None and not recipe.head.tied and "tokens" in heads
    return [Name("heads.tokens.out.weight", ("lm_head.weight",))] if untied else []


def names(recipe: Recipe, heads: set[str]) -> list[Name]:
    return [
        Name("network.embeddings.tokens.weight", ("wte.weight",)),
        Name("network.embeddings.positions.weight", ("wpe.weight",)),
        *block_names(stack_of(recipe).layers),
        Name("network.norm.weight", ("ln_f.weight",)),
        Name("network.norm.bias", ("ln_f.bias",)),
        *lm_head(recipe, heads),
    ]


def config(recipe: Recipe, tokenizer: Tokenizer | None) -> JsonObject:
    spec = of_kind(recipe.network, CausalTransformerSpec)
    end = tokenizer.special("[end]") if tokenizer and tokenizer.has("[end]") else None
    return {
        "model_type": "gpt2",
        "n_layer": spec.layers,
        "n_embd": spec.width,
        "n_head": spec.heads,
        "n_positions": spec.context,
        "n_inner": spec.inner,
        "activation_function": Activations[spec.activation],
        "layer_norm_epsilon": spec.norm_epsilon,
        "resid_pdrop": spec.dropout.residual,
        "embd_pdrop": spec.dropout.embeddings,
        "attn_pdrop": spec.dropout.attention,
        "initializer_range": spec.initial.deviation,
        "bos_token_id": end,
        "eos_token_id": end,
        "tie_word_embeddings": bool(recipe.head and recipe.head.tied),
    }


def settings(config: JsonObject, heads: set[str]) -> JsonObject:
    sizes = {
        "layers": config.get("n_layer", 12),
        "width": config.get("n_embd", 768),
        "heads": config.get("n_head", 12),
        "context": config.get("n_positions", config.get("n_ctx", 1024)),
    }
    dropout = {"embeddings": "embd_pdrop", "attention": "attn_pdrop", "residual": "resid_pdrop"}
    return with_common_settings(
        config, sizes, {part: config.get(name, 0.1) for part, name in dropout.items()}, "n_inner"
    )


def with_common_settings(config: JsonObject, network: JsonObject, dropout: JsonObject, inner: str) -> JsonObject:
    """With what GPT-2 and GPT-Neo say in the same words; `inner` is the name of the width inside."""
    network |= {
        "activation": ActivationsBack.get(config.get("activation_function", "gelu_new"), "gelu_tanh"),
        "norm_epsilon": config.get("layer_norm_epsilon", 1e-5),
        "dropout": {"table": 0.0, **dropout},
    }
    if config.get(inner):
        network["inner"] = config[inner]
    return {"network": network, "head": {"tied": config.get("tie_word_embeddings", True)}}


def unsupported(config: JsonObject) -> list[str]:
    found = [
        f"{name} = true" for name in ("scale_attn_by_inverse_layer_idx", "add_cross_attention") if config.get(name)
    ]
    if not config.get("scale_attn_weights", True):
        found.append("scale_attn_weights = false")
    return found + unsupported_activation(config)


def unsupported_activation(config: JsonObject) -> list[str]:
    name = config.get("activation_function", "gelu_new")
    return [] if name in ActivationsBack else [f"activation_function = {name!r}"]


def fits(recipe: Recipe) -> bool:
    spec = plain_causal(recipe)
    return spec is not None and classic(spec) and spec.norm == "before"


FAMILY = Family(
    model_type="gpt2",
    base="gpt2",
    prefix="transformer.",
    fits=fits,
    architecture=lambda model: "GPT2LMHeadModel",
    names=names,
    config=config,
    settings=settings,
    unsupported=unsupported,
    tasks=task_classes("GPT2", "choose", "tag", "span"),
    constants=(".attn.bias", ".attn.masked_bias"),
    copies=(("lm_head.weight", "wte.weight"),),
)
