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
    from foreword.basics.files import write_text
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
    from foreword.evaluate.rescoring import Weights, report
    from foreword.model import load

    given = None if dev else Weights(weight or 0.0, bonus or 0.0)
    caption = f"{lists}: {len(asked):,} lists"
    note = "weights as given" if given else f"weights fitted on {dev}, {len(held):,} lists"
    found, chosen = report(asked, ((name, load(name)) for name in models), metric, given, held, caption, note)
    if out is not None:
        lines = [json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in chosen]
        write_text(out, "".join(lines))
    found.show(as_json)
