"""`foreword rank`: candidates ranked by how alike their frozen vectors are to the query's."""

from __future__ import annotations

from typing import Annotated

import typer

from foreword.cli.options import Json


def rank(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL... FILE...",
            help='Runs or model folders; files of candidates: jsonl, {"query": ..., "candidate": ..., "relevance": 1}.',
        ),
    ],
    as_json: Json = False,
) -> None:
    """Rank candidates by frozen vectors, beside the words that they share with the query: MAP, MRR, NDCG. Nothing is learned."""
    from foreword.basics.messages import Fault
    from foreword.cli.preparing import models_and_files

    models, files = models_and_files(words)
    if not files:
        raise Fault(
            "there are no candidates to rank.", f"Give a file of them:  foreword rank {models[0]} candidates.jsonl"
        )
    from foreword.evaluate.ranking import report
    from foreword.model import load

    report({path: load(path) for path in models}, files).show(as_json)
