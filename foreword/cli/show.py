"""`foreword show`: a recipe as it resolves, each value with the file it came from."""

from __future__ import annotations

from typing import Annotated

import typer

from foreword.cli.options import Json, Set, Size


def show(
    recipe: Annotated[str, typer.Argument(help="A recipe's name or file, or a run.")],
    size: Size = "",
    settings: Set = None,
    as_json: Json = False,
) -> None:
    """Print a recipe with everything it inherits, and where each value was written."""
    import json

    from foreword.assembly.without_torch import resolved
    from foreword.basics import toml

    values, source = resolved(recipe, size, settings or [])
    if as_json:
        print(json.dumps(values))
        return
    section: tuple[str, ...] = ()
    for line in toml.write(values).rstrip().split("\n"):
        name = line.split(" = ")[0]
        if line.startswith("["):
            section = tuple(line.strip("[]").split("."))
        elif " = " in line:
            line = f"{line:<56}  # {source.places.get((*section, name), 'default')}"
        print(line)
