"""XLNet in Hugging Face's names (`XLNetLMHeadModel`, `XLNetModel`)."""

from __future__ import annotations

from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject
from foreword.basics.spec import of_kind
from foreword.exchange.family import Activations, ActivationsBack, Family, Name, TaskClass, stack_of
from foreword.networks.two_stream import TwoStreamTransformerSpec
from foreword.parts.heads import Softmax
from foreword.parts.positions import Relative
from foreword.tokens.tokenizer import Tokenizer


def names(recipe: Recipe, heads: set[str]) -> list[Name]:
    count = stack_of(recipe).heads
    found = [
        Name("network.embeddings.tokens.weight", ("word_embedding.weight",)),
        Name("network.start", ("mask_emb",), leading=True),
    ]
    for i in range(stack_of(recipe).layers):
        ours, theirs = f"network.blocks.{i}", f"layer.{i}"
        attention, scores = f"{theirs}.rel_attn", f"{ours}.attention.scores"
        found += [
            Name(
                f"{ours}.attention.project.weight",
                tuple(f"{attention}.{part}" for part in "qkv"),
                transposed=True,
                heads=count,
            ),
            Name(f"{ours}.attention.out.weight", (f"{attention}.o",), heads=count),
            Name(f"{scores}.distance.weight", (f"{attention}.r",), transposed=True, heads=count),
            Name(f"{scores}.texts.weight", (f"{attention}.seg_embed",), heads=count),
        ]
        for mine, other in (("content", "r_w_bias"), ("place", "r_r_bias"), ("segment", "r_s_bias")):
            found.append(Name(f"{scores}.biases.{mine}", (f"{attention}.{other}",)))
        for mine, other in (
            ("first.norm", "rel_attn.layer_norm"),
            ("feedforward.inner", "ff.layer_1"),
            ("feedforward.out", "ff.layer_2"),
            ("second.norm", "ff.layer_norm"),
        ):
            found += [Name(f"{ours}.{mine}.{part}", (f"{theirs}.{other}.{part}",)) for part in ("weight", "bias")]
    return found + ([Name("heads.tokens.out.bias", ("lm_loss.bias",))] if "tokens" in heads else [])


def config(recipe: Recipe, tokenizer: Tokenizer | None) -> JsonObject:
    spec = of_kind(recipe.network, TwoStreamTransformerSpec)
    positions = of_kind(spec.positions, Relative)
    special = {"pad_token_id": "[pad]", "bos_token_id": "[begin]", "eos_token_id": "[end]"}
    found = {name: tokenizer.special(ours) for name, ours in special.items() if tokenizer and tokenizer.has(ours)}
    return {
        "model_type": "xlnet",
        "n_layer": spec.layers,
        "d_model": spec.width,
        "n_head": spec.heads,
        "d_head": spec.size,
        "d_inner": spec.inner or 4 * spec.width,
        "ff_activation": Activations[spec.activation],
        "untie_r": True,
        "attn_type": "bi",
        "bi_data": False,
        "mem_len": spec.memory or None,
        "reuse_len": getattr(recipe.batches, "reuse", None),
        "clamp_len": positions.furthest or -1,
        "layer_norm_eps": spec.norm_epsilon,
        "dropout": spec.dropout.residual,
        "initializer_range": spec.initial.deviation,
        **found,
    }


def settings(config: JsonObject, heads: set[str]) -> JsonObject:
    width, drop = config.get("d_model", 1024), config.get("dropout", 0.1)
    furthest, reuse = config.get("clamp_len", -1), config.get("reuse_len")
    positions = {"furthest": furthest} if furthest > 0 else {}
    return {
        "network": {
            "layers": config.get("n_layer", 24),
            "width": width,
            "heads": config.get("n_head", 16),
            "inner": config.get("d_inner", 4 * width),
            "memory": config.get("mem_len") or 0,
            "activation": ActivationsBack[config.get("ff_activation", "gelu")],
            "norm_epsilon": config.get("layer_norm_eps", 1e-12),
            "positions": {"kind": "relative", "untied": True, **positions},
            "dropout": {"embeddings": drop, "attention": drop, "residual": drop, "inner": drop},
        },
        "batches": {"reuse": reuse} if reuse else {},
    }


def unsupported(config: JsonObject) -> list[str]:
    plain = {"attn_type": "bi", "untie_r": True, "same_length": False, "tie_word_embeddings": True}
    found = [f"{name} = {config[name]!r}" for name, wanted in plain.items() if config.get(name, wanted) != wanted]
    if config.get("ff_activation", "gelu") not in ActivationsBack:
        found.append(f"ff_activation = {config['ff_activation']!r}")
    return found


def fits(recipe: Recipe) -> bool:
    network, head = recipe.network, recipe.head
    return (
        isinstance(network, TwoStreamTransformerSpec)
        and isinstance(network.positions, Relative)
        and isinstance(head, Softmax)
        and head.tied
        and head.bias
        and not head.scaled
        and (network.norm, network.norm_kind, network.qk_norm, network.gated) == ("after", "layer", False, False)
        and (network.bias, network.attention_bias) == (True, False)
        and (network.embedding, network.attention_scale, network.embedding_scale) == (None, None, False)
        and network.size * network.heads == network.width
    )


class AnswerableClass(TaskClass):
    """A start, an end given a start, and whether there is an answer."""

    def names(self, head: str) -> list[Name]:
        both = {
            "start": "start_logits.dense",
            "end.inner": "end_logits.dense_0",
            "end.norm": "end_logits.LayerNorm",
            "end.out": "end_logits.dense_1",
            "answer.inner": "answer_class.dense_0",
        }
        found = [
            Name(f"heads.{head}.{ours}.{part}", (f"{theirs}.{part}",))
            for ours, theirs in both.items()
            for part in ("weight", "bias")
        ]
        return [*found, Name(f"heads.{head}.answer.out.weight", ("answer_class.dense_1.weight",))]


_SEQUENCE = TaskClass("XLNetForSequenceClassification", "logits_proj", "sequence_summary.summary")
FAMILY = Family(
    model_type="xlnet",
    base="xlnet",
    prefix="transformer.",
    fits=fits,
    architecture=lambda model: "XLNetLMHeadModel" if "tokens" in model.heads else "XLNetModel",
    names=names,
    config=config,
    settings=settings,
    unsupported=unsupported,
    generates=False,
    reading="end",
    heads=lambda there: {"tokens"} if "lm_loss.bias" in there else set(),
    copies=(("lm_loss.weight", "word_embedding.weight"),),
    tasks={
        "classify": _SEQUENCE,
        "regress": _SEQUENCE,
        "rank": _SEQUENCE,
        "choose": TaskClass("XLNetForMultipleChoice", "logits_proj", "sequence_summary.summary"),
        "tag": TaskClass("XLNetForTokenClassification", "classifier"),
        "span": TaskClass("XLNetForQuestionAnsweringSimple", "qa_outputs"),
        "answerable_span": AnswerableClass("XLNetForQuestionAnswering", "start_logits"),
    },
)
