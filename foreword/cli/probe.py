"""`foreword probe`: does a labelled set of pairs give its labels away?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from foreword.cli.options import Json


def probe(
    task: Annotated[str, typer.Argument(help="A task of pairs: one that is known, hf:NAME, a task file, a csv, tsv or jsonl.")],
    on: Annotated[list[str] | None, typer.Option("--on", help="Also test here what was learned. May be repeated.")] = None,
    side: Annotated[Literal["first", "second"], typer.Option(help="The only text that the blind classifier sees.")] = "second",
    top: Annotated[int, typer.Option(min=1, help="So many words for each label.")] = 10,
    smoothing: Annotated[float, typer.Option(min=0, help="Added to every count before PMI; smaller for small sets.")] = 100.0,
    data: Annotated[Path | None, typer.Option("--data", help="The folder of the tasks' data.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Also write probe.json and cues.svg into this folder.")] = None,
    as_json: Json = False,
) -> None:
    """Guess labels from one text of each pair, find the words that go with a label, and try other sets.

    A clean set cannot be guessed from one text. Words are counted in train; figures are of test; dev chooses.
    """
    from foreword.compare import artefacts as probes
    from foreword.compare import artefacts_report as probed
    from foreword.compare import cross_dataset as crossing
    from foreword.tasks.labelled_task import load
    from foreword.transfer.baselines import words

    learned = load(task, data)
    others = [load(other, data) for other in on or []]
    for other in others:
        crossing.meanings(crossing.Known(learned.name, (learned.kind,), learned.labels), other)          # before any work
    found = probes.blind(learned, side)
    both = words(learned, name="both texts")
    who = crossing.of_baseline(learned, both)
    crossed = [crossing.cross(who, other) for other in (learned, *others)] if others else []
    result = probed.Probe(
        learned, found, both, probes.cues(learned.train, learned.labels, side, smoothing, top),
        probes.lengths(learned.train, learned.labels, side), crossed)
    if out:
        probed.save(result, out)
    if as_json:
        print(json.dumps(probed.values(result), ensure_ascii=False))
        return
    for line in probed.table(result):
        print(line)
