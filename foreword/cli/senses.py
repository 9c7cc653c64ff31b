"""`foreword senses`: one word in several sentences, by word vectors and networks side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foreword.cli.options import Json, Models


def senses(
    word: Annotated[str, typer.Argument(help="A word that all sentences have.")],
    models: Models,
    data: Annotated[Path, typer.Option("--data", help="The sentences, one to a line.")],
    as_json: Json = False,
) -> None:
    """How alike the vectors of a word are in several sentences: a table has one for it, a network that reads them has others."""
    import foreword
    from foreword.basics.messages import Fault
    from foreword.cli.preparing import models_there
    from foreword.vectors.senses import report

    if not data.is_file():
        raise Fault(f"{data} is no file.", "Give sentences that have the word, one to a line:  --data sentences.txt")
    models_there(*(name for name in models if Path(name).is_dir() or not Path(name).exists()))
    sentences = [line.strip() for line in data.read_text(encoding="utf-8").split("\n") if line.strip()]
    report({name: foreword.load(name) for name in models}, word, sentences).show(as_json)
