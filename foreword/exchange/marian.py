"""The Transformer in Hugging Face's names (`MarianMTModel`): norms after, sinusoids in two halves, biases everywhere."""

from __future__ import annotations

from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject
from foreword.basics.spec import of_kind
from foreword.exchange.family import Activations, ActivationsBack, Family, Name, usual_widths
from foreword.networks.encoder_decoder import EncoderDecoderSpec
from foreword.objectives.translation import FromSource
from foreword.parts.heads import Softmax
from foreword.parts.positions import Sinusoid
from foreword.parts.visible import Dense
from foreword.tokens.tokenizer import Tokenizer


def _both(ours: str, *theirs: str) -> list[Name]:
    return [Name(f"{ours}.{part}", tuple(f"{name}.{part}" for name in theirs)) for part in ("weight", "bias")]


def _attention(ours: str, theirs: str) -> list[Name]:
    return _both(f"{ours}.project", *(f"{theirs}.{part}_proj" for part in "qkv")) + _both(
        f"{ours}.out", f"{theirs}.out_proj"
    )


def names(recipe: Recipe, heads: set[str]) -> list[Name]:
    spec = of_kind(recipe.network, EncoderDecoderSpec)
    found = [Name("network.embeddings.tokens.weight", ("shared.weight",))]
    for stack, layers in (("encoder", spec.layers), ("decoder", spec.decoder_layers or spec.layers)):
        for i in range(layers):
            ours, theirs = f"network.{stack}.{i}", f"{stack}.layers.{i}"
            found += _attention(f"{ours}.attention", f"{theirs}.self_attn")
            found += _both(f"{ours}.first.norm", f"{theirs}.self_attn_layer_norm")
            if stack == "decoder":
                found += _attention(f"{ours}.cross", f"{theirs}.encoder_attn")
                found += _both(f"{ours}.between.norm", f"{theirs}.encoder_attn_layer_norm")
            found += _both(f"{ours}.feedforward.inner", f"{theirs}.fc1")
            found += _both(f"{ours}.feedforward.out", f"{theirs}.fc2")
            found += _both(f"{ours}.second.norm", f"{theirs}.final_layer_norm")
    return [*found, Name("heads.tokens.out.bias", ("final_logits_bias",), leading=True)]


def config(recipe: Recipe, tokenizer: Tokenizer | None) -> JsonObject:
    spec = of_kind(recipe.network, EncoderDecoderSpec)
    start = of_kind(recipe.objective, FromSource).known_start(tokenizer)
    end = {"eos_token_id": tokenizer.special("[end]")} if tokenizer else {}
    sides = {
        f"{side}_{name}": value
        for side, layers in (("encoder", spec.layers), ("decoder", spec.decoder_layers or spec.layers))
        for name, value in (
            ("layers", layers),
            ("attention_heads", spec.heads),
            ("ffn_dim", spec.inner or 4 * spec.width),
        )
    }
    return {
        "model_type": "marian",
        **sides,
        "d_model": spec.width,
        "max_position_embeddings": spec.context,
        "activation_function": Activations[spec.activation],
        "dropout": spec.dropout.residual,
        "attention_dropout": spec.dropout.attention,
        "activation_dropout": spec.dropout.inner or 0.0,
        "scale_embedding": spec.embedding_scale,
        "static_position_embeddings": True,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "is_encoder_decoder": True,
        "decoder_start_token_id": start or 0,
        "pad_token_id": start or 0,
        **end,
    }


def settings(config: JsonObject, heads: set[str]) -> JsonObject:
    drop = config.get("dropout", 0.1)
    return {
        "network": {
            "layers": config.get("encoder_layers", 12),
            "decoder_layers": config.get("decoder_layers", 12),
            "width": config.get("d_model", 1024),
            "heads": config.get("encoder_attention_heads", 16),
            "inner": config.get("encoder_ffn_dim", 4096),
            "context": config.get("max_position_embeddings", 1024),
            "activation": ActivationsBack[config.get("activation_function", "gelu")],
            "attention_bias": True,
            "norm_epsilon": 1e-5,
            "embedding_scale": config.get("scale_embedding", False),
            "dropout": {
                "embeddings": drop,
                "residual": drop,
                "attention": config.get("attention_dropout", 0.0),
                "inner": config.get("activation_dropout", 0.0),
            },
        },
        "head": {"bias": True},
        "objective": {"start": config.get("decoder_start_token_id", config.get("pad_token_id", 0))},
    }


def unsupported(config: JsonObject) -> list[str]:
    found = [
        f"{name} = {str(config[name]).lower()}"
        for name, wanted in (("share_encoder_decoder_embeddings", True), ("tie_word_embeddings", True))
        if config.get(name, wanted) != wanted
    ]
    found += [
        f"decoder_{name} = {config[f'decoder_{name}']}"
        for name in ("attention_heads", "ffn_dim")
        if config.get(f"decoder_{name}") != config.get(f"encoder_{name}")
    ]
    act = config.get("activation_function", "gelu")
    return found + ([] if act in ActivationsBack else [f"activation_function = {act!r}"])


def fits(recipe: Recipe) -> bool:
    network, head = recipe.network, recipe.head
    return (
        isinstance(network, EncoderDecoderSpec)
        and not network.one_stack
        and network.visible == Dense()
        and network.positions == Sinusoid()
        and isinstance(head, Softmax)
        and head.bias
        and head.tied
        and not head.scaled
        and (network.norm, network.norm_kind, network.norm_epsilon) == ("after", "layer", 1e-5)
        and network.bias
        and network.attention_bias
        and network.qkv_bias
        and not network.gated
        and not network.qk_norm
        and usual_widths(network)
        and not recipe.objective.labelled
    )


FAMILY = Family(
    model_type="marian",
    base="transformer",
    prefix="model.",
    fits=fits,
    architecture=lambda model: "MarianMTModel",
    names=names,
    config=config,
    settings=settings,
    unsupported=unsupported,
    generates=False,
    constants=("embed_positions.weight",),
    copies=(
        ("encoder.embed_tokens.weight", "shared.weight"),
        ("decoder.embed_tokens.weight", "shared.weight"),
        ("lm_head.weight", "shared.weight"),
    ),
)
