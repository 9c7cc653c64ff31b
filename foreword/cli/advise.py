"""`foreword advise`: which model serves this text and these labels, within a budget."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foreword.cli.options import Columns, Json, TaskData

Purpose = Annotated[
    str, typer.Option("--for", help="classify, tag, write, fill or embed. [default: as the labels say; write without]")
]
Start = Annotated[
    list[Path] | None, typer.Option("--start", help="A run or Hugging Face folder to try too. May be repeated.")
]


def advise(
    text: Annotated[Path, typer.Argument(help="Text of the kind the model is for: a file or a folder.")],
    labels: Annotated[
        str, typer.Option("--labels", help="Labelled examples: a csv, tsv or jsonl, or a known task.")
    ] = "",
    budget: Annotated[str, typer.Option(help="Wall clock for all of it: 90s, 20m, 2h.")] = "20m",
    start: Start = None,
    purpose: Purpose = "",
    test: Annotated[Path | None, typer.Option("--test", help="Examples scored once. [default: a tenth]")] = None,
    kind: Annotated[str, typer.Option(help="What the columns of the labels are for. [default: guessed]")] = "",
    columns: Columns = "",
    data: TaskData = None,
    out: Annotated[Path | None, typer.Option("--out", help="The folder. [default: runs/advice-NAME]")] = None,
    as_json: Json = False,
) -> None:
    """Find the model that serves you: candidates race within the budget, judged within the training labels.

    Simple ones first; those that cannot win any more are left out; test is looked at once, at the end. The page says what
    won, what more labels or minutes would buy, and which labels may be wrong; the winner is kept for `foreword predict`.
    Without labels, language models are ranked in bits per byte. The same command goes on where it was stopped; a larger
    --budget goes on further.
    """
    from foreword.basics.budget import Budget
    from foreword.basics.messages import Fault, did_you_mean
    from foreword.cli.preparing import models_there

    purposes = ("classify", "tag", "write", "fill", "embed")
    if purpose and purpose not in purposes:
        raise Fault(f"--for {purpose}: it can be {', '.join(purposes)}.{did_you_mean(purpose, purposes)}")
    given = Budget.parse(budget)
    if given.unit != "seconds":
        raise Fault(f"--budget {budget}: advice takes wall clock.", "Say 90s, 20m or 2h.")
    if not text.exists():
        raise Fault(f"{text} is not there.", "Give a file or folder of text.")
    for one in start or []:
        models_there(one)
    folder = out or Path("runs") / f"advice-{Path(labels).stem if labels else text.resolve().stem}"
    if labels:
        from foreword.compare.advise import advice, page
        from foreword.tasks import user_files
        from foreword.tasks.labelled_task import load

        task = load(labels, data, kind, None, test, columns.split(",") if columns else ())
        fits(purpose, task.kind, labels)
        file = Path(labels)
        rows = user_files.rows_of(file, columns.split(",") if columns else ()) if file.is_file() else ()
        wish = advice.AdviceRequest(text, labels, folder, given.amount, tuple(start or ()), budget, rows)
        found = page.report(advice.advise(wish, task))
    else:
        from foreword.compare.advise import without_labels

        found = without_labels.advise(text, folder, given.amount, purpose or "write", tuple(start or ()))
    found.save(folder, "advice.json")
    found.show(as_json)
    if not as_json:
        print(folder)


def fits(purpose: str, kind: str, labels: str) -> None:
    from foreword.basics.messages import Fault

    able = {"classify": ("classify", "pair", "choice"), "tag": ("tag",)}
    if purpose and kind not in able.get(purpose, (kind,)):
        raise Fault(f"--for {purpose}: {labels} is {kind}.", "Leave it out, or give other labels.")
    if purpose in ("write", "fill"):
        raise Fault(f"--for {purpose} is judged on text alone.", "Leave out --labels.")
