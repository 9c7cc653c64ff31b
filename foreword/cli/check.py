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
    from foreword.basics.messages import Fault, Faults
    from foreword.cli.preparing import recipe_for

    faults = []
    for name in recipe:
        try:
            chosen = recipe_for(name, size, settings)
            print(f"{name}: right ({chosen.name}).")
        except Fault as fault:
            faults.append(fault)
    if faults:
        raise Faults(faults)
    return 0
