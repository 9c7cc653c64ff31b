"""`foreword finetune`: a model and a labelled task -> a run that answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreword.basics.files import JsonObject
from foreword.cli.options import Columns, Device, Json, Processes, Set, Shard, TaskData

if TYPE_CHECKING:
    from foreword.runs.folder import RunFolder
    from foreword.tasks.labelled_task import LabelledTask
    from foreword.training.hardware import Hardware
    from foreword.transfer.first_model import LabelledFit
    from foreword.transfer.tuning import FinetuneSettings


Kind = Annotated[
    str,
    typer.Option(
        help="What a file's columns are for: classify, pair, similarity, choice, span, tag or rank. [default: guessed]"
    ),
]
Rate = Annotated[
    float | None, typer.Option(help="[default: the published one, larger for narrower networks; 1e-3 with --features]")
]
Features = Annotated[
    str,
    typer.Option(
        help="Freeze the model, and read its layers: mix, first, last, second-to-last, sum-4 or concat-4, by a linear layer, "
        "LSTMs or (two texts) ESIM: mix:linear, last:bilstm, esim."
    ),
]
OWN = (
    "init",
    "layers",
    "aux",
    "patience",
    "network",
    "self_train",
)  # settings of fine-tuning itself, without a section
Seeds = Annotated[
    int, typer.Option(min=1, help="Word vectors: so many draws of --labels. (A path with {seed}: other vectors each.)")
]


def finetune(
    model: Annotated[Path, typer.Argument(help="A run, its model folder, or a Hugging Face directory.")],
    task: Annotated[
        str, typer.Argument(help="A known task, a task file, a csv, tsv or jsonl with named columns, or glue.")
    ],
    out: Annotated[Path | None, typer.Option("--out", help="The run folder. [default: runs/MODEL-TASK]")] = None,
    data: TaskData = None,
    kind: Kind = "",
    columns: Columns = "",
    dev: Annotated[Path | None, typer.Option("--dev", help="Examples that choose. [default: a tenth]")] = None,
    test: Annotated[Path | None, typer.Option("--test", help="Examples scored once. [default: a tenth]")] = None,
    labels: Annotated[int | None, typer.Option(help="Train on so many; classes keep their shares.")] = None,
    learning_rate: Rate = None,
    batch_size: Annotated[int, typer.Option(help="Examples in a step.")] = 32,
    epochs: Annotated[float, typer.Option(help="Passes over the examples.")] = 3.0,
    seed: Annotated[int, typer.Option(help="Of all random numbers.")] = 0,
    features: Features = "",
    seeds: Seeds = 1,
    settings: Set = None,
    device: Device = "auto",
    processes: Processes = "auto",
    shard: Shard = False,
    as_json: Json = False,
) -> None:
    """Fine-tune a model on a labelled task: keep the weights that are best on dev, score them on dev and test.

    A table of word vectors (`foreword train word2vec`) is put beside TF-IDF, and read by logistic regression.
    The same command continues an interrupted run. report.html in the run folder shows results and mistakes. --set also takes
    init, layers, aux and patience (--set patience=3); for word vectors, network (--set network=lstm: they become the token
    table of that recipe) and self_train (--set self_train=more.txt: text that is labelled and learned from too, if that
    helps). Several seeds, settings or models: `foreword study`.
    """
    from foreword.cli.preparing import models_there, start_processes

    models_there(str(model).replace("{seed}", "0"))
    from foreword.tasks.labelled_task import load

    own, more = split_settings(settings or [], OWN)
    self_train = texts_to_label(own.pop("self_train", ()))
    read = partial(load, task, data, kind, dev, test, columns.split(",") if columns else ())
    if on_vectors(model) and "network" not in own:
        from foreword.transfer.first_model import LabelledFit, with_dev

        fit_vectors(str(model), with_dev(read()), out, LabelledFit(labels, seed, seeds, self_train), as_json)
        return
    only_for_vectors({"--set self_train": self_train, "--seeds": seeds > 1}, model, task)
    from foreword.training.hardware import Hardware
    from foreword.transfer.tuning import FinetuneSettings

    how = FinetuneSettings(
        epochs, batch_size, learning_rate, seed, labels, features=features, settings=tuple(more), **own
    )
    start_processes(processes)
    hardware = Hardware.choose(device, "auto", "off", False, shard)
    if task == "glue":
        from foreword.transfer import glue

        glue.report(model, out or Path("runs") / f"{model.name}-glue", data, how, hardware).show(as_json)
        return
    fit_network(model, read(), out, how, hardware, as_json)


def fit_network(
    model: Path, task: LabelledTask, out: Path | None, how: FinetuneSettings, hardware: Hardware, as_json: bool
) -> None:
    from foreword.transfer import finetune_report
    from foreword.transfer.finetune import finetune as tune
    from foreword.transfer.multitask import folder_of

    folder = out or Path("runs") / f"{model.name}-{task.name}".replace("/", "-")
    run = tune(folder_of(model, task), task, folder, how, hardware)
    ask_controls(run, model, task, how, hardware)
    report = finetune_report.report(run, {"": task})
    report.save(run.path)
    report.show(as_json)
    if not as_json:
        print(run.path)


def ask_controls(run: RunFolder, model: Path, task: LabelledTask, how: FinetuneSettings, hardware: Hardware) -> None:
    """What stands beside the result: the words in random order; of a small network, whether something simpler does better."""
    from foreword.transfer import controls
    from foreword.transfer.baselines import fits_texts

    known = run.passport()
    if hardware.ranks.world > 1 or not fits_texts(task.kind):
        return
    if "word_order" not in known:
        run.sign(word_order=controls.word_order(run, task))
    if "recommended" not in known and controls.can_recommend(run, task, how):
        run.sign(recommended=controls.recommended(model, task, how, hardware))


def texts_to_label(given: str | Sequence[str]) -> tuple[Path, ...]:
    """The files of --set self_train: one, or a list of them."""
    return tuple(map(Path, [given] if isinstance(given, str) else given))


def fit_vectors(model: str, task: LabelledTask, out: Path | None, wish: LabelledFit, as_json: bool) -> None:
    from foreword.transfer.first_model import fit_labels

    folder = out or Path("runs") / f"{Path(model).name}-{task.name}".replace("/", "-").replace("-{seed}", "")
    fit_labels(model, task, folder, wish).show(as_json)
    if not as_json:
        print(folder)


def on_vectors(model: Path) -> bool:
    """Whether it is a table of vectors, which needs no torch."""
    from foreword.vectors.words import is_vectors

    return is_vectors(Path(str(model).replace("{seed}", "0")))


def only_for_vectors(options: JsonObject, model: Path, task: str) -> None:
    from foreword.basics.messages import Fault

    if idle := [name for name, said in options.items() if said]:
        raise Fault(
            f"{' and '.join(idle)} is for tables of word vectors, and {model} is a network.",
            f"Several seeds of a network:  foreword study {model} {task} --seeds 5",
        )


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
