"""`foreword check`: is this recipe right? All faults at once, each with its line."""

from __future__ import annotations

from typing import Annotated

import typer

from foreword.cli.options import Set, Size


def check(
    recipe: Annotated[list[str], typer.Argument(help="Recipe files or names.")],
    size: Size = "",
    settings: Set = None,
) -> int | None:
    """Check recipes without training them."""
    from foreword.assembly.without_torch import resolved
    from foreword.basics.messages import Fault, Faults

    faults = []
    for name in recipe:
        try:
            values, _ = resolved(name, size, settings or [])
            print(f"{name}: right ({values['name']}).")
        except Fault as fault:
            faults.append(fault)
    if faults:
        raise Faults(faults)
    return 0
