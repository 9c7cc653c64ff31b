"""`foreword train`: a recipe and text -> a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreword.cli.options import Column, Device, Documents, Set, Size, Sources

if TYPE_CHECKING:
    from foreword.assembly.recipe import Recipe
    from foreword.training.hardware import Hardware


def train(
    recipe: Annotated[str, typer.Argument(help="A recipe's name or file, or a run to repeat.")],
    data: Sources,
    more: Annotated[
        list[str] | None, typer.Argument(metavar="[SOURCE=WEIGHT]...", help="More sources of --data.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The run folder. [default: runs/NAME]")] = None,
    start: Annotated[Path | None, typer.Option("--from", help="A run or model folder to train further.")] = None,
    size: Size = "",
    budget: Annotated[
        str | None, typer.Option(help="Steps (500), tokens (2Mtok), epochs (3epochs) or wall clock (10m).")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Where all chance comes from.")] = None,
    settings: Set = None,
    documents: Documents = "auto",
    column: Column = "text",
    device: Device = "auto",
    precision: Annotated[
        str, typer.Option(help="auto, float32, bfloat16 or float16: in what the network multiplies.")
    ] = "auto",
    compile: Annotated[
        str, typer.Option(help="torch.compile: auto (on a GPU, when the budget repays it), on or off.")
    ] = "auto",
    auto_batch: Annotated[
        bool,
        typer.Option("--auto-batch", help="A batch too large for the memory is taken in parts; it learns the same."),
    ] = False,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write TensorBoard files beside metrics.jsonl.")
    ] = False,
    ask: Annotated[
        list[str] | None,
        typer.Option("--ask", help="Tasks asked without examples at each evaluation; report.html draws their scores."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, train nothing.")] = False,
) -> None:
    """Train a recipe. A run that was stopped goes on where it was when the same command is given again.

    A recipe of labelled tasks (mt-dnn) is given their names or files: --data cola sst2 mine.csv, and --from a pretrained model.
    """
    from foreword.assembly.catalogue import find

    find(recipe)  # a mistyped name is said before torch is imported
    from foreword.cli.preparing import data_for, recipe_for, settings_with, weighed
    from foreword.evaluate.while_training import ZeroShot, training_report
    from foreword.runs.opening import open_model
    from foreword.runs.train import train as train_run
    from foreword.training.hardware import Hardware

    given = settings_with(settings, budget)
    if seed is not None:
        given.append(f"training.seed={seed}")
    chosen = recipe_for(recipe, size, given)
    sources = [*data, *(more or [])]
    if not chosen.objective.labelled:
        weighed(sources)
    if dry_run:
        print(f"{chosen.name}: the recipe is right.")
        return
    hardware = Hardware.choose(device, precision, compile, auto_batch)
    name = f"{chosen.name}-{chosen.size}" if chosen.size else chosen.name
    if chosen.objective.labelled:
        on_tasks(chosen, sources, start, out or Path("runs") / name, given, hardware)
        return
    known = None if start is None else open_model(start).tokenizer
    found = data_for(chosen, sources, documents, column, known)
    zero_shot = ZeroShot([word for words in ask for word in words.split(",")], chosen) if ask else None
    run = train_run(chosen, found, out or Path("runs") / name, tensorboard, hardware, start, zero_shot)
    if ask:
        training_report(run).save(run.path)
    print(run.path)


def on_tasks(
    recipe: Recipe, words: list[str], start: Path | None, out: Path, settings: list[str], hardware: Hardware
) -> None:
    """Train a recipe whose data are labelled tasks."""
    from foreword.basics.messages import Fault
    from foreword.tasks.labelled_task import load
    from foreword.transfer import finetune_report
    from foreword.transfer.multitask import multitask, name_of

    if start is None:
        raise Fault(
            f"{recipe.name} learns labelled tasks with a network that has learned from text.", "Give one:  --from RUN"
        )
    tasks = [load(word) for word in words]
    run = multitask(start, tasks, out, settings, recipe, hardware=hardware)
    report = finetune_report.report(run, {name_of(one): one for one in tasks})
    report.save(run.path)
    report.show(False)
    print(run.path)
