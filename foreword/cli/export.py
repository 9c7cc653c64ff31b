"""`foreword export`: a run -> a folder or file that other programs open."""

from __future__ import annotations

from pathlib import Path
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
            "word2vec-text or glove (vectors); npz or hdf5 (vectors of --texts, every layer).",
        ),
    ] = "hf",
    texts: Annotated[
        Path | None, typer.Option("--texts", help="For npz and hdf5: a file with a text on each line.")
    ] = None,
) -> None:
    """Write a model, or what it says of texts, for other programs."""
    from foreword.cli.preparing import models_there

    models_there(model)
    from foreword.transfer import feature_file

    if to in feature_file.FORMS:
        from foreword import load

        lines = feature_file.lines_of(texts, to)
        print(feature_file.write(out, to, lines, load(model).layers(lines)))
        return
    from foreword.runs.moving import export_model

    print(export_model(model, to, out))
