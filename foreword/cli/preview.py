"""`foreword preview`: what exactly is hidden, packed and paired, before anything is trained."""

from __future__ import annotations

from typing import Annotated

import typer

from foreword.cli.options import Set, Size, Sources


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
    from foreword.assembly.build import check_tokenizer
    from foreword.batches.mixture import open_data
    from foreword.runs.preview import look

    store = open_data(data_for(chosen, data), "train")
    check_tokenizer(chosen, store.tokenizer, str(store.folder))
    for line in look(chosen, store, rows, step):
        print(line)
