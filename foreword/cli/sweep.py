"""`foreword sweep`: a recipe with several values and seeds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from foreword.cli.options import Column, Documents, Json, Set, Size


def sweep(
    recipe: Annotated[str, typer.Argument(help="A recipe's name or file.")],
    data: Annotated[Path, typer.Option("--data", help="A store, or text (a store is then made of it first).")],
    vary: Annotated[list[str] | None, typer.Option(
        "--vary", help="Values to try: section.key=value,value,... May be repeated; all combinations run.")] = None,
    seeds: Annotated[int, typer.Option(help="How many seeds for each combination.")] = 1,
    out: Annotated[Path | None, typer.Option("--out", help="Where the runs go; runs/NAME-sweep if not said.")] = None,
    size: Size = "",
    budget: Annotated[str | None, typer.Option(help="Of each run: steps, tokens, epochs or wall clock.")] = None,
    settings: Set = None,
    at_once: Annotated[int | None, typer.Option(help="Runs at a time; measured if not said.")] = None,
    documents: Documents = "auto",
    column: Column = "text",
    as_json: Json = False,
) -> None:
    """Train every combination of some settings and seeds, and say which served best on validation text."""
    from foreword.cli.preparing import settings_with, store_for
    from foreword.compare.sweep import members
    from foreword.compare.sweep import sweep as run

    given = settings_with(settings, budget)
    every = members(recipe, size, given, vary or [], seeds)
    first = every[0].recipe
    name = f"{first.name}-{size}-sweep" if size else f"{first.name}-sweep"
    found = run(every, store_for(first, data, documents, column), out or Path("runs") / name, at_once)
    if as_json:
        print(json.dumps(found))
        return
    for one in found:
        spread = f" ± {one['spread']:.4f}" if len(one["seeds"]) > 1 else ""
        print(f"{one['valid']:.4f}{spread} nats per guess   {'  '.join(one['settings']) or 'as it is'}")
