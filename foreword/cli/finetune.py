"""`foreword finetune`: a model and a labelled task -> a run that answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from foreword.basics.files import JsonObject
from foreword.cli.options import Device, Json, Set


def finetune(
    model: Annotated[Path, typer.Argument(help="A run, its model folder, or a Hugging Face directory.")],
    task: Annotated[
        str, typer.Argument(help="A known task, a task file, a csv, tsv or jsonl with named columns, or glue.")
    ],
    out: Annotated[Path | None, typer.Option("--out", help="The run folder. [default: runs/MODEL-TASK]")] = None,
    data: Annotated[Path | None, typer.Option("--data", help="The folder of a known task's data.")] = None,
    kind: Annotated[
        str,
        typer.Option(
            help="What a file's columns are for: classify, pair, similarity, choice, span, tag or rank. [default: guessed]"
        ),
    ] = "",
    columns: Annotated[
        str, typer.Option(help="Names of the columns, as label,text, if a csv or tsv has no first line.")
    ] = "",
    dev: Annotated[
        Path | None, typer.Option("--dev", help="Examples that choose. [default: a tenth of the file]")
    ] = None,
    test: Annotated[
        Path | None, typer.Option("--test", help="Examples that are scored once. [default: a tenth]")
    ] = None,
    labels: Annotated[
        int | None, typer.Option(help="Train on so many examples only; classes keep their shares.")
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(help="[default: the published one, larger for narrower networks; 1e-3 with --features]"),
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Examples in a step.")] = 32,
    epochs: Annotated[float, typer.Option(help="Passes over the examples.")] = 3.0,
    seed: Annotated[int, typer.Option(help="Of all random numbers.")] = 0,
    features: Annotated[
        str, typer.Option(help="Freeze the model; a linear layer or LSTMs (bilstm) read a mixture of its layers.")
    ] = "",
    settings: Set = None,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Fine-tune a model on a labelled task: keep the weights that are best on dev, score them on dev and test.

    The same command continues an interrupted run. report.html in the run folder shows results and mistakes. --set also
    takes init, layers, aux and patience (--set patience=3). Several seeds, settings or models: `foreword study`.
    """
    from foreword.cli.preparing import models_there

    models_there(model)
    from foreword.tasks.labelled_task import load
    from foreword.training.hardware import Hardware
    from foreword.transfer import finetune_report
    from foreword.transfer.finetune import finetune as tune
    from foreword.transfer.multitask import folder_of
    from foreword.transfer.tuning import Tuning

    own, more = split_settings(settings or [], ("init", "layers", "aux", "patience"))
    how = Tuning(
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        seed=seed,
        labels=labels,
        features=features,
        settings=tuple(more),
        **own,
    )
    hardware = Hardware.choose(device, "auto", "off", False)
    if task == "glue":
        from foreword.transfer import glue

        benchmark = glue.report(model, out or Path("runs") / f"{model.name}-glue", data, how, hardware)
        benchmark.show(as_json)
        return
    labelled = load(task, data, kind, dev, test, columns.split(",") if columns else ())
    folder = out or Path("runs") / f"{model.name}-{labelled.name}".replace("/", "-")
    run = tune(folder_of(model, labelled), labelled, folder, how, hardware)
    report = finetune_report.report(run, {"": labelled})
    report.save(run.path)
    report.show(as_json)
    if not as_json:
        print(run.path)


def split_settings(settings: Sequence[str], names: Sequence[str]) -> tuple[JsonObject, list[str]]:
    """(settings of fine-tuning itself, which have no section; those of the recipe)"""
    from foreword.basics import toml
    from foreword.basics.messages import Fault, did_you_mean

    own, more = {}, []
    for one in settings:
        key, _, value = one.partition("=")
        if "." in key:
            more.append(one)
        elif key not in names:
            raise Fault(
                f"--set {one}: there is no setting {key!r}.{did_you_mean(key, names)}",
                f"Write section.key=value, or one of {', '.join(names)}.",
            )
        else:
            own[key] = toml.value(value)
    return own, more
