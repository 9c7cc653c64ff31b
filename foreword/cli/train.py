"""`foreword train`: a recipe and text -> a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreword.cli.options import Budget, Column, Device, Documents, MaybeSources, Precision, Processes, Set, Shard, Size

if TYPE_CHECKING:
    from foreword.assembly.recipe import Recipe
    from foreword.runs.folder import RunFolder
    from foreword.training.hardware import Hardware

Compile = Annotated[str, typer.Option(help="torch.compile: auto (on a GPU, when the budget repays it), on or off.")]
AutoBatch = Annotated[
    bool, typer.Option("--auto-batch", help="A batch too large for the memory is taken in parts; it learns the same.")
]
Pairs = Annotated[
    tuple[Path, Path] | None,
    typer.Option(
        "--pairs", help="Two files whose lines belong together: sources and targets.", metavar="SOURCES TARGETS"
    ),
]
Ask = Annotated[
    list[str] | None,
    typer.Option("--ask", help="Tasks asked without examples at each evaluation; report.html draws their scores."),
]


def train(
    recipe: Annotated[str, typer.Argument(help="A recipe's name or file, or a run to repeat.")],
    data: MaybeSources = None,
    more: Annotated[
        list[str] | None, typer.Argument(metavar="[SOURCE=WEIGHT]...", help="More sources of --data.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The run folder. [default: runs/NAME]")] = None,
    pairs: Pairs = None,
    start: Annotated[Path | None, typer.Option("--from", help="A run or model folder to train further.")] = None,
    encoder: Annotated[
        Path | None,
        typer.Option("--encoder-from", help="A model like bert that becomes the encoder.", show_default=False),
    ] = None,
    decoder: Annotated[
        Path | None,
        typer.Option("--decoder-from", help="A model like gpt2 that becomes the decoder.", show_default=False),
    ] = None,
    size: Size = "",
    budget: Budget = None,
    seed: Annotated[int | None, typer.Option(help="Where all chance comes from.")] = None,
    settings: Set = None,
    documents: Documents = "auto",
    column: Column = "text",
    device: Device = "auto",
    precision: Precision = "auto",
    compile: Compile = "auto",
    auto_batch: AutoBatch = False,
    processes: Processes = "auto",
    shard: Shard = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write TensorBoard files.")] = False,
    ask: Ask = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, train nothing.")] = False,
) -> None:
    """Train a recipe. A run that was stopped goes on where it was when the same command is given again.

    A recipe of labelled tasks (mt-dnn) is given their names or files: --data cola sst2 mine.csv, and --from a pretrained model.
    """
    from foreword.assembly.catalogue import find
    from foreword.basics.messages import Fault

    find(recipe)  # a mistyped name is said before torch is imported
    from foreword.cli.preparing import data_for, recipe_for, settings_with, start_processes, weighed
    from foreword.evaluate.while_training import ZeroShot, training_report
    from foreword.runs.halves import Halves
    from foreword.runs.opening import open_model
    from foreword.runs.train import train as train_run
    from foreword.tasks.task import is_task
    from foreword.tokens.turns import SKIPPED
    from foreword.training.hardware import Hardware
    from foreword.vectors.words import WordVectors, is_vectors

    given = settings_with(settings, budget)
    if seed is not None:
        given.append(f"training.seed={seed}")
    chosen = recipe_for(recipe, size, given)
    if bool(pairs) == bool(data):
        raise Fault("give text, or sources and targets.", "--data TEXT, or --pairs train.en train.de")
    sources = [*(data or []), *(more or [])]
    if pairs:
        from foreword.text.pairs import joined

        sources = [str(joined(*pairs))]
    elif sources and SKIPPED in chosen.batches.marks and all(is_task(word) for word in sources):
        from foreword.tasks.pairs import pairs_of

        sources = [str(pairs_of(sources))]
    if not chosen.objective.labelled:
        weighed(sources)
    if dry_run:
        print(f"{chosen.name}: the recipe is right.")
        return
    start_processes(processes)
    hardware = Hardware.choose(device, precision, compile, auto_batch, shard)
    name = f"{chosen.name}-{chosen.size}" if chosen.size else chosen.name
    if chosen.objective.labelled:
        on_tasks(chosen, sources, start, out or Path("runs") / name, given, hardware)
        return
    halves = Halves(encoder, decoder) if encoder or decoder else None
    if halves and start:
        raise Fault("--from begins with a whole model, --encoder-from and --decoder-from with its halves.", "Give one.")
    if halves:
        chosen = halves.recipe(chosen)
    known = halves.tokenizer if halves else None if start is None else open_model(start).tokenizer
    with hardware.ranks.first_rank_first():
        found = data_for(chosen, sources, documents, column, known)
    folder = out or Path("runs") / name
    zero_shot = ZeroShot([word for words in ask for word in words.split(",")], chosen) if ask else None
    if processes == "auto" and hardware.ranks.world == 1:
        from foreword.runs.folder import RunFolder
        from foreword.runs.process_count import fastest_processes

        start_processes(str(fastest_processes(chosen, found, RunFolder(folder), hardware)))
    run = train_run(chosen, found, folder, tensorboard, hardware, halves or start, zero_shot)
    if "new_tokens" in run.passport().get("start", {}) and hardware.ranks.rank == 0:
        say_whether_it_helped(run)
    if ask:
        training_report(run).save(run.path)
    elif is_vectors(run.path):
        from foreword.vectors import page

        page.report(WordVectors.opened(run.path)).save(run.path)
    print(run.path)


def say_whether_it_helped(run: RunFolder) -> None:
    """Held-out text before and after, where the vocabulary was extended."""
    from foreword.basics.progress import say
    from foreword.evaluate import extension
    from foreword.runs.opening import TrainedModel
    from foreword.tokens.store import TokenStore

    passport = run.passport()
    store = TokenStore.open(Path(passport["store"]), "valid") if "store" in passport else None
    if store is None or not store.documents:
        say("there is no held-out text: whether the new tokens helped is not known.")
        return
    models = [TrainedModel.opened(path) for path in (passport["start"]["path"], run.path)]
    found = extension.compared(models[0], models[1], store)
    run.sign(extension=found)
    say(extension.said(found, int(passport["start"]["new_tokens"])))


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
