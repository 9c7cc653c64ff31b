"""`foreword finetune`: a model and a labelled task -> a run that answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreword.cli.options import Device, Json, Set

if TYPE_CHECKING:
    from foreword.report import Report


def finetune(
    model: Annotated[Path, typer.Argument(help="A run, its model folder, or a Hugging Face directory.")],
    task: Annotated[str, typer.Argument(help="A known task, a task file, or a csv, tsv or jsonl with named columns.")],
    out: Annotated[Path | None, typer.Option("--out", help="The run folder; runs/MODEL-TASK if not said.")] = None,
    data: Annotated[Path | None, typer.Option("--data", help="The folder of a known task's data.")] = None,
    kind: Annotated[str, typer.Option(
        help="What a file's columns are for, if they do not say: classify, pair, similarity, choice, span, tag or rank.")] = "",
    dev: Annotated[Path | None, typer.Option("--dev", help="A file of examples that choose; else a tenth of the others.")] = None,
    test: Annotated[Path | None, typer.Option("--test", help="A file of examples that are looked at once; else a tenth.")] = None,
    labels: Annotated[int | None, typer.Option(
        help="Only so many training examples, the shares of the classes kept; of dev then no more either, or than 500.")] = None,
    seed: Annotated[int, typer.Option(help="Where all chance comes from.")] = 0,
    learning_rate: Annotated[str, typer.Option(
        help="The published one if not said, in proportion larger for a narrower network; 1e-3 with --features. Several, as "
             "3e-4,1e-3: a study in which dev chooses.")] = "",
    batch_size: Annotated[int | None, typer.Option(help="Examples in a step; 32 if not said.")] = None,
    epochs: Annotated[float | None, typer.Option(
        help="How often every example is read; 3 times if not said, 5 with --multi.")] = None,
    patience: Annotated[int | None, typer.Option(
        help="Evaluations without a better one after which it ends; else it never does.")] = None,
    init: Annotated[str, typer.Option(
        help="pretrained; as controls, scratch (nothing learned) or shuffled (its numbers, out of place).")] = "pretrained",
    layers: Annotated[str, typer.Option(
        help="Only the first so many layers are transferred; the others are drawn. Several, as 0,2,all: a study of each.")] = "",
    features: Annotated[str, typer.Option(
        help="The model stays as it is; its layers, mixed, are read by a head (linear) or LSTMs from both ends (bilstm).")] = "",
    aux: Annotated[float, typer.Option(help="Weight of guessing the tokens of the examples as well; GPT-1 took 0.5.")] = 0.0,
    seeds: Annotated[int | None, typer.Option(
        help="A study: so many runs, each with its own seed, their mean and spread, baselines beside them; else 5.")] = None,
    grid: Annotated[bool, typer.Option("--grid", help="Study: BERT's rates and batch sizes; dev chooses.")] = False,
    curve: Annotated[str, typer.Option(help="Study: with so many labels each, as 16,64,256,all or 1%,10%,100%.")] = "",
    restarts: Annotated[int, typer.Option(help="Study: begin a seed that collapsed again, so often.")] = 0,
    compare: Annotated[list[str] | None, typer.Option(
        help="Study: the same seeds with another beginning, seed by seed: scratch, shuffled, shuffled-labels, or the folder of "
             "another model. May be repeated.")] = None,
    ensemble: Annotated[bool, typer.Option("--ensemble", help="Study: also the mean of what all seeds say.")] = False,
    at_once: Annotated[int | None, typer.Option(help="Study: runs at a time; measured if not said.")] = None,
    multi: Annotated[bool, typer.Option(
        "--multi", help="Tasks parted by commas, in one trunk with a head each (MT-DNN); one: its control.")] = False,
    settings: Set = None,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Fine-tune a model on a labelled task: the weights that are best on dev, and their scores on dev and test.

    A run that was stopped goes on where it was when the same command is given again; report.html shows what it answers. A
    study is several runs, in folders of their own below the run folder, with a report.html and study.json for all of them.
    """
    from foreword.cli.preparing import models_there

    models_there(model)
    from foreword.basics.messages import Fault
    from foreword.compare import study_report
    from foreword.compare.contenders import Plan, curve_of, layers_of, rates_of
    from foreword.compare.study import study
    from foreword.tasks.labelled_task import load
    from foreword.training.hardware import Hardware
    from foreword.transfer import finetune_report
    from foreword.transfer.finetune import Tuning
    from foreword.transfer.finetune import finetune as tune
    from foreword.transfer.multitask import EPOCHS, folder_of, multitask, name_of

    size = 32 if batch_size is None else batch_size
    depths = layers_of(layers) if layers else (None,)
    depth = depths[0] if len(depths) == 1 else None
    often = epochs if epochs is not None else EPOCHS if multi else Tuning.epochs
    rates = rates_of(learning_rate) if learning_rate else ()
    rate = rates[0] if len(rates) == 1 else None
    how = Tuning(often, size, rate, seed, labels, init, depth, aux, patience, tuple(settings or ()), features)
    several = (seeds is not None or grid or curve or restarts or compare or ensemble or at_once is not None
               or len(depths) > 1 or len(rates) > 1)
    if multi:
        if several:
            raise Fault("--multi is one run, and no study.", "Leave it out, or the options of a study.")
        tasks = [load(word, data, kind, dev, test) for word in task.split(",")]
        named = f"{model.name}-{'-'.join(one.name for one in tasks)}".replace("/", "-")
        run = multitask(model, tasks, out or Path("runs") / named, how, Hardware.choose(device, "auto", "off", False))
        _show(finetune_report.report(run, {name_of(one): one for one in tasks}), run.path, as_json)
        return
    labelled = load(task, data, kind, dev, test)
    named = f"{model.name}-{labelled.name}".replace("/", "-")
    folder, hardware = out or Path("runs") / named, Hardware.choose(device, "auto", "off", False)
    if several:
        if grid and batch_size is not None:
            raise Fault("--grid tries its own batch sizes.", "Leave out --batch-size or --grid.")
        plan = Plan(5 if seeds is None else seeds, grid, curve_of(curve, labelled) if curve else (), restarts,
                    tuple(compare or ()), depths if len(depths) > 1 else (), ensemble,
                    rates if len(rates) > 1 else (), at_once)
        found = study(model, labelled, folder, how, plan, hardware)
        _show(study_report.report(found, folder, model.name), folder, as_json, "study.json")
        return
    run = tune(folder_of(model, labelled), labelled, folder, how, hardware)
    _show(finetune_report.report(run, {"": labelled}), run.path, as_json)


def _show(report: Report, folder: Path, as_json: bool, data: str = "") -> None:
    report.save(folder, data)
    report.show(as_json)
    if not as_json:
        print(folder)
