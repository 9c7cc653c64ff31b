"""`foreword average`: the mean of the last saved steps of a run, or of several models -> a run."""

from __future__ import annotations

from typing import Annotated

import typer

from foreword.cli.options import Out


def average(
    models: Annotated[list[str], typer.Argument(help="A run; or several saved steps (runs/NAME@STEP) or models.")],
    out: Out,
    last: Annotated[
        int | None, typer.Option(min=1, help="How many of a run's last saved steps. [default: 5]", show_default=False)
    ] = None,
) -> None:
    """Average weights: of the last saved steps of one run, or of all models given. The result opens like any run."""
    from foreword.basics.messages import Fault
    from foreword.cli.preparing import models_there

    models_there(*models)
    from foreword.runs.averaging import average as averaged
    from foreword.runs.averaging import last_steps
    from foreword.runs.place import model_place

    if len(models) == 1 and model_place(models[0]).step is None:
        models = last_steps(models[0], last or 5)
    elif last:
        raise Fault("--last is for one run without a step.", "Leave it out: the models given are averaged.")
    print(f"{averaged(models, out).path}: the mean of {', '.join(models)}")
