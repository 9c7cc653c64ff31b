"""ModernBERT in Hugging Face's names (`ModernBertForMaskedLM`, `ModernBertModel`)."""

from __future__ import annotations

from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject
from foreword.basics.spec import of_kind
from foreword.exchange.family import Activations, ActivationsBack, Family, Name, stack_of, usual_widths
from foreword.networks.bidirectional import BidirectionalTransformerSpec
from foreword.parts.heads import TransformedSoftmax
from foreword.parts.positions import Rotary
from foreword.parts.visible import Alternating
from foreword.tokens.tokenizer import Tokenizer

LAYERS = {"dense": "full_attention", "banded": "sliding_attention"}


def names(recipe: Recipe, heads: set[str]) -> list[Name]:
    pairs = [
        ("embeddings.tokens", "embeddings.tok_embeddings"),
        ("embeddings.norm", "embeddings.norm"),
        ("norm", "final_norm"),
    ]
    for i in range(stack_of(recipe).layers):
        pairs += [
            (f"blocks.{i}.{ours}", f"layers.{i}.{theirs}")
            for ours, theirs in (
                ("attention.project", "attn.Wqkv"),
                ("attention.out", "attn.Wo"),
                ("second.norm", "mlp_norm"),
                ("feedforward.out", "mlp.Wo"),
                *([("first.norm", "attn_norm")] if i else []),
            )
        ]
    found = [
        Name(f"network.{ours}.weight", (f"{theirs}.weight",), rows=turned(recipe) if theirs.endswith("Wqkv") else ())
        for ours, theirs in pairs
    ]
    for i in range(stack_of(recipe).layers):  # one matrix of theirs holds both
        for part, ours in enumerate(("inner", "gate")):
            found.append(Name(f"network.blocks.{i}.feedforward.{ours}.weight", (f"layers.{i}.mlp.Wi.weight.{part}",)))
    if "tokens" in heads:
        found += [Name(f"heads.tokens.{part}.weight", (f"head.{part}.weight",)) for part in ("dense", "norm")]
        found.append(Name("heads.tokens.out.bias", ("decoder.bias",)))
    return found


def turned(recipe: Recipe) -> tuple[int, ...]:
    """They rotate queries and keys the other way round: the halves of each head change places. Values stay."""
    stack = stack_of(recipe)
    half = stack.size // 2
    head = [*range(half, 2 * half), *range(half)]
    both = [start + at for start in range(0, 2 * stack.width, stack.size) for at in head]
    return (*both, *range(2 * stack.width, 3 * stack.width))


def config(recipe: Recipe, tokenizer: Tokenizer | None) -> JsonObject:
    spec = of_kind(recipe.network, BidirectionalTransformerSpec)
    positions = of_kind(spec.positions, Rotary)
    ids = {"pad_token_id": "[pad]", "bos_token_id": "[cls]", "cls_token_id": "[cls]", "eos_token_id": "[separator]"}
    given = {**ids, "sep_token_id": "[separator]"} if tokenizer else {}
    windows = spec.visible.windows(spec.layers, spec.context)
    return {
        "model_type": "modernbert",
        "num_hidden_layers": spec.layers,
        "hidden_size": spec.width,
        "num_attention_heads": spec.heads,
        "max_position_embeddings": spec.context,
        "intermediate_size": spec.inner or 4 * spec.width,
        "hidden_activation": Activations[spec.activation],
        "classifier_activation": Activations[spec.activation],
        "norm_eps": spec.norm_epsilon,
        "local_attention": next((window for window in windows if window), 128),
        "layer_types": [LAYERS["banded" if window else "dense"] for window in windows],
        "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": positions.base},
            "sliding_attention": {"rope_type": "default", "rope_theta": positions.local or positions.base},
        },
        "attention_dropout": spec.dropout.attention,
        "embedding_dropout": spec.dropout.embeddings,
        "initializer_range": spec.initial.deviation,
        **{name: tokenizer.special(special) if tokenizer else None for name, special in (given or ids).items()},
    }


def settings(config: JsonObject, heads: set[str]) -> JsonObject:
    width, layers = config.get("hidden_size", 768), config.get("num_hidden_layers", 22)
    act = ActivationsBack[config.get("hidden_activation", "gelu")]
    epsilon = config.get("norm_eps", 1e-5)
    every = config.get("global_attn_every_n_layers", 3)
    kinds = config.get("layer_types") or [LAYERS["banded" if i % every else "dense"] for i in range(layers)]
    rope = config.get("rope_parameters") or {}
    bases = [
        rope.get(kind, {}).get("rope_theta") or config.get(old, base)
        for kind, old, base in (
            ("full_attention", "global_rope_theta", 160000.0),
            ("sliding_attention", "local_rope_theta", 10000.0),
        )
    ]
    drop = {"attention": config.get("attention_dropout", 0.0), "embeddings": config.get("embedding_dropout", 0.0)}
    return {
        "network": {
            "layers": layers,
            "width": width,
            "heads": config.get("num_attention_heads", 12),
            "context": config.get("max_position_embeddings", 8192),
            "inner": config.get("intermediate_size", 1152),
            "activation": act,
            "norm_epsilon": epsilon,
            "positions": {"kind": "rotary", "base": bases[0], "local": bases[1]},
            "visible": {
                "kind": "alternating",
                "window": config.get("local_attention", 128),
                "order": ["banded" if kind == LAYERS["banded"] else "dense" for kind in kinds],
            },
            "dropout": drop,
        },
        "head": {"activation": act, "norm_epsilon": epsilon},
    }


def unsupported(config: JsonObject) -> list[str]:
    biases = ("attention_bias", "mlp_bias", "norm_bias", "classifier_bias")
    found = [f"{name} = true" for name in biases if config.get(name)]
    found += ["decoder_bias = false"] if not config.get("decoder_bias", True) else []
    act = config.get("hidden_activation", "gelu")
    found += [] if act in ActivationsBack else [f"hidden_activation = {act!r}"]
    if config.get("classifier_activation", "gelu") != act:
        found.append(f"classifier_activation = {config['classifier_activation']!r}")
    return found + ([] if config.get("tie_word_embeddings", True) else ["tie_word_embeddings = false"])


def fits(recipe: Recipe) -> bool:
    network, head = recipe.network, recipe.head
    return (
        isinstance(network, BidirectionalTransformerSpec)
        and network.kind == "bidirectional_transformer"
        and (network.norm, network.norm_kind, network.first_norm) == ("before", "layer_gain", False)
        and (network.segments, network.gated, network.bias, network.qk_norm) == (0, True, False, False)
        and isinstance(network.positions, Rotary)
        and isinstance(network.visible, Alternating)
        and usual_widths(network)
        and isinstance(head, TransformedSoftmax)
        and head.tied
        and not head.bias
        and (head.activation, head.norm_epsilon) == (network.activation, network.norm_epsilon)
    )


FAMILY = Family(
    model_type="modernbert",
    base="modern-bert",
    prefix="model.",
    fits=fits,
    architecture=lambda model: "ModernBertForMaskedLM" if "tokens" in model.heads else "ModernBertModel",
    names=names,
    config=config,
    settings=settings,
    unsupported=unsupported,
    heads=lambda there: {"tokens"} if "head.dense.weight" in there else set(),
    generates=False,
    copies=(("decoder.weight", "embeddings.tok_embeddings.weight"),),
    joined=("mlp.Wi.weight",),
)
