"""ELECTRA in Hugging Face's names: `ElectraForPreTraining` is the discriminator, `ElectraForMaskedLM` the generator."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from foreword.assembly import loader
from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject
from foreword.basics.spec import of_kind
from foreword.exchange import bert
from foreword.exchange.family import Name, TaskClass
from foreword.networks.base import Model
from foreword.networks.bidirectional import BidirectionalTransformerSpec
from foreword.networks.generator_discriminator import GeneratorDiscriminator, GeneratorDiscriminatorSpec
from foreword.objectives.replaced_token import ReplacedToken
from foreword.tokens.tokenizer import Tokenizer

Part = Literal["discriminator", "generator"]


def names(recipe: Recipe, heads: set[str]) -> list[Name]:
    network = of_kind(recipe.network, BidirectionalTransformerSpec)
    pairs = [("network.widen", "embeddings_project")] if network.token_width != network.width else []
    if "tokens" in heads:
        pairs += [("heads.tokens.dense", "generator_predictions.dense")]
        pairs += [("heads.tokens.norm", "generator_predictions.LayerNorm")]
    if "replaced" in heads:
        pairs += [("heads.replaced.dense", "discriminator_predictions.dense")]
        pairs += [("heads.replaced.out", "discriminator_predictions.dense_prediction")]
    found = [Name(f"{ours}.{part}", (f"{theirs}.{part}",)) for ours, theirs in pairs for part in ("weight", "bias")]
    bias = [Name("heads.tokens.out.bias", ("generator_lm_head.bias",))] if "tokens" in heads else []
    return [*bert.names(recipe, set()), *found, *bias]


def config(recipe: Recipe, tokenizer: Tokenizer | None) -> JsonObject:
    spec = of_kind(recipe.network, BidirectionalTransformerSpec)
    return {**bert.config(recipe, tokenizer), "model_type": "electra", "embedding_size": spec.token_width}


def settings(config: JsonObject, heads: set[str]) -> JsonObject:
    found = bert.settings({"hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024, **config}, heads)
    size = config.get("embedding_size", 128)
    found["network"] |= {"embedding": size} if size != found["network"]["width"] else {}
    return {**found, "objective": {"kind": "replaced_token" if "replaced" in heads else "masked"}}


def fits(recipe: Recipe) -> bool:
    """BERT's stack with token vectors of their own width, or a head that looks for replaced tokens."""
    network, objective = recipe.network, recipe.objective
    if not isinstance(network, BidirectionalTransformerSpec) or network.kind != "bidirectional_transformer":
        return False
    looks = isinstance(objective, ReplacedToken) and objective.guess == "replaced"
    plain = recipe.model_copy(update={"network": network.model_copy(update={"embedding": None})})
    return (looks or network.token_width != network.width) and network.activation == "gelu_erf" and bert.fits(plain)


def heads(there: set[str]) -> set[str]:
    found = {"tokens"} if "generator_predictions.dense.weight" in there else set()
    return found | ({"replaced"} if "discriminator_predictions.dense.weight" in there else set())


def architecture(model: Model) -> str:
    if "replaced" in model.heads:
        return "ElectraForPreTraining"
    return "ElectraForMaskedLM" if "tokens" in model.heads else "ElectraModel"


def part_of(recipe: Recipe, model: Model, part: Part) -> tuple[Recipe, Model]:
    """One of the two networks of a pretrained ELECTRA, with its head, as a model of its own: nothing is copied."""
    network, spec = model.network, of_kind(recipe.network, GeneratorDiscriminatorSpec)
    if not isinstance(network, GeneratorDiscriminator):
        raise TypeError(f"{type(network).__name__} has no generator")
    values = recipe.values()
    alone = spec.alone() if part == "discriminator" else spec.narrow()
    values["network"] = alone.model_dump(mode="json", exclude_none=True)
    if part == "generator":
        values["objective"] = {"kind": "masked", "rate": values["objective"]["rate"]}
    made = loader.from_values(values, f"the {part} of {recipe.name}")
    if part == "discriminator":
        kept = {name: head for name, head in model.heads.items() if name != "tokens"}
        return made, Model(network.discriminator, kept).eval()
    return made, Model(network.generator, {"tokens": model.heads["tokens"]}).eval()


FAMILY = replace(
    bert.FAMILY,
    model_type="electra",
    prefix="electra.",
    fits=fits,
    architecture=architecture,
    names=names,
    config=config,
    settings=settings,
    heads=heads,
    tasks={
        "tag": TaskClass("ElectraForTokenClassification", "classifier"),
        "span": TaskClass("ElectraForQuestionAnswering", "qa_outputs"),
    },
    copies=(("generator_lm_head.weight", "embeddings.word_embeddings.weight"),),
    unread=(),
)
