"""Several tasks in one trunk, with one head each, in a run folder; then each can be fine-tuned alone (Liu et al. 2019)."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from foreword.assembly import loader
from foreword.assembly.recipe import Recipe
from foreword.basics.files import write_folder
from foreword.basics.messages import Fault, thousands
from foreword.basics.progress import say
from foreword.batches.by_task import TaskCutter
from foreword.batches.encoded import EncodedExample
from foreword.batches.examples import Examples
from foreword.exchange import hugging_face
from foreword.exchange.hugging_face import Loaded, network_of
from foreword.networks.base import Model
from foreword.objectives.by_task import ByTask
from foreword.objectives.examples import FromExamples
from foreword.runs.folder import RunFolder
from foreword.runs.opening import open_model
from foreword.runs.train import versions
from foreword.tasks.judging import scored
from foreword.tasks.labelled_task import LabelledTask
from foreword.training.hardware import Hardware
from foreword.transfer.encoding import Encoder
from foreword.transfer.finetune import DROPOUT, FinetuneRun, Tuning, completed, contents, input_format_of, recipe_for
from foreword.transfer.inference import answer_examples
from foreword.transfer.initial_weights import initial_model
from foreword.transfer.kinds import transfer_kind_of
from foreword.transfer.kinds.base import TransferKind
from foreword.transfer.label_subset import label_subset
from foreword.transfer.model_card import card

PAIRS = ("stepwise", "classify")        # heads for classes of pairs: in steps, as MT-DNN has it, or one layer
IN_STEPS = ("steps", "skip", "order")   # settings that only the first of them has

# Liu et al. 2019, section 4.2; what else stands there (rate 5e-5, batches of 32, a tenth of warm-up, then linearly to zero,
# gradients clipped at 1) is how one task is learned here too.
EPOCHS = 5.0
OPTIMIZERS = {"first": "adamax", "last": "adamw"}       # by where a network is read; theirs was BERT
DROPOUTS = {"mnli": 0.3, "cola": 0.05}                  # before the last layer of a head; of all others 0.1


@dataclass(frozen=True)
class Subject:
    """One of the tasks, ready to be learned and asked."""

    name: str
    task: LabelledTask
    task_kind: TransferKind
    objective: FromExamples
    train: list[EncodedExample]
    dev: list[EncodedExample]


def name_of(task: LabelledTask) -> str:
    """A task's name as heads and folders can be called."""
    return re.sub(r"[^\w-]+", "-", task.name)


def folder_of(model: Path, task: LabelledTask) -> Path:
    """Where to begin fine-tuning on a task: of a run of several that had this one among them, the model with its head."""
    own = model / f"model-{name_of(task)}"
    return own if (own / "config.json").is_file() else model


def recipe_for_all(loaded: Loaded, tasks: Sequence[LabelledTask], how: Tuning, pairs: str = "stepwise") -> Recipe:
    """The pretrained model's recipe, with all the tasks in the place of what it was pretrained for.

    One task alone is the control: the same head, and nothing learned from others.
    """
    names = [name_of(task) for task in tasks]
    faults = []
    if not tasks:
        faults.append("there must be a task.")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        faults.append(f"every task needs a name of its own (twice: {', '.join(twice)}).")
    if how.aux:
        faults.append(f"--aux {how.aux:g}: tokens cannot be guessed beside several tasks.")
    if how.features:
        faults.append(f"--features {how.features}: of a trunk that stays as it is, tasks have nothing to share.")
    if pairs not in PAIRS:
        faults.append(f"classes of pairs are read by {' or '.join(PAIRS)} (it says {pairs}).")
    if faults:
        raise Fault(" ".join(faults))
    plain = replace(how, settings=())
    each = [recipe_for(loaded, task, plain).values() for task in tasks]
    values = each[0]
    values["objective"] = {"kind": "by_task", "names": names,
                           "tasks": [_objective(one["objective"], task, pairs) for one, task in zip(each, tasks)]}
    values["training"]["optimizer"] = {"kind": OPTIMIZERS[input_format_of(loaded.recipe).reading],
                                       "learning_rate": values["training"]["optimizer"]["learning_rate"]}
    return loader.from_values(values, "fine-tuning on several tasks", how.settings)


def _objective(said: dict[str, Any], task: LabelledTask, pairs: str) -> dict[str, Any]:
    """A network that looks back does not know where each text of a pair stands: it has the one layer."""
    said = said | ({"dropout": DROPOUTS.get(task.name, DROPOUT)} if task.kind != "span" else {})       # spans have none
    if task.kind != "pair" or said["reading"] != "first" or said["kind"] == pairs:
        return said
    return {name: value for name, value in said.items() if name not in IN_STEPS} | {"kind": pairs}


def multitask(model: str | Path, tasks: Sequence[LabelledTask], out: Path, how: Tuning | None = None,
              hardware: Hardware | None = None, pairs: str = "stepwise") -> RunFolder:
    """Train one trunk on all the tasks until the epochs are over. A run that stopped before goes on from its last checkpoint."""
    how = how or Tuning(epochs=EPOCHS)
    loaded = open_model(model)
    if not isinstance(loaded.model, Model) or loaded.tokenizer is None:
        raise Fault(f"{model} ({loaded.recipe.name}) cannot be fine-tuned.", "Give a network that has a tokenizer.")
    recipe = recipe_for_all(loaded, tasks, how, pairs)
    tasks = [label_subset(task, how.labels, how.seed) for task in tasks]
    sitting = Shared(recipe, tasks, RunFolder(out), loaded, how, hardware)
    return completed(sitting, model, " ".join(map(contents, tasks)))


