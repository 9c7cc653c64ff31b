"""`foreword finetune`: a model and a labelled task -> a run that answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from foreword.cli.options import Device, Json, Set


def finetune(
    model: Annotated[Path, typer.Argument(help="A run, its model folder, or a Hugging Face directory.")],
    task: Annotated[str, typer.Argument(help="A known task, a task file, or a csv, tsv or jsonl with named columns.")],
    out: Annotated[Path | None, typer.Option("--out", help="The run folder; runs/MODEL-TASK if not said.")] = None,
    data: Annotated[Path | None, typer.Option("--data", help="The folder of a known task's data.")] = None,
    kind: Annotated[str, typer.Option(
        help="What a file's columns are for, if they do not say: classify, pair, similarity, choice, span, tag or rank.")] = "",
    dev: Annotated[Path | None, typer.Option("--dev", help="A file of examples that choose; else a tenth of the others.")] = None,
    test: Annotated[Path | None, typer.Option("--test", help="A file of examples that are looked at once; else a tenth.")] = None,
    labels: Annotated[int | None, typer.Option(help="Only so many training examples, the shares of the classes kept.")] = None,
    seed: Annotated[int, typer.Option(help="Where all chance comes from.")] = 0,
    learning_rate: Annotated[float | None, typer.Option(
        help="The published one if not said, in proportion larger for a narrower network.")] = None,
    batch_size: Annotated[int, typer.Option(help="Examples in a step.")] = 32,
    epochs: Annotated[float, typer.Option(help="How often every example is read.")] = 3.0,
    patience: Annotated[int | None, typer.Option(
        help="Evaluations without a better one after which it ends; else it never does.")] = None,
    init: Annotated[str, typer.Option(
        help="pretrained; as controls, scratch (nothing learned) or shuffled (its numbers, out of place).")] = "pretrained",
    layers: Annotated[int | None, typer.Option(
        help="Only the first so many layers are transferred; the others are drawn.")] = None,
    aux: Annotated[float, typer.Option(help="Weight of guessing the tokens of the examples as well; GPT-1 took 0.5.")] = 0.0,
    settings: Set = None,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Fine-tune a model on a labelled task: the weights that are best on dev, and their scores on dev and test.

    A run that was stopped goes on where it was when the same command is given again.
    """
    from foreword.tasks.labelled import load
    from foreword.training.hardware import Hardware
    from foreword.transfer.finetune import Tuning
    from foreword.transfer.finetune import finetune as tune

    labelled = load(task, data, kind, dev, test)
    how = Tuning(epochs, batch_size, learning_rate, seed, labels, init, layers, aux, patience, tuple(settings or ()))
    named = f"{model.name}-{labelled.name}".replace("/", "-")
    run = tune(model, labelled, out or Path("runs") / named, how, Hardware.choose(device, "auto", "auto", False))
    scores = run.passport()["scores"]
    if as_json:
        print(json.dumps({"run": str(run.path), "scores": scores}))
        return
    for line in table(scores):
        print(line)
    print(run.path)


def table(scores: dict[str, dict[str, Any]]) -> list[str]:
    """Every metric of dev and test, each with the bounds within which it lies (95%)."""
    rows = [("split", "metric", "value", "95%", "of")]
    for split, metrics in scores.items():
        for name, one in metrics.items():
            low, high = one["interval"]
            rows.append((split, name, one["shown"], f"{100 * low:.1f} to {100 * high:.1f}", f"{one['count']:,}"))
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
