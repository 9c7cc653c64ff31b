"""Options that several verbs share, so that they are spelled and explained once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Set = Annotated[
    list[str] | None, typer.Option("--set", help="Another value for one setting: section.key=value. May be repeated.")
]
Size = Annotated[str, typer.Option("--size", help="One of the recipe's sizes. [default: the published one]")]
Sources = Annotated[
    list[str],
    typer.Option(
        "--data",
        help="A store, or text (a store is then made of it first). Several are mixed: --data web=0.6 --data books=0.4.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, for programs.")]
Documents = Annotated[str, typer.Option(help="How files become documents: auto, file, paragraph, line or dialogues.")]
Column = Annotated[str, typer.Option(help="The column or key that holds the text, in jsonl, csv and parquet.")]
Out = Annotated[Path, typer.Option("--out", help="Where the result goes.")]
Device = Annotated[str, typer.Option(help="auto (the fastest there is), cpu, cuda or mps.")]
