"""`foreword recl`: how far back models still gain (relative effective context length)."""

from __future__ import annotations

from typing import Annotated

import typer

from foreword.cli.options import Column, Documents, HeldOutData, Json, Limit, Models, Split


def recl(
    models: Models,
    context: Annotated[int, typer.Option(help="Tokens up to which they are given more and more context.")] = 512,
    data: HeldOutData = None,
    split: Split = "",
    limit: Limit = None,
    documents: Documents = "auto",
    column: Column = "text",
    as_json: Json = False,
) -> None:
    """How far back each model of a group still gains (RECL, Dai et al. 2019). Only within the group do lengths compare."""
    from foreword.cli.preparing import models_there

    models_there(*models)
    from foreword.evaluate import recl
    from foreword.evaluate.held_out import Corpus
    from foreword.model import load

    opened = {path: load(path) for path in models}
    ids = recl.ids_of(opened, Corpus.find(data, models, split, documents, column, limit), context)
    recl.report({path: one.language_model for path, one in opened.items()}, ids, context).show(as_json)
