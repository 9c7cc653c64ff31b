"""T5 in Hugging Face's names (`T5ForConditionalGeneration`), v1.0 and v1.1."""

from __future__ import annotations

from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject
from foreword.basics.spec import of_kind
from foreword.exchange.family import Family, Name
from foreword.networks.encoder_decoder import EncoderDecoderSpec
from foreword.objectives.translation import FromSource
from foreword.parts.heads import Softmax
from foreword.parts.positions import DistanceBias
from foreword.parts.visible import Dense
from foreword.tokens.tokenizer import Tokenizer

FEEDFORWARD = {("relu", False): "relu", ("gelu_tanh", True): "gated-gelu", ("relu", True): "gated-relu"}
FEEDFORWARD |= {("gelu_tanh", False): "gelu_new"}
OUTPUT = "an output of its own"  # beside the heads that are there: the table is not tied
BACK = {name: settings for settings, name in FEEDFORWARD.items()}


def block_names(ours: str, theirs: str, gated: bool, cross: bool) -> list[Name]:
    found = [
        Name(
            f"{ours}.attention.project.weight", tuple(f"{theirs}.layer.0.SelfAttention.{part}.weight" for part in "qkv")
        ),
        Name(f"{ours}.attention.out.weight", (f"{theirs}.layer.0.SelfAttention.o.weight",)),
        Name(f"{ours}.first.norm.weight", (f"{theirs}.layer.0.layer_norm.weight",)),
    ]
    if cross:
        second = f"{theirs}.layer.1.EncDecAttention"
        found += [
            Name(f"{ours}.cross.project.weight", tuple(f"{second}.{part}.weight" for part in "qkv")),
            Name(f"{ours}.cross.out.weight", (f"{second}.o.weight",)),
            Name(f"{ours}.between.norm.weight", (f"{theirs}.layer.1.layer_norm.weight",)),
        ]
    last = f"{theirs}.layer.{2 if cross else 1}"
    dense = {"inner": "wi_0", "gate": "wi_1"} if gated else {"inner": "wi"}
    for mine, other in {**dense, "out": "wo"}.items():
        found.append(Name(f"{ours}.feedforward.{mine}.weight", (f"{last}.DenseReluDense.{other}.weight",)))
    return [*found, Name(f"{ours}.second.norm.weight", (f"{last}.layer_norm.weight",))]


def names(recipe: Recipe, heads: set[str]) -> list[Name]:
    spec = of_kind(recipe.network, EncoderDecoderSpec)
    found = [Name("network.embeddings.tokens.weight", ("shared.weight",))]
    stacks = (
        ("encoder", "embeddings", "encoder_norm", spec.layers),
        ("decoder", "targets", "norm", spec.decoder_layers or spec.layers),
    )
    for stack, embeddings, norm, layers in stacks:
        bias = f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        found.append(Name(f"network.{embeddings}.positions.weight", (bias,)))
        for i in range(layers):
            found += block_names(f"network.{stack}.{i}", f"{stack}.block.{i}", spec.gated, stack == "decoder")
        found.append(Name(f"network.{norm}.weight", (f"{stack}.final_layer_norm.weight",)))
    untied = recipe.head is not None and not recipe.head.tied and "tokens" in heads
    return found + ([Name("heads.tokens.out.weight", ("lm_head.weight",))] if untied else [])


def config(recipe: Recipe, tokenizer: Tokenizer | None) -> JsonObject:
    spec = of_kind(recipe.network, EncoderDecoderSpec)
    positions = of_kind(spec.positions, DistanceBias)
    start = of_kind(recipe.objective, FromSource).known_start(tokenizer)
    end = {"eos_token_id": tokenizer.special("[end]")} if tokenizer else {}
    return {
        "model_type": "t5",
        "num_layers": spec.layers,
        "num_decoder_layers": spec.decoder_layers or spec.layers,
        "d_model": spec.width,
        "num_heads": spec.heads,
        "d_kv": spec.size,
        "d_ff": spec.inner or 4 * spec.width,
        "n_positions": spec.context,
        "feed_forward_proj": FEEDFORWARD[spec.activation, spec.gated],
        "relative_attention_num_buckets": positions.buckets,
        "relative_attention_max_distance": positions.furthest,
        "layer_norm_epsilon": spec.norm_epsilon,
        "dropout_rate": spec.dropout.residual,
        "tie_word_embeddings": of_kind(recipe.head, Softmax).scaled,
        "scale_decoder_outputs": of_kind(recipe.head, Softmax).scaled,
        "is_encoder_decoder": True,
        "decoder_start_token_id": start or 0,
        "pad_token_id": start or 0,
        **end,
    }


def settings(config: JsonObject, heads: set[str]) -> JsonObject:
    activation, gated = BACK.get(config.get("feed_forward_proj", "relu"), ("relu", False))
    # version 5 of transformers says apart what older ones, and the published folders, say in one
    scaled, drop = (
        config.get("scale_decoder_outputs", config.get("tie_word_embeddings", True)),
        config.get("dropout_rate", 0.1),
    )
    layers = config.get("num_layers", 6)
    return {
        "network": {
            "layers": layers,
            "decoder_layers": config.get("num_decoder_layers") or layers,
            "width": config.get("d_model", 512),
            "heads": config.get("num_heads", 8),
            "head_size": config.get("d_kv", 64),
            "inner": config.get("d_ff", 2048),
            "context": config.get("n_positions", 512),
            "activation": activation,
            "gated": gated,
            "norm_epsilon": config.get("layer_norm_epsilon", 1e-6),
            "positions": {
                "kind": "distance_bias",
                "buckets": config.get("relative_attention_num_buckets", 32),
                "furthest": config.get("relative_attention_max_distance", 128),
            },
            "dropout": {"embeddings": drop, "attention": drop, "residual": drop, "inner": drop},
        },
        "head": {"tied": scaled or OUTPUT not in heads, "scaled": scaled},
        "objective": {"start": config.get("decoder_start_token_id", 0)},
    }


def unsupported(config: JsonObject) -> list[str]:
    act = config.get("feed_forward_proj", "relu")
    return [] if act in BACK else [f"feed_forward_proj = {act!r}"]


def fits(recipe: Recipe) -> bool:
    """Their class divides vectors by the root of the width only where the table is tied."""
    network, head = recipe.network, recipe.head
    return (
        isinstance(network, EncoderDecoderSpec)
        and not network.one_stack
        and network.visible == Dense()
        and isinstance(network.positions, DistanceBias)
        and isinstance(head, Softmax)
        and not head.bias
        and (head.tied or not head.scaled)
        and (network.norm, network.norm_kind, network.bias, network.qk_norm) == ("before", "rms_gain", False, False)
        and network.attention_scale == 1.0
        and network.embedding is None
        and not network.embedding_scale
        and (network.activation, network.gated) in FEEDFORWARD
        and not recipe.objective.labelled
    )


FAMILY = Family(
    model_type="t5",
    base="t5",
    prefix="transformer.",
    fits=fits,
    architecture=lambda model: "T5ForConditionalGeneration",
    names=names,
    config=config,
    settings=settings,
    unsupported=unsupported,
    generates=False,
    heads=lambda there: {"tokens"} | ({OUTPUT} if "lm_head.weight" in there else set()),
    constants=("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",),
    copies=(
        ("encoder.embed_tokens.weight", "shared.weight"),
        ("decoder.embed_tokens.weight", "shared.weight"),
        ("lm_head.weight", "shared.weight"),
    ),
)
