"""`foreword cloze`: hidden tokens, or entities hidden as a whole, guessed by models that fill gaps."""

from __future__ import annotations

from typing import Annotated

import typer

from foreword.cli.options import Column, Documents, HeldOutData, Json, Limit, Split


def cloze(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL... [FILE]...",
            help='Runs or model folders; files of entities: jsonl, {"text": ..., "entities": [[first, past the last]]}.',
        ),
    ],
    hidden: Annotated[
        float, typer.Option(min=0.01, max=0.9, help="The share of tokens to hide, the same from every model.")
    ] = 0.15,
    data: HeldOutData = None,
    split: Split = "",
    limit: Limit = None,
    documents: Documents = "auto",
    column: Column = "text",
    as_json: Json = False,
) -> None:
    """Hide tokens of held-out text, or the entities of files, and let models guess them: nats per hidden token, or accuracy."""
    from foreword.cli.preparing import models_and_files

    models, files = models_and_files(words)
    from foreword.evaluate import entity_cloze, hidden_tokens
    from foreword.evaluate.held_out import Corpus
    from foreword.model import load

    opened = {path: load(path) for path in models}
    for one in opened.values():
        one.need("fill")
    if files:
        entity_cloze.report(opened, files).show(as_json)
        return
    corpus = Corpus.find(data, models, split, documents, column, limit)
    hidden_tokens.report(opened, corpus, hidden).show(as_json)
