"""`foreword corpus overlap`: how much of tasks, or of any text, stands word for word in a training text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreword.cli.options import Column, Documents, Json, TaskData

if TYPE_CHECKING:
    from foreword.evaluate.contamination import TrainingText
    from foreword.report import Report
    from foreword.text.overlap import Overlap


def overlap(
    training: Annotated[Path, typer.Argument(help="The training text: a store, or text.")],
    tasks: Annotated[list[str], typer.Argument(help="Tasks, task files, or text whose documents are the examples.")],
    data: TaskData = None,
    rate: Annotated[
        float, typer.Option(help="How often, at most, new words in a row may be taken for known ones.")
    ] = 1e-8,
    limit: Annotated[int | None, typer.Option(help="At most this many examples of each.")] = None,
    show: Annotated[int, typer.Option(min=0, help="Print this many of the longest passages found, for each task.")] = 0,
    documents: Documents = "auto",
    column: Column = "text",
    as_json: Json = False,
) -> None:
    """Find test text in training text: the share of known 8-grams (GPT-2) and dirty examples (GPT-3)."""
    from itertools import islice

    from foreword.evaluate.contamination import TrainingText, overlap_with, texts_of
    from foreword.tasks.task import is_task, load
    from foreword.text import reading
    from foreword.text.overlap import passages

    examples: dict[str, list[str]] = {}
    for word in tasks:
        if is_task(word):
            examples |= {task.name: texts_of(task, limit) for task in load(word, data)}
        else:
            examples[word] = [one.text for one in islice(reading.documents([Path(word)], documents, column), limit)]
    read = TrainingText((training,), documents, column)
    found = {name: overlap_with(read, some, rate) for name, some in examples.items()}
    longest = {}
    for name, some in examples.items() if show else ():
        seen = read.seen([found[name].size], rate)[found[name].size]
        dirty = [example for example, one in zip(some, found[name].dirty) if one]
        longest[name] = sorted((one for example in dirty for one in passages(example, seen)), key=len, reverse=True)[
            :show
        ]
    report(read, rate, found, longest).show(as_json)


def report(read: TrainingText, rate: float, found: dict[str, Overlap], longest: dict[str, list[str]]) -> Report:
    from foreword.report import Report, Section, Table, Text

    rows = [
        {
            "task": name,
            "examples": f"{len(one.dirty):,}",
            "8-grams": f"{one.runs:,}",
            "known": f"{one.known:,}",
            "share": f"{one.share:.2%}",
            "words in a row": str(one.size),
            "dirty": f"{sum(one.dirty):,} ({sum(one.dirty) / len(one.dirty):.1%})",
            "clean": f"{len(one.dirty) - sum(one.dirty):,}",
            "too short": f"{one.short:,}",
        }
        for name, one in found.items()
    ]
    notes = [
        f"words in a row that are new are taken for known with a probability of {rate:g}; never the other way round"
    ]
    if not read.lossless:
        notes.append(f"{read.name} was made with a tokenizer that drops words: what it dropped cannot be found")
    notes += [f"{name}: {passage}" for name, some in longest.items() for passage in some]
    values = {
        name: {"examples": len(one.dirty), "dirty": sum(one.dirty), "passages": longest.get(name, [])}
        | {field: getattr(one, field) for field in ("size", "short", "runs", "known", "share")}
        for name, one in found.items()
    }
    return Report(
        "Overlap",
        [],
        [Section(f"Overlap with {read.name}", Table.of(rows), Text(notes))],
        {"training": read.name, "rate": rate, "tasks": values},
    )
