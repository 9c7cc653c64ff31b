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
MaybeSources = Annotated[list[str] | None, Sources.__metadata__[0]]
Models = Annotated[list[str], typer.Argument(help="Runs or model folders.")]
HeldOutData = Annotated[
    Path | None, typer.Option("--data", help="A store or text. [default: the first run's own store]")
]
Split = Annotated[str, typer.Option(help="train, valid or test of a store; all, of text.")]
Limit = Annotated[int | None, typer.Option(help="At most this many bytes of text.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, for programs.")]
Documents = Annotated[str, typer.Option(help="How files become documents: auto, file, paragraph, line or dialogues.")]
Column = Annotated[str, typer.Option(help="The column or key that holds the text, in jsonl, csv and parquet.")]
Out = Annotated[Path, typer.Option("--out", help="Where the result goes.")]
Budget = Annotated[
    str | None,
    typer.Option(help="Steps (500), tokens (2Mtok), epochs (3epochs), wall clock (10m) or work of cores (10core-m)."),
]
Precision = Annotated[str, typer.Option(help="auto, float32, bfloat16 or float16: in what the network multiplies.")]
TaskData = Annotated[Path | None, typer.Option("--data", help="The folder of a known task's data.")]
Columns = Annotated[str, typer.Option(help="Names of the columns, as label,text, if a csv or tsv has no first line.")]
Device = Annotated[str, typer.Option(help="auto (the fastest there is), cpu, cuda or mps.")]
WorkerCount = Annotated[
    int | None, typer.Option("--workers", help="Processes. [default: one to a core, or all of the cluster]")
]
Cluster = Annotated[
    str,
    typer.Option(
        help="Work on a Ray cluster: auto starts one on this machine, ray://HEAD:10001 or HEAD:6379 joins one."
    ),
]
Processes = Annotated[
    str,
    typer.Option(help="Processes that train one model together on this machine. auto: train takes several if faster."),
]
Shard = Annotated[
    bool,
    typer.Option("--shard", help="Share the weights out among the processes (FSDP), for models too large for one."),
]
