"""`foreword dialogue`: replies to prompts that people answered, and whether a backward model helps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from foreword.cli.options import Column, Json
from foreword.cli.preparing import models_there


def dialogue(
    models: Annotated[list[str], typer.Argument(help="Runs or model folders.")],
    data: Annotated[Path, typer.Option("--data", help="Dialogues: text, jsonl or a store.")],
    mmi: Annotated[
        str | None, typer.Option("--mmi", help="A backward model: does choosing replies by it help?")
    ] = None,
    prompts: Annotated[int, typer.Option(help="How many prompts are answered.")] = 200,
    seed: Annotated[int, typer.Option(help="Of the prompts and the replies.")] = 0,
    split: Annotated[str, typer.Option(help="train, valid or test of a store.")] = "",
    column: Column = "text",
    precision: Annotated[str, typer.Option(help="float32 or int8.")] = "float32",
    examples: Annotated[
        Path | None, typer.Option("--examples", help="Write every prompt and reply here, as jsonl.")
    ] = None,
    as_json: Json = False,
) -> None:
    """How good replies are: BLEU and NIST beside a person's, how different from each other, and how many are dull."""
    models_there(*models, mmi)
    from foreword.basics.files import write_json_lines
    from foreword.basics.messages import Fault
    from foreword.basics.progress import ticking
    from foreword.evaluate.dialogue import dialogue_report

    if not data.exists():
        raise Fault(f"{data} is not there.", "Give dialogues:  --data DIALOGUES (text, jsonl or a store)")
    found = {}
    for model in models:
        with ticking(model) as ticker:
            found[model] = dialogue_report(
                model,
                data,
                mmi,
                prompts,
                seed=seed,
                split=split,
                column=column,
                precision=precision,
                tell=ticker.update,
            )
    if examples is not None:
        rows = [row for report in found.values() for row in report.rows()]
        write_json_lines(examples, rows)
    if as_json:
        print(json.dumps({model: report.values() for model, report in found.items()}, ensure_ascii=False))
        return
    for report in found.values():
        report.report().show()
