"""`foreword preview`: what exactly is hidden, packed and paired, before anything is trained."""

from __future__ import annotations

import os
import re
import sys
from typing import Annotated

import typer

from foreword.cli.options import Set, Size, Sources

GUESSED = re.compile(r"\{(\S+?)(?: -> (\S+))?\}")  # as objectives write it: {token}, {token -> what is shown}
MASKS = ("[MASK]", "<mask>")


def preview(
    recipe: Annotated[str, typer.Argument(help="A recipe's name or file.")],
    data: Sources,
    rows: Annotated[int, typer.Option(min=0, help="How many rows to show.")] = 3,
    step: Annotated[int, typer.Option(min=0, help="Which batch.")] = 0,
    size: Size = "",
    settings: Set = None,
) -> None:
    """Show the rows a network would see, and what it would have to guess."""
    from foreword.cli.preparing import data_for, recipe_for

    chosen = recipe_for(recipe, size, settings)  # first: a mistyped name need not wait for the rest to be imported
    from foreword.assembly.build import check_marks, check_tokenizer
    from foreword.batches.mixture import open_data, stores_of
    from foreword.runs.preview import look

    store = open_data(data_for(chosen, data), "train")
    check_tokenizer(chosen, store.tokenizer, str(store.folder))
    check_marks(chosen, stores_of(store))
    for line in look(chosen, store, rows, step):
        print(coloured(line) if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else line)


def coloured(line: str) -> str:
    """What is to be guessed, for a terminal: hidden in red, shown as another token in yellow, shown as it is in green."""

    def paint(found: re.Match[str]) -> str:
        shown = found.group(2)
        return f"\033[{32 if shown is None else 31 if shown in MASKS else 33}m{found.group()}\033[0m"

    return GUESSED.sub(paint, line)
