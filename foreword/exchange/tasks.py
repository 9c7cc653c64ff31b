"""What their config.json says of a model for labelled tasks, and what ours says more, so that it opens as it was."""

from __future__ import annotations

from typing import Any

from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject
from foreword.exchange.family import Family
from foreword.objectives import LABELLED
from foreword.objectives.regress import Regress
from foreword.tokens.tokenizer import Tokenizer


def config(recipe: Recipe, task: Any, tokenizer: Tokenizer | None) -> JsonObject:
    """Labels, and the padding that classes which read the last token must know."""
    if task is None:
        return {}
    labels = getattr(task, "labels", None) or [f"LABEL_{number}" for number in range(task.outputs)]
    found: JsonObject = {
        "id2label": {str(number): label for number, label in enumerate(labels)},
        "label2id": {label: number for number, label in enumerate(labels)},
        "classifier_dropout": task.dropout,
        "summary_first_dropout": task.dropout,
        "foreword": {"objective": task.model_dump(mode="json"), "batches": recipe.batches.model_dump(mode="json")},
    }
    if task.problem_type:
        found["problem_type"] = task.problem_type
    if tokenizer is not None and tokenizer.has("[pad]"):
        found["pad_token_id"] = tokenizer.special("[pad]")
    return found


def settings(config: JsonObject, family: Family, there: set[str]) -> JsonObject:
    """Sections of the recipe for a folder of one of their task classes; nothing: it is not one, or its head is not there."""
    said = config.get("foreword") or {}
    name = (config.get("architectures") or [""])[0]
    kinds = [ours for ours, task in family.tasks.items() if task.architecture == name]
    if not kinds or not any(tensor.startswith(family.tasks[kinds[0]].out) for tensor in there):
        return {}
    cut = {"kind": "examples"}
    if said.get("objective", {}).get("kind") in kinds:
        return {"objective": said["objective"], "batches": said.get("batches", cut)}
    labels = _labels(config)
    number = len(labels) == 1 or config.get("problem_type") == Regress.problem_type
    ours = "regress" if "regress" in kinds and number else kinds[0]
    objective: JsonObject = {"kind": ours, "reading": "last" if family.generates else family.reading}
    if "labels" in LABELLED.find(ours).model_fields:
        objective["labels"] = labels
    if (dropout := config.get("classifier_dropout")) is not None:
        objective["dropout"] = dropout
    return {"objective": objective, "batches": cut}


def _labels(config: JsonObject) -> list[str]:
    named = config.get("id2label") or {str(number): f"LABEL_{number}" for number in range(config.get("num_labels", 2))}
    return [named[number] for number in sorted(named, key=int)]
