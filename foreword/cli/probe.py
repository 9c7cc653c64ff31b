"""`foreword probe`: does a labelled set of pairs give its labels away?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from foreword.cli.options import Json, TaskData


def probe(
    task: Annotated[
        str, typer.Argument(help="A task of pairs: one that is known, hf:NAME, a task file, a csv, tsv or jsonl.")
    ],
    on: Annotated[
        list[str] | None, typer.Option("--on", help="Also test here what was learned. May be repeated.")
    ] = None,
    side: Annotated[
        Literal["first", "second"], typer.Option(help="The only text that the blind classifier sees.")
    ] = "second",
    top: Annotated[int, typer.Option(min=1, help="So many words for each label.")] = 10,
    smoothing: Annotated[
        float, typer.Option(min=0, help="Added to every count before PMI; smaller for small sets.")
    ] = 100.0,
    data: TaskData = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Also write report.html, probe.json and cues.svg into this folder.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Guess labels from one text of each pair, find the words that go with a label, and try other sets.

    A clean set cannot be guessed from one text. Words are counted in train; figures are of test; dev chooses.
    """
    from foreword.basics.files import write_text
    from foreword.tasks.labelled_task import load

    learned = load(task, data)
    others = [load(other, data) for other in on or []]
    from foreword.compare import artefacts, cross_dataset
    from foreword.transfer.baselines import words

    for other in others:
        cross_dataset.meanings(cross_dataset.ScoredModel(learned.name, (learned.kind,), learned.labels), other)
    found = artefacts.blind(learned, side)
    both = words(learned, name="both texts")
    who = cross_dataset.of_baseline(learned, both)
    crossed = [cross_dataset.cross(who, other) for other in (learned, *others)] if others else []
    result = artefacts.Probe(
        learned,
        found,
        both,
        artefacts.cues(learned.train, learned.labels, side, smoothing, top),
        artefacts.lengths(learned.train, learned.labels, side),
        crossed,
    )
    report = artefacts.report(result)
    if out:
        report.save(out, "probe.json")
        write_text(out / "cues.svg", artefacts.cue_plot(result).svg())
    report.show(as_json)