class Shared(FinetuneRun):
    """A sitting at several tasks, which is judged by the mean of what each chooses by on its dev."""

    def __init__(self, recipe: Recipe, tasks: Sequence[LabelledTask], run: RunFolder, loaded: Loaded, how: Tuning,
                 hardware: Hardware | None = None):
        self.recipe, self.run, self.how, self.hardware = recipe, run, how, hardware or Hardware()
        self.store = self.valid = None                       # type: ignore[assignment]
        self.input_format = input_format_of(recipe)
        assert loaded.tokenizer is not None
        assert isinstance(recipe.batches, Examples)
        assert isinstance(recipe.objective, ByTask)
        self.tokenizer = self.input_format.extended(loaded.tokenizer)
        self.encoder = Encoder(self.input_format, self.tokenizer, recipe.batches)
        self.tasks: ByTask = recipe.objective
        self.subjects = [self._subject(task) for task in tasks]
        spec: Any = recipe.training
        model = initial_model(recipe, loaded, self.tokenizer, how.init, how.layers)
        self.prepare(model, TaskCutter({one.name: one.train for one in self.subjects}, spec.batch_size, spec.seed))
        self.learner.share = spec.micro_batch or spec.batch_size     # type: ignore[attr-defined]
        # ^ tasks differ in the size of their batches: what fits of the first says nothing of the others

    def _subject(self, task: LabelledTask) -> Subject:
        task_kind, name = transfer_kind_of(task.kind), name_of(task)
        train, dev, _ = (task_kind.encode(some, task.labels, self.encoder) for some in (task.train, task.dev, task.test))
        if all(one.target is None for one in train):
            raise Fault(f"{task.name}: no training example has an answer that tokens of its text stand for.")
        return Subject(name, task, task_kind, self.tasks.of(name), train, dev)

    def evaluate(self, anyway: bool = False) -> None:
        self.model.eval()            # all of it: what reads the trunk with one head leaves the whole as it was, half asleep
        losses: dict[str, float] = {}
        worth: dict[str, float] = {}
        chosen = []
        for one in self.subjects:
            said = answer_examples(self.tasks.alone(self.model, one.name), one.objective, one.task_kind, one.task.dev, one.dev,
                                   self.tokenizer, self.hardware, watch=self.asking(f"dev of {one.name}"))
            found = scored(one.task.metrics, one.task.labels, one.task.dev, said.labels, False)
            losses[f"nll.{one.name}"] = said.loss if math.isfinite(said.loss) else 0.0        # no label of dev can be learned
            worth |= {f"{one.name}.{each.metric}": each.value for each in found}
            chosen.append(next(each.value for each in found if each.metric == one.task.metrics[0]))
        self._choose(losses, worth, sum(chosen) / len(chosen))

    def _publish(self) -> None:
        """All of it in our own layout, and for each task the trunk with its head, as fine-tuning on it alone would leave them."""
        for one in self.subjects:
            recipe = self.recipe.model_copy(update={"objective": one.objective})
            model, said = self.tasks.alone(self.model, one.name), card(recipe, one.task, self.trainer.progress)
            write_folder(self.run.path / f"model-{one.name}",
                         lambda partial: hugging_face.write(partial, recipe, model, self.tokenizer, said))      # noqa: B023
        names = ", ".join(one.task.name for one in self.subjects)
        self.run.publish(self.recipe, self.model, self.tokenizer,
                         f"# {self.recipe.name}, fine-tuned on {names}\n\nOne trunk and a head for each task. This folder opens "
                         f"with Foreword; `model-TASK` beside it holds the trunk and one head.\n")

    def _named(self) -> str:
        return f"{len(self.subjects)} tasks"

    def _where(self) -> str:
        return f"models in {self.run.path / 'model'} and model-TASK beside it"

    def _examined(self, best: Loaded) -> tuple[dict[str, Any], list[str]]:
        found: dict[str, Any] = {}
        lines: list[str] = []
        for one in self.subjects:
            model = self.tasks.alone(network_of(best), one.name)
            found[one.name], more = self.examined(model, one.objective, one.task_kind, one.task, {"task": one.name})
            lines += more
        return found, lines

    def _introduce(self) -> None:
        kept = {}
        for one in self.subjects:
            task = one.task
            for note in task.notes:
                say(f"{task.name}: {note}")
            say(f"{task.name} ({task.learn.in_words}): {len(task.train):,} training examples, dev {len(task.dev):,}, test "
                f"{len(task.test):,}, {self.cutter.counts[one.name]:,} batches in an epoch")      # type: ignore[attr-defined]
            kept[one.name] = {
                "name": task.name, "kind": task.kind, "learn": task.learn.model_dump(mode="json"), "labels": list(task.labels),
                "examples": {"train": len(task.train), "dev": len(task.dev), "test": len(task.test)}, "notes": list(task.notes)}
        if cut := self.encoder.truncation_note():
            say(cut)
        say(f"{self.recipe.name}: {thousands(self.model.parameter_count())} parameters, {self._budget()}, on {self.hardware}")
        how = {**asdict(self.how), "settings": list(self.how.settings)}
        self.run.sign(command=sys.argv, seed=self.recipe.training.seed, tokenizer=self.tokenizer.fingerprint, tasks=kept,
                      tuning=how, versions=versions(), hardware=str(self.hardware), finished=False)
