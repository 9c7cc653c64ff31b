"""`foreword reproduce`: the same run again, and whether it came out the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foreword.cli.options import Device, Json


def reproduce(
    run: Annotated[Path, typer.Argument(help="A finished run that was trained on text.")],
    out: Annotated[Path | None, typer.Option("--out", help="Where it is trained again. [default: RUN-again]")] = None,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Train a run again from its passport, and say what differs if it is not bit for bit the same.

    A run with a budget of wall clock gets the steps it took; the reasons why it may differ are said before it starts.
    """
    from foreword.cli.preparing import models_there

    models_there(run)
    from foreword.compare.reproduce import reproduce as repeat
    from foreword.training.hardware import Hardware

    found = repeat(run, out or run.with_name(f"{run.name}-again"), Hardware.choose(device, compile="off"))
    found.show(as_json)
