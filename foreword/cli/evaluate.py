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
    precision: Annotated[str, typer.Option(help="float32; int8 asks in both and says what int8 costs.")] = "float32",
    documents: Documents = "auto",
    column: Column = "text",
    as_json: Json = False,
) -> None:
    """Bits per byte of whole documents: every token scored once, what it could see printed with the number."""
    from foreword.basics.progress import ticking
    from foreword.evaluate.ask import Corpus, ask
    from foreword.evaluate.ask import mix as mixture
    from foreword.evaluate.opened import load
    from foreword.evaluate.report import precision_costs, table
    from foreword.evaluate.score import check_alike, check_comparable
    from foreword.parts.frozen import check_precision, left_in_float32

    paths = [name for name in models if name != "bits"]
    if not paths:
        raise typer.BadParameter("give at least one run or model folder")
    check_precision(precision)
    opened = {path: load(path) for path in paths}
    coarse = {f"{path}, {precision}": model.at(precision) for path, model in opened.items()} if precision != "float32" else {}
    check_alike({name: model.nature for name, model in opened.items()})
    corpus = Corpus.find(data, list(opened), split, documents, column, limit)
    with ticking("evaluate") as ticker:
        answers = {name: ask(model, corpus, stride, ticker) for name, model in {**opened, **coarse}.items()}
    scores = {name: answer.score for name, answer in answers.items()}
    costs = precision_costs(scores, list(opened), precision) if coarse else {}
    weights: dict[str, float] = {}
    if len(scores) > 1:
        check_comparable(scores)
    if mix:
        scores["mixture"], weights = mixture(opened, answers, corpus, stride)
    if as_json:
        more = {"precision": {"name": precision, "costs": costs}} if coarse else {}
        print(json.dumps({"text": corpus.name, "scores": {name: score.values() for name, score in scores.items()},
                          "weights": weights, **more}))
        return
    for line in table(scores, corpus.name, weights):
        print(line)
    for name, cost in costs.items():
        left = f"; {', '.join(whole)} stays float32" if (whole := left_in_float32(coarse[f"{name}, {precision}"].model)) else ""
        print(f"{name}: {precision} costs {round(cost['cost'], 4) + 0.0:.4f} {cost['unit']}{left}")        # never -0.0000
