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
    from foreword.assembly.difference import difference
    from foreword.assembly.without_torch import resolved

    found = difference(resolved(one, size)[0], resolved(other, size)[0])
    for line in found or ["no difference."]:
        print(line)
