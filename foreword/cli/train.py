"""`foreword train`: a recipe and text -> a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreword.cli.options import Budget, Column, Device, Documents, MaybeSources, Precision, Processes, Set, Shard, Size

if TYPE_CHECKING:
    from foreword.assembly.recipe import Recipe
    from foreword.batches.mixture import MixtureSource
    from foreword.runs.folder import RunFolder
    from foreword.runs.halves import Halves
    from foreword.tokens.tokenizer import Tokenizer
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
From = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        help="A run or model folder to train further; or halves of a new model: --from encoder=BERT --from decoder=GPT2.",
    ),
]
Ask = Annotated[
    list[str] | None,
    typer.Option("--ask", help="Tasks asked without examples at each evaluation; report.html draws their scores."),
]
MoreSources = Annotated[list[str] | None, typer.Argument(metavar="[SOURCE=WEIGHT]...", help="More sources of --data.")]


def train(
    recipe: Annotated[str, typer.Argument(help="A recipe's name or file, or a run to repeat.")],
    data: MaybeSources = None,
    more: MoreSources = None,
    out: Annotated[Path | None, typer.Option("--out", help="The run folder. [default: runs/NAME]")] = None,
    pairs: Pairs = None,
    starts: From = None,
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
    ask: Ask = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, train nothing.")] = False,
) -> None:
    """Train a recipe. A run that was stopped goes on where it was when the same command is given again.

    A recipe of labelled tasks (mt-dnn) is given their names or files: --data cola sst2 mine.csv, and --from a pretrained model.
    --set tensorboard=true also writes TensorBoard files.
    """
    from foreword.assembly.catalogue import find

    find(recipe)  # a mistyped name is said before torch is imported
    from foreword.cli.preparing import data_for, own_setting, recipe_for, settings_with, start_processes
    from foreword.evaluate.while_training import ZeroShot
    from foreword.runs.train import train as train_run
    from foreword.training.hardware import Hardware

    tensorboard, settings = own_setting("tensorboard", settings or [])
    given = settings_with(settings, budget) + ([] if seed is None else [f"training.seed={seed}"])
    chosen = recipe_for(recipe, size, given)
    start, halves = halves_of(starts or [])
    sources = sources_for(chosen, [*(data or []), *(more or [])], pairs)
    if dry_run:
        print(f"{chosen.name}: the recipe is right.")
        return
    start_processes(processes)
    hardware = Hardware.choose(device, precision, compile, auto_batch, shard)
    folder = out or Path("runs") / (f"{chosen.name}-{chosen.size}" if chosen.size else chosen.name)
    if chosen.objective.labelled:
        on_tasks(chosen, sources, start, folder, given, hardware)
        return
    chosen = halves.recipe(chosen) if halves else chosen
    with hardware.ranks.first_rank_first():
        found = data_for(chosen, sources, documents, column, tokenizer_of(start, halves))
    zero_shot = ZeroShot([word for words in ask for word in words.split(",")], chosen) if ask else None
    if processes == "auto" and hardware.ranks.world == 1:
        start_processes(str(processes_for(chosen, found, folder, hardware)))
    run = train_run(chosen, found, folder, bool(tensorboard), hardware, halves or start, zero_shot)
    if "new_tokens" in run.passport().get("start", {}) and hardware.ranks.rank == 0:
        say_whether_it_helped(run)
    write_page(run, bool(ask))
    print(run.path)


def sources_for(chosen: Recipe, data: list[str], pairs: tuple[Path, Path] | None) -> list[str]:
    """Where the text is; lines that belong together, and tasks that are learned as text, are written as files first."""
    from foreword.basics.messages import Fault
    from foreword.cli.preparing import weighed
    from foreword.tasks.task import is_task
    from foreword.tokens.turns import SKIPPED

    if bool(pairs) == bool(data):
        raise Fault("give text, or sources and targets.", "--data TEXT, or --pairs train.en train.de")
    if pairs:
        from foreword.text.pairs import joined

        return [str(joined(*pairs))]
    if SKIPPED in chosen.batches.marks and all(is_task(word) for word in data):
        from foreword.tasks.pairs import pairs_of

        return [str(pairs_of(data))]
    if not chosen.objective.labelled:
        weighed(data)
    return data


def halves_of(starts: list[str]) -> tuple[Path | None, Halves | None]:
    """(a whole model to train further, or the halves of a new one): `encoder=runs/bert` is a half."""
    from foreword.basics.messages import Fault
    from foreword.runs.halves import KINDS, Halves

    halves = {}
    for one in starts:
        side, equals, path = one.partition("=")
        if equals and side in KINDS and not Path(one).exists():
            halves[side] = Path(path)
    if len(starts) > 1 and len(halves) < len(starts):
        raise Fault(
            "--from is one model, or an encoder and a decoder.", "--from RUN, or --from encoder=RUN --from decoder=RUN"
        )
    if halves:
        return None, Halves(**halves)
    return (Path(starts[0]) if starts else None), None


def tokenizer_of(start: Path | None, halves: Halves | None) -> Tokenizer | None:
    """The tokens that a model to begin with was trained on."""
    from foreword.runs.opening import open_model

    if halves:
        return halves.tokenizer
    return None if start is None else open_model(start).tokenizer


def processes_for(chosen: Recipe, found: Path | Sequence[MixtureSource], folder: Path, hardware: Hardware) -> int:
    from foreword.runs.folder import RunFolder
    from foreword.runs.process_count import fastest_processes

    return fastest_processes(chosen, found, RunFolder(folder), hardware)


def write_page(run: RunFolder, asked: bool) -> None:
    """report.html, where there is more to see than metrics: tasks that were asked, word vectors."""
    from foreword.evaluate.while_training import training_report
    from foreword.vectors.words import WordVectors, is_vectors

    if asked:
        training_report(run).save(run.path)
    elif is_vectors(run.path):
        from foreword.vectors import page

        page.report(WordVectors.opened(run.path)).save(run.path)


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
