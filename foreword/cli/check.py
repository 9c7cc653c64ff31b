"""`foreword check`: is this recipe right, is this store whole? All faults at once, each with its place."""

from __future__ import annotations

from typing import Annotated

import typer

from foreword.cli.options import Set, Size


def check(
    recipe: Annotated[list[str], typer.Argument(help="Recipe files or names, or stores.")],
    size: Size = "",
    settings: Set = None,
) -> int | None:
    """Check recipes without training them, and the checksums of stores."""
    from pathlib import Path

    from foreword.assembly.without_torch import resolved
    from foreword.basics.messages import Fault, Faults

    faults = []
    for name in recipe:
        try:
            if (Path(name) / "store.json").is_file():
                from foreword.tokens.verify import verify_store

                print(f"{name}: whole ({verify_store(Path(name))}).")
                continue
            values, _ = resolved(name, size, settings or [])
            print(f"{name}: right ({values['name']}).")
        except Fault as fault:
            faults.append(fault)
    if faults:
        raise Faults(faults)
    return 0
