"""`foreword marks`: words, phrases and entities noted in a store, so that they can be hidden as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreword.cli.options import WorkerCount

if TYPE_CHECKING:
    from foreword.tokens.units import UnitsSpec

Words = Annotated[
    str, typer.Option(help="How words are found: plain, jieba, spaces (segmented text), a class; auto: by the text.")
]
Phrases = Annotated[
    float | None, typer.Option(help="Neighbours with at least this normalised PMI are a phrase (0.5 is usual).")
]
Entities = Annotated[
    list[str] | None,
    typer.Option(help="Where entities come from: jieba, capitals, spans (of the documents), a file of names; or auto."),
]

Capitals = Annotated[bool, typer.Option("--capitals", help="Note the words that begin with a capital too.")]


def marks(
    store: Annotated[Path, typer.Argument(help="A token store.")],
    words: Words = "auto",
    phrases: Phrases = None,
    entities: Entities = None,
    capitals: Capitals = False,
    workers: WorkerCount = None,
) -> None:
    """Note in a store where words, phrases and entities begin. Its text is read again; its ids stay what they are."""
    from foreword.basics.shards import Workers
    from foreword.tokens.add_marks import add_units
    from foreword.tokens.units import Units

    add_units(store, units_for(words, phrases, entities, capitals), Workers(workers))
    print(f"{store}: {Units.load(store)}")


def units_for(words: str, phrases: float | None, entities: list[str] | None, capitals: bool) -> UnitsSpec:
    from foreword.tokens.units import UnitsSpec

    return UnitsSpec(words=words, phrases=phrases, entities=entities or [], capitals=capitals)
