"""BERT in Hugging Face's names (`BertForPreTraining`, `BertForMaskedLM`, `BertModel`)."""

from __future__ import annotations

from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject
from foreword.basics.spec import of_kind
from foreword.exchange.family import Activations, ActivationsBack, Family, Name, TaskClass, classic, stack_of
from foreword.networks.base import Model
from foreword.networks.bidirectional import BidirectionalTransformerSpec
from foreword.parts.heads import TransformedSoftmax
from foreword.tokens.tokenizer import Tokenizer


def names(recipe: Recipe, heads: set[str]) -> list[Name]:
    def both(ours: str, *theirs: str) -> list[Name]:
        return [Name(f"{ours}.{part}", tuple(f"{name}.{part}" for name in theirs)) for part in ("weight", "bias")]

    found = [
        Name(f"network.embeddings.{ours}.weight", (f"embeddings.{theirs}_embeddings.weight",))
        for ours, theirs in (("tokens", "word"), ("positions", "position"), ("segments", "token_type"))
    ]
    found += both("network.embeddings.norm", "embeddings.LayerNorm")
    for i in range(stack_of(recipe).layers):
        ours, theirs = f"network.blocks.{i}", f"encoder.layer.{i}"
        found += both(
            f"{ours}.attention.project", *(f"{theirs}.attention.self.{part}" for part in ("query", "key", "value"))
        )
        for mine, other in (
            ("attention.out", "attention.output.dense"),
            ("first.norm", "attention.output.LayerNorm"),
            ("feedforward.inner", "intermediate.dense"),
            ("feedforward.out", "output.dense"),
            ("second.norm", "output.LayerNorm"),
        ):
            found += both(f"{ours}.{mine}", f"{theirs}.{other}")
    if "tokens" in heads:
        found += both("heads.tokens.dense", "cls.predictions.transform.dense")
        found += both("heads.tokens.norm", "cls.predictions.transform.LayerNorm")
        found.append(Name("heads.tokens.out.bias", ("cls.predictions.bias",)))
    if "next_sentence" in heads:
        found += both("heads.next_sentence.pool", "pooler.dense") + both(
            "heads.next_sentence.out", "cls.seq_relationship"
        )
    return found


def config(recipe: Recipe, tokenizer: Tokenizer | None) -> JsonObject:
    spec = of_kind(recipe.network, BidirectionalTransformerSpec)
    pad = tokenizer.special("[pad]") if tokenizer and tokenizer.has("[pad]") else 0
    return {
        "model_type": "bert",
        "num_hidden_layers": spec.layers,
        "hidden_size": spec.width,
        "num_attention_heads": spec.heads,
        "max_position_embeddings": spec.context,
        "intermediate_size": spec.inner or 4 * spec.width,
        "hidden_act": Activations[spec.activation],
        "layer_norm_eps": spec.norm_epsilon,
        "hidden_dropout_prob": spec.dropout.residual,
        "attention_probs_dropout_prob": spec.dropout.attention,
        "type_vocab_size": spec.segments,
        "initializer_range": spec.initial.deviation,
        "pad_token_id": pad,
        "position_embedding_type": "absolute",
    }


def settings(config: JsonObject, heads: set[str]) -> JsonObject:
    act = ActivationsBack.get(config.get("hidden_act", "gelu"), "gelu_erf")
    parts = [{"kind": "masked"}] + ([{"kind": "next_sentence"}] if "next_sentence" in heads else [])
    width, epsilon = config.get("hidden_size", 768), config.get("layer_norm_eps", 1e-12)
    drop = config.get("hidden_dropout_prob", 0.1)
    return {
        "network": {
            "layers": config.get("num_hidden_layers", 12),
            "width": width,
            "heads": config.get("num_attention_heads", 12),
            "context": config.get("max_position_embeddings", 512),
            "inner": config.get("intermediate_size", 4 * width),
            "activation": act,
            "norm_epsilon": epsilon,
            "segments": config.get("type_vocab_size", 2),
            "dropout": {
                "embeddings": drop,
                "attention": config.get("attention_probs_dropout_prob", 0.1),
                "residual": drop,
            },
        },
        "head": {"activation": act, "norm_epsilon": epsilon},
        "objective": {"parts": parts},
        "training": {"phases": []},  # a folder says nothing of how it was trained
    }


def unsupported(config: JsonObject) -> list[str]:
    found = [f"{name} = true" for name in ("is_decoder", "add_cross_attention") if config.get(name)]
    if config.get("position_embedding_type", "absolute") != "absolute":
        found.append(f"position_embedding_type = {config['position_embedding_type']!r}")
    if config.get("hidden_act", "gelu") not in ActivationsBack:
        found.append(f"hidden_act = {config['hidden_act']!r}")
    if not config.get("tie_word_embeddings", True):
        found.append("tie_word_embeddings = false")
    return found


def fits(recipe: Recipe) -> bool:
    return stacked(recipe) and not getattr(recipe.network, "tasks", None)


def stacked(recipe: Recipe) -> bool:
    """Their class has one head, which shares the table, the activation and the epsilon of the network."""
    network, head = recipe.network, recipe.head
    return (
        isinstance(network, BidirectionalTransformerSpec)
        and classic(network)
        and network.norm == "after"
        and isinstance(head, TransformedSoftmax)
        and head.tied
        and head.bias
        and (head.activation, head.norm_epsilon) == (network.activation, network.norm_epsilon)
    )


def heads(there: set[str]) -> set[str]:
    found = {"tokens"} if "cls.predictions.transform.dense.weight" in there else set()
    return found | ({"next_sentence"} if "cls.seq_relationship.weight" in there else set())


def architecture(model: Model) -> str:
    if "next_sentence" in model.heads:
        return "BertForPreTraining"
    return "BertForMaskedLM" if "tokens" in model.heads else "BertModel"


_SEQUENCE = TaskClass("BertForSequenceClassification", "classifier", "pooler.dense")
TASKS = {
    "classify": _SEQUENCE,
    "regress": _SEQUENCE,
    "rank": _SEQUENCE,
    "choose": TaskClass("BertForMultipleChoice", "classifier", "pooler.dense"),
    "tag": TaskClass("BertForTokenClassification", "classifier"),
    "span": TaskClass("BertForQuestionAnswering", "qa_outputs"),
}

FAMILY = Family(
    model_type="bert",
    base="bert",
    prefix="bert.",
    fits=fits,
    architecture=architecture,
    names=names,
    config=config,
    settings=settings,
    unsupported=unsupported,
    heads=heads,
    constants=("embeddings.position_ids", "embeddings.token_type_ids"),
    generates=False,
    tasks=TASKS,
    unread=("pooler.dense.weight", "pooler.dense.bias"),
    copies=(
        ("cls.predictions.decoder.weight", "embeddings.word_embeddings.weight"),
        ("cls.predictions.decoder.bias", "cls.predictions.bias"),
    ),
)
