"""Starts of a study that are trained first, each on the same text, none with a label (Dai & Le 2015)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator

from foreword.assembly import loader
from foreword.basics.files import JsonObject, write_text
from foreword.basics.progress import say
from foreword.basics.seeds import number_of
from foreword.basics.spec import Spec
from foreword.runs.train import train
from foreword.tasks.labelled_task import LabelledTask
from foreword.tokens.build import build_store
from foreword.training.hardware import Hardware


class Start(Spec):
    """A recipe (with its size: lstm:laptop) that learns from text, with settings and a budget of its own."""

    recipe: str
    budget: Annotated[str, BeforeValidator(str)] = ""
    set: JsonObject = {}


def trained_starts(
    starts: Mapping[str, tuple[str, list[str]]], task: LabelledTask, text: str, out: Path, hardware: Hardware | None
) -> dict[str, Path]:
    """Each start (recipe, settings) in a folder of its own; those that are there already are left alone.

    `text`: a file or folder; without it, the training texts of the task, a text on each line.
    """
    source = Path(text) if text else out / "starts" / "text.txt"
    if not text and not source.is_file():
        lines = dict.fromkeys(" ".join(part.split()) for example in task.train for part in example.texts)
        write_text(source, "\n".join(lines) + "\n")
        say(
            f"{source}: {len(lines):,} training texts of {task.name}, without their labels, for the starts to learn from"
        )
    found = {}
    for name, (word, settings) in starts.items():
        recipe_name, _, size = word.partition(":")
        recipe = loader.load(recipe_name, size, settings)
        tokens = recipe.tokenizer.model_dump(mode="json")
        store = out / "starts" / f"store-{recipe.tokenizer.kind}-{number_of(repr(tokens)) % 10**6}"
        build_store([source], store, recipe.tokenizer, documents="auto" if text else "line", marks=recipe.batches.marks)
        found[name] = out / "starts" / name
        train(recipe, store, found[name], hardware=hardware)
    return found
