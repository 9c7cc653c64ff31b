"""`foreword diff`: what one recipe changes about another."""

from __future__ import annotations

from typing import Annotated

import typer

from foreword.cli.options import Size


def diff(
    one: Annotated[str, typer.Argument(help="A recipe's name or file, or a run.")],
    other: Annotated[str, typer.Argument(help="Another.")],
    size: Size = "",
) -> None:
    """Print the settings in which two recipes differ."""
    from foreword.cli.preparing import recipe_for
    from foreword.runs.folder import difference

    found = difference(recipe_for(one, size, None).values(), recipe_for(other, size, None).values())
    for line in found or ["no difference."]:
        print(line)
