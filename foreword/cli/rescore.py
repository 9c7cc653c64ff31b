"""`foreword rescore`: choose among the hypotheses of a recogniser or translator with a language model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from foreword.cli.options import Json
from foreword.cli.preparing import models_there


def rescore(
    lists: Annotated[
        Path, typer.Argument(help='N-best lists: {"ref": ..., "hyps": [{"text": ..., "score": ...}]} on a line.')
    ],
    models: Annotated[list[str], typer.Option("--lm", help="A run, model folder or ARPA file. May be repeated.")],
    dev: Annotated[
        Path | None,
        typer.Option(help="Lists with references on which the weights are fitted; else --weight and --bonus."),
    ] = None,
    weight: Annotated[float | None, typer.Option(help="Of the language model's log-probability.")] = None,
    bonus: Annotated[float | None, typer.Option(help="For each word: long hypotheses are less probable.")] = None,
    metric: Annotated[str, typer.Option(help="wer for speech, bleu for translations.")] = "wer",
    out: Annotated[Path | None, typer.Option("--out", help="Write what was chosen here, a line for each list.")] = None,
    as_json: Json = False,
) -> None:
    """Re-rank n-best lists by score + weight * log p(text) + bonus * words, and say what it is worth.

    Before: the first by the lists' own scores; oracle: the best that any choice could give.
    """
    from foreword.basics.files import JsonObject, write_text
    from foreword.basics.messages import Fault, did_you_mean
    from foreword.tasks.n_best import read_n_best

    models_there(*models)
    if metric not in ("wer", "bleu"):
        raise Fault(f"there is no metric {metric!r}.{did_you_mean(metric, ('wer', 'bleu'))} Metrics: wer, bleu.")
    if (dev is None) == (weight is None and bonus is None):
        raise Fault(
            "the weights are fitted on --dev, or given with --weight and --bonus: one of the two.",
            "Never fit them on the lists that are judged.",
        )
    asked, held = read_n_best(lists), read_n_best(dev) if dev else []
    from foreword.evaluate import rescoring
    from foreword.model import load
    from foreword.report import Report, Section, Table, Text

    judge = rescoring.JUDGES[metric]
    judged = all(one.references for one in asked)
    head = ("language model", "weight", "bonus", judge.name)
    rows: list[tuple[str, ...]] = []
    found: JsonObject = {}
    if judged:
        columns = judge.columns(asked)
        first = judge.of(columns, rescoring.choose(asked, [one.scores for one in asked], rescoring.Weights()))
        best, worst = judge.limits(columns)
        rows += [("none: as the lists have it", "", "", f"{first:.2f}")]
        found |= {"before": first, "oracle": best, "worst": worst}
    chosen: list[int] = []
    for name in models:
        model = load(name)
        weights = rescoring.Weights(weight or 0.0, bonus or 0.0)
        if held:
            weights = rescoring.fit(held, rescoring.language_model_scores(model, held), judge)
        chosen = rescoring.choose(asked, rescoring.language_model_scores(model, asked), weights)
        after = judge.of(columns, chosen) if judged else None
        rows.append(
            (name, f"{weights.language_model:.3g}", f"{weights.word:.3g}", "" if after is None else f"{after:.2f}")
        )
        found[name] = {"weight": weights.language_model, "bonus": weights.word, "after": after}
    if judged:
        rows += [("oracle", "", "", f"{best:.2f}"), ("worst", "", "", f"{worst:.2f}")]
    if out is not None:
        lines = [json.dumps({"text": one.texts[at]}, ensure_ascii=False) + "\n" for one, at in zip(asked, chosen)]
        write_text(out, "".join(lines))
    notes = [f"weights fitted on {dev}, {len(held):,} lists" if held else "weights as given"]
    table = Table([head, *rows], caption=f"{lists}: {len(asked):,} lists")
    Report("Rescoring", [], [Section("Rescoring", table, Text(notes, note=True))], found).show(as_json)
