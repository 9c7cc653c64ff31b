"""`foreword evaluate`: what held-out text costs a model, in bits per byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from foreword.cli.options import Column, Documents, Json


def evaluate(
    models: Annotated[list[str], typer.Argument(help="Runs or model folders; the word `bits` may follow them.")],
    data: Annotated[Path | None, typer.Option("--data", help="A store or text; a run's own store if not said.")] = None,
    split: Annotated[str, typer.Option(help="train, valid or test of a store; all, of text.")] = "",
    stride: Annotated[int | None, typer.Option(help="Tokens scored per window; half the context if not said.")] = None,
    limit: Annotated[int | None, typer.Option(help="At most this many bytes of text.")] = None,
    mix: Annotated[bool, typer.Option(
        "--mix", help="Also a mixture of all models given, its weights fitted on validation text.")] = False,
    documents: Documents = "auto",
    column: Column = "text",
    as_json: Json = False,
) -> None:
    """Bits per byte of whole documents: every token scored once, what it could see printed with the number."""
    from foreword.basics.progress import ticking
    from foreword.evaluate.ask import Corpus, ask
    from foreword.evaluate.ask import mix as mixture
    from foreword.evaluate.opened import load
    from foreword.evaluate.report import table
    from foreword.evaluate.score import check_alike, check_comparable

    paths = [name for name in models if name != "bits"]
    if not paths:
        raise typer.BadParameter("give at least one run or model folder")
    opened = {path: load(path) for path in paths}
    check_alike({name: model.nature for name, model in opened.items()})
    corpus = Corpus.find(data, list(opened), split, documents, column, limit)
    with ticking("evaluate") as ticker:
        answers = {name: ask(model, corpus, stride, ticker) for name, model in opened.items()}
    scores = {name: answer.score for name, answer in answers.items()}
    weights: dict[str, float] = {}
    if len(scores) > 1:
        check_comparable(scores)
    if mix:
        scores["mixture"], weights = mixture(opened, answers, corpus, stride)
    if as_json:
        print(json.dumps({"text": corpus.name, "scores": {name: score.values() for name, score in scores.items()},
                          "weights": weights}))
        return
    for line in table(scores, corpus.name, weights):
        print(line)
