"""ERNIE in Hugging Face's names (`ErnieForPreTraining`, `ErnieForMaskedLM`, `ErnieModel`): BERT's, and a table of tasks."""

from __future__ import annotations

from dataclasses import replace

from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject
from foreword.basics.spec import of_kind
from foreword.exchange import bert
from foreword.exchange.family import Name
from foreword.networks.base import Model
from foreword.networks.bidirectional import BidirectionalTransformerSpec
from foreword.tokens.tokenizer import Tokenizer


def names(recipe: Recipe, heads: set[str]) -> list[Name]:
    table = [Name("network.embeddings.tasks.weight", ("embeddings.task_type_embeddings.weight",))]
    network = of_kind(recipe.network, BidirectionalTransformerSpec)
    return bert.names(recipe, heads) + (table if network.tasks else [])


def config(recipe: Recipe, tokenizer: Tokenizer | None) -> JsonObject:
    network = of_kind(recipe.network, BidirectionalTransformerSpec)
    return {
        **bert.config(recipe, tokenizer),
        "model_type": "ernie",
        "use_task_id": True,
        "task_type_vocab_size": network.tasks,
    }


def settings(config: JsonObject, heads: set[str]) -> JsonObject:
    found = bert.settings(config, heads)
    if config.get("use_task_id"):
        found["network"]["tasks"] = config.get("task_type_vocab_size", 3)
    return found


def architecture(model: Model) -> str:
    return bert.architecture(model).replace("Bert", "Ernie")


# without a table of tasks ERNIE is BERT, name for name, and is written as BERT
FAMILY = replace(
    bert.FAMILY,
    model_type="ernie",
    prefix="ernie.",
    fits=lambda recipe: (
        bert.stacked(recipe) and bool(getattr(recipe.network, "tasks", None)) and not recipe.objective.takes_turns
    ),  # they have no heads for its other tasks
    architecture=architecture,
    names=names,
    config=config,
    settings=settings,
    tasks={
        kind: replace(task, architecture=task.architecture.replace("Bert", "Ernie"))
        for kind, task in bert.TASKS.items()
    },
    constants=(*bert.FAMILY.constants, "embeddings.task_type_ids"),
)
