"""`foreword export`: a run -> a folder or file that other programs open."""

from __future__ import annotations

from typing import Annotated

import typer

from foreword.cli.options import Out


def export(
    model: Annotated[str, typer.Argument(help="A run or a model folder.")],
    out: Out,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="hf (a folder for transformers), hf-generator (that of electra), arpa (counts); word2vec, "
            "word2vec-text or glove (vectors).",
        ),
    ] = "hf",
) -> None:
    """Write a model for other programs."""
    from foreword.cli.preparing import models_there

    models_there(model)
    from foreword.runs.moving import send_out

    print(send_out(model, to, out))
