"""RoBERTa in Hugging Face's names (`RobertaForMaskedLM`, `RobertaModel`): BERT's trunk, another head, positions from 2 on."""

from __future__ import annotations

from dataclasses import replace

from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject
from foreword.exchange import bert
from foreword.exchange.family import Name, TaskClass
from foreword.networks.base import Model
from foreword.parts.positions import Learned
from foreword.tokens.tokenizer import Tokenizer

PAD = 1  # of their tokenizer; positions are numbered from the one after it


def names(recipe: Recipe, heads: set[str]) -> list[Name]:
    found = bert.names(recipe, set())
    if "tokens" in heads:
        found += [
            Name(f"heads.tokens.{ours}.{part}", (f"lm_head.{theirs}.{part}",))
            for ours, theirs in (("dense", "dense"), ("norm", "layer_norm"))
            for part in ("weight", "bias")
        ]
        found.append(Name("heads.tokens.out.bias", ("lm_head.bias",)))
    return found


def config(recipe: Recipe, tokenizer: Tokenizer | None) -> JsonObject:
    found = bert.config(recipe, tokenizer)
    ends = (
        {"bos_token_id": tokenizer.special("[cls]"), "eos_token_id": tokenizer.special("[separator]")}
        if tokenizer
        else {}
    )
    rows = found["max_position_embeddings"] + PAD + 1
    return {**found, "model_type": "roberta", "max_position_embeddings": rows, "pad_token_id": PAD, **ends}


def settings(config: JsonObject, heads: set[str]) -> JsonObject:
    pad = config.get("pad_token_id", PAD)
    same = {
        **config,
        "layer_norm_eps": config.get("layer_norm_eps", 1e-12),  # their class says 1e-12, their released weights 1e-5
        "max_position_embeddings": config.get("max_position_embeddings", 512) - pad - 1,
    }
    found = bert.settings(same, heads)
    found["network"]["positions"] = {"kind": "learned", "offset": pad + 1}
    return {**found, "objective": {"kind": "masked"}}


def fits(recipe: Recipe) -> bool:
    """BERT's, but for the positions; their padding is row 1, so a network's first position is row 2."""
    network = recipe.network
    if getattr(network, "positions", None) != Learned(offset=PAD + 1):
        return False
    as_bert = recipe.model_copy(update={"network": network.model_copy(update={"positions": Learned()})})
    return bert.fits(as_bert)


def heads(there: set[str]) -> set[str]:
    return {"tokens"} if "lm_head.dense.weight" in there else set()


def architecture(model: Model) -> str:
    return "RobertaForMaskedLM" if "tokens" in model.heads else "RobertaModel"


_SEQUENCE = TaskClass("RobertaForSequenceClassification", "classifier.out_proj", "classifier.dense")
TASKS = {
    "classify": _SEQUENCE,
    "regress": _SEQUENCE,
    "rank": _SEQUENCE,
    "choose": TaskClass("RobertaForMultipleChoice", "classifier", "pooler.dense"),
    "tag": TaskClass("RobertaForTokenClassification", "classifier"),
    "span": TaskClass("RobertaForQuestionAnswering", "qa_outputs"),
}

FAMILY = replace(
    bert.FAMILY,
    model_type="roberta",
    base="roberta",
    prefix="roberta.",
    fits=fits,
    architecture=architecture,
    names=names,
    config=config,
    settings=settings,
    heads=heads,
    tasks=TASKS,
    copies=(("lm_head.decoder.weight", "embeddings.word_embeddings.weight"), ("lm_head.decoder.bias", "lm_head.bias")),
)
