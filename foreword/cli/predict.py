"""`foreword predict`: label new text with a fine-tuned run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from foreword.basics.files import JsonObject
from foreword.cli.options import Columns, Json


def predict(
    run: Annotated[Path, typer.Argument(help="A fine-tuned run, or a fine-tuned model in Hugging Face layout.")],
    file: Annotated[
        Path,
        typer.Argument(
            help="csv, tsv or jsonl with the columns of training, labels left out; or txt, a text on each line."
        ),
    ],
    task: Annotated[str, typer.Option("--task", help="Which task, of a run that was fine-tuned on several.")] = "",
    columns: Columns = "",
    out: Annotated[Path | None, typer.Option("--out", help="Write the answers to this file, as jsonl.")] = None,
    as_json: Json = False,
) -> None:
    """The answer for each example: a class, a number, the right choice, a stretch of text, tags, or a score."""
    from foreword.cli.preparing import models_there

    models_there(run)
    from foreword.basics.progress import say
    from foreword.transfer.labeller_place import is_labeller
    from foreword.transfer.vector_classifier import is_classifier

    if is_labeller(run):
        import foreword
        from foreword.transfer import labellers

        answered = labellers.answers(
            run, file, lambda folder: foreword.load(folder).embed, columns.split(",") if columns else ()
        )
        show(answered, out, as_json)
        return
    if is_classifier(run):
        from foreword.transfer.first_model import answers

        answered = answers(run, file, columns.split(",") if columns else ())
        show(answered, out, as_json)
        return
    from foreword.transfer.kinds.base import prediction_record
    from foreword.transfer.predict import Predictor

    opened = Predictor(run, task)
    examples = opened.examples(file, columns.split(",") if columns else ())
    said = opened.predict(examples)
    if cut := opened.encoder.truncation_note():
        say(f"{file}: {cut}")
    rows = [
        {name: value for name, value in prediction_record(example, answer).items() if name != "label"}
        for example, answer in zip(examples, said.answers)
    ]
    show(rows, out, as_json)


def show(rows: list[JsonObject], out: Path | None, as_json: bool) -> None:
    """Each answer on a line, or all in a file."""
    from foreword.basics.files import write_json_lines
    from foreword.basics.progress import say

    if out is not None:
        write_json_lines(out, rows)
        say(f"{len(rows):,} answers in {out}")
        return
    for row in rows:
        answer = row["answer"]
        shown = " ".join(answer) if isinstance(answer, tuple) else answer
        print(json.dumps(row, ensure_ascii=False) if as_json else f"{row['id']}\t{shown}")
