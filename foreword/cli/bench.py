"""`foreword bench`: how fast this machine trains, generates, encodes and counts, beside its limits and other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from foreword.cli.options import Json

WHAT = ("train", "generate", "tokens", "counts")


def bench(
    what: Annotated[str, typer.Argument(help=f"What to measure: {', '.join(WHAT)}.")],
    shapes: Annotated[list[str] | None, typer.Option(
        "--shape", help="train, generate: tiny, char, 10m, 10m-50k, 124m or bert. May be repeated.")] = None,
    every: Annotated[bool, typer.Option("--all", help="train: every shape; char and 10m if not said.")] = False,
    rounds: Annotated[int | None, typer.Option(help="How often each candidate's turn comes.", min=1)] = None,
    batch: Annotated[list[int] | None, typer.Option(
        help="generate: texts at once; 1, 8 and 32 if not said. May be repeated.", min=1)] = None,
    data: Annotated[list[Path] | None, typer.Option(
        "--data", help="tokens, counts: your own text; what is on any machine if not said.")] = None,
    megabytes: Annotated[float | None, typer.Option(help="tokens, counts: how much text; 80 and 10 if not said.")] = None,
    plain: Annotated[bool, typer.Option("--no-compile", help="train: leave out what has to be compiled first.")] = False,
    as_json: Json = False,
) -> None:
    """Measure this machine's limits and our share of them, side by side with other programs that are installed."""
    from foreword.basics.messages import Fault, did_you_mean

    if what not in WHAT:
        raise Fault(f"{what!r} cannot be measured.{did_you_mean(what, WHAT)}", f"What can: {', '.join(WHAT)}.")
    given: dict[str, Any] = {"rounds": rounds} if rounds else {}
    if what == "train":
        from foreword.bench import train as measured
        from foreword.bench.shapes import ALL, QUICK
        found = measured.measure(shapes or (ALL if every else QUICK), compiled=not plain, **given)
        said = measured.lines(found)
    elif what == "generate":
        from foreword.bench import generate
        if shapes and len(shapes) > 1:
            raise Fault("generate measures one shape at a time.")
        found = generate.measure(shapes[0] if shapes else "124m", batch or (1, 8, 32), **given)
        said = generate.lines(found)
    else:
        from foreword.bench import counts, tokens
        given |= {"megabytes": megabytes} if megabytes else {}
        module: Any = tokens if what == "tokens" else counts
        found = module.measure(data=data or (), **given)
        said = module.lines(found)
    if as_json:
        print(json.dumps(found))
        return
    for line in said:
        print(line)
