"""Several tasks in one network, with one head each (Liu et al. 2019, MT-DNN); then each can be fine-tuned alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from foreword.assembly import loader
from foreword.assembly.recipe import Recipe
from foreword.basics.budget import Budget
from foreword.basics.messages import Fault
from foreword.exchange.hugging_face import LoadedFolder, network_of
from foreword.networks.features import Features
from foreword.objectives import LABELLED
from foreword.objectives.by_task import ByTask
from foreword.objectives.examples import FromExamples
from foreword.parts.task_heads import Reading
from foreword.runs.folder import RunFolder
from foreword.tasks.labelled_task import LabelledTask
from foreword.training.hardware import Hardware
from foreword.transfer.encoding import UNLIMITED, input_format_of
from foreword.transfer.finetune import DROPOUT, RATES
from foreword.transfer.initial_weights import continued_objective
from foreword.transfer.kinds import learned_as, transfer_kind_of
from foreword.transfer.labelled_run import completed, labelled_run, opened
from foreword.transfer.tuning import FinetuneSettings

IN_STEPS = ("steps", "skip", "order")  # settings of a stepwise head that one layer has not


def name_of(task: LabelledTask) -> str:
    """A task's name as heads and folders can be called."""
    return re.sub(r"[^\w-]+", "-", task.name)


def folder_of(model: Path, task: LabelledTask) -> Path:
    """Where to begin fine-tuning on a task: of a run of several that had this one among them, the model with its head."""
    own = model / f"model-{name_of(task)}"
    return own if (own / "config.json").is_file() else model


def recipe_for_tasks(
    recipe: Recipe, loaded: LoadedFolder, tasks: Sequence[LabelledTask], settings: Sequence[str] = ()
) -> Recipe:
    """A recipe whose objective is `by_task`, with these tasks, for a pretrained network and its tokenizer.

    One task alone is the control: the same head, and nothing learned from others.
    """
    names = [name_of(task) for task in tasks]
    if not tasks:
        raise Fault("there must be a task.")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise Fault(f"every task needs a name of its own (twice: {', '.join(twice)}).")
    said = recipe.objective
    if not isinstance(said, ByTask):
        raise Fault(
            f"{recipe.name} does not learn from labelled tasks.",
            "One task is learned with:  foreword finetune RUN TASK",
        )
    if isinstance(network_of(loaded).network, Features):
        raise Fault("this model is frozen, and only its features are read: tasks have nothing to share.")
    reading = input_format_of(loaded.recipe).reading
    objectives = [_objective(said, loaded, task, reading) for task in tasks]
    named = {"name": recipe.name, "paper": recipe.paper, "extends": recipe.extends, "size": ""}
    values = loaded.recipe.values() | named
    network, training = values["network"], recipe.training.model_dump(mode="json", exclude_none=True)
    wider = getattr(recipe.network, "width", 0) / network["width"]  # a narrower network bears a larger rate
    training["optimizer"]["learning_rate"] *= max(1.0, wider)
    if reading == "text":
        training |= {
            "optimizer": {"kind": "adafactor", "learning_rate": RATES["text"]},
            "schedule": {"kind": "constant"},
        }
    values["objective"] = said.model_copy(update={"names": names, "tasks": objectives}).model_dump(mode="json")
    values["batches"] = {"kind": "examples"} | ({} if network.get("context") else {"length": UNLIMITED})
    values["training"] = training
    return loader.from_values(values, f"{recipe.name} on {', '.join(names)}", settings)


def _objective(said: ByTask, loaded: LoadedFolder, task: LabelledTask, reading: Reading) -> FromExamples:
    """A causal network does not know where each text of a pair stands: it has the one layer."""
    fresh = learned_as(task.learn, task.name, loaded.recipe).objective(task.labels, reading, DROPOUT, task.train)
    made = continued_objective(loaded, fresh)
    values = made.model_dump(mode="json")
    if type(made).model_fields["dropout"].default:  # spans have none
        values["dropout"] = said.dropouts.get(task.name, DROPOUT)
    if said.pairs in transfer_kind_of(task.kind).objectives and reading == "first" and values["kind"] != said.pairs:
        values = {name: value for name, value in values.items() if name not in IN_STEPS} | {"kind": said.pairs}
    found: FromExamples = LABELLED.find(values["kind"])(**values)
    return found


def multitask(
    model: str | Path,
    tasks: Sequence[LabelledTask],
    out: Path,
    settings: Sequence[str] = (),
    recipe: Recipe | None = None,
    labels: int | None = None,
    init: str = "pretrained",
    hardware: Hardware | None = None,
) -> RunFolder:
    """Train one network on all the tasks until the budget is spent. A run that stopped goes on from its last checkpoint."""
    loaded = opened(model)
    made = recipe_for_tasks(recipe or loader.load("mt-dnn"), loaded, tasks, settings)
    spec, budget = made.training, Budget.parse(made.training.budget)
    rate = made.values()["training"]["optimizer"]["learning_rate"]
    epochs = budget.amount if budget.unit == "epochs" else 0.0
    how = FinetuneSettings(epochs, spec.batch_size, rate, spec.seed, labels, init, settings=tuple(settings))
    return completed(labelled_run(made, tasks, RunFolder(out), loaded, how, hardware), model)
