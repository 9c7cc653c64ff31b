"""`foreword test`: fine-tuned runs scored on labelled data, their own and others of the same kind."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foreword.cli.options import Json, TaskData

RunsAndData = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN... DATA...",
        help="Fine-tuned runs; tasks of the kind they learned, or csv, tsv or jsonl files.",
    ),
]
Hard = Annotated[
    bool,
    typer.Option("--hard", help="Pairs: also where the second text alone gives the answer away (easy), and where not."),
]
ReportFolder = Annotated[
    Path | None,
    typer.Option("--out", help="Also write report.html, crossed.json and a matrix, crossed.svg, into this folder."),
]


def score_runs(
    words: RunsAndData,
    data: TaskData = None,
    hard: Hard = False,
    limit: Annotated[int | None, typer.Option(help="At most this many examples of each.")] = None,
    examples: Annotated[
        Path | None, typer.Option("--examples", help="Write every label and prediction here, as jsonl.")
    ] = None,
    out: ReportFolder = None,
    as_json: Json = False,
) -> None:
    """Score fine-tuned runs on their own test set and on other data sets, and say how much is lost on the way.

    Labels are joined where one set's are coarser (entailment, and not). A file that was not trained on is scored whole.
    """
    from foreword.basics.messages import Fault

    runs, sets = sort_words(words)
    if limit is not None and limit < 1:
        raise Fault(f"--limit {limit}: give at least 1.")
    from foreword.basics.files import write_json, write_text
    from foreword.basics.progress import say, ticking
    from foreword.compare import artefacts, cross_dataset
    from foreword.tasks.labelled_task import load

    tasks = [load(word, data) for word in sets]
    pairs = [
        pair for path in runs for pair in cross_dataset.matching(cross_dataset.of_run(path), tasks)
    ]  # before any work
    found = []
    with ticking("test") as ticker:
        for place, (who, other) in enumerate(pairs):
            ticker.update(place / len(pairs), f"{who.name}  {other.name}")
            found.append(cross_dataset.cross(who, other, limit))
            if hard:
                found += artefacts.halves(found[-1], other)
    for name, cut in dict.fromkeys((one.name, one.cut()) for one, _ in pairs):
        if cut:
            say(f"{name}: {cut}")
    if examples is not None:
        cross_dataset.write_examples(found, examples)
    report = cross_dataset.report(found, tasks)
    if out is not None:
        report.save(out)
        write_json(out / "crossed.json", cross_dataset.values(found))
        write_text(out / "crossed.svg", cross_dataset.matrix(found).svg())
    report.show(as_json)


def sort_words(given: list[str]) -> tuple[list[Path], list[str]]:
    """(fine-tuned runs, the data sets to score them on)"""
    from foreword.basics.messages import Fault

    folders, sets = (
        [Path(word) for word in given if Path(word).is_dir()],
        [word for word in given if not Path(word).is_dir()],
    )
    if not folders:
        raise Fault(
            f"there is no fine-tuned run among {', '.join(given)}.", "Fine-tune one:  foreword finetune MODEL TASK"
        )
    from foreword.transfer.predict import is_tuned

    if plain := [path for path in folders if not is_tuned(path)]:
        raise Fault(
            f"{', '.join(map(str, plain))} is not fine-tuned.",
            f"Ask a language model without training:  foreword evaluate {plain[0]} {' '.join(sets)}".rstrip(),
        )
    if not sets:
        raise Fault(f"{folders[0]} needs labelled data to be scored on.", f"foreword test {folders[0]} TASK")
    return folders, sets
