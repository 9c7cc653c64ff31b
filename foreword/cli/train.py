"""`foreword train`: a recipe and text -> a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foreword.cli.options import Column, Device, Documents, Set, Size, Sources


def train(
    recipe: Annotated[str, typer.Argument(help="A recipe's name or file, or a run to repeat.")],
    data: Sources,
    more: Annotated[list[str] | None, typer.Argument(metavar="[SOURCE=WEIGHT]...", help="More sources of --data.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The run folder; runs/NAME if not said.")] = None,
    start: Annotated[Path | None, typer.Option("--from", help="A run or model folder to train further.")] = None,
    size: Size = "",
    budget: Annotated[str | None, typer.Option(help="Steps (500), tokens (2Mtok), epochs (3epochs) or wall clock (10m).")] = None,
    seed: Annotated[int | None, typer.Option(help="Where all chance comes from.")] = None,
    settings: Set = None,
    documents: Documents = "auto",
    column: Column = "text",
    device: Device = "auto",
    precision: Annotated[str, typer.Option(help="auto, float32, bfloat16 or float16: in what the network multiplies.")] = "auto",
    compile: Annotated[str, typer.Option(help="auto (when the budget repays it), on or off: torch.compile.")] = "auto",
    auto_batch: Annotated[bool, typer.Option(
        "--auto-batch", help="A batch too large for the memory is taken in parts; it learns the same.")] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Write TensorBoard files beside metrics.jsonl.")] = False,
    ask: Annotated[list[str] | None, typer.Option(
        "--ask", help="Tasks asked without examples at each evaluation; report.html draws their scores.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, train nothing.")] = False,
) -> None:
    """Train a recipe. A run that was stopped goes on where it was when the same command is given again."""
    from foreword.assembly.catalogue import find

    find(recipe)        # a mistyped name is said before torch is imported
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
    weighed(sources)
    if dry_run:
        print(f"{chosen.name}: the recipe is right.")
        return
    hardware = Hardware.choose(device, precision, compile, auto_batch)
    known = None if start is None else open_model(start).tokenizer
    found = data_for(chosen, sources, documents, column, known)
    name = f"{chosen.name}-{chosen.size}" if chosen.size else chosen.name
    zero_shot = ZeroShot([word for words in ask for word in words.split(",")], chosen) if ask else None
    run = train_run(chosen, found, out or Path("runs") / name, tensorboard, hardware, start, zero_shot)
    if ask:
        training_report(run).save(run.path)
    print(run.path)
