"""Fine-tune a model on a labelled task, in a run folder: the same trainer, the best weights on dev, one look at test."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from foreword.assembly import loader
from foreword.assembly.recipe import Recipe, kind
from foreword.basics.files import write_text
from foreword.basics.messages import Diverged, Fault, did_you_mean, duration, thousands
from foreword.basics.progress import say, ticking
from foreword.batches.encoded import EncodedExample
from foreword.batches.examples import Examples
from foreword.exchange.family import task_of
from foreword.exchange.hugging_face import Loaded, network_of
from foreword.networks.base import Model
from foreword.networks.features import READERS, trunk_of
from foreword.objectives.examples import FromExamples
from foreword.runs.folder import RunFolder
from foreword.runs.opening import open_model
from foreword.runs.starting import check_same_start
from foreword.runs.train import Session, versions
from foreword.tasks.example import Example
from foreword.tasks.judging import scored
from foreword.tasks.labelled_task import LabelledTask
from foreword.tokens.tokenizer import Tokenizer
from foreword.training.hardware import Hardware
from foreword.transfer import INPUT_FORMATS, features
from foreword.transfer.encoding import Encoder, InputFormat
from foreword.transfer.inference import Watch, answer_examples
from foreword.transfer.initial_weights import INITS, continued_objective, fingerprint, initial_model
from foreword.transfer.kinds import transfer_kind_of
from foreword.transfer.kinds.base import TransferKind, prediction_record
from foreword.transfer.label_subset import label_subset
from foreword.transfer.model_card import card

RATES = {"last": 6.25e-5, "first": 5e-5}        # Radford et al. 2018, section 4.1; Devlin et al. 2018, appendix A.3
PUBLISHED = 768                                 # the width of the networks these rates are for
DROPOUT = 0.1                                   # before the last layer of the head, in both
EVALUATIONS = 10                                # of a run at most: an epoch of few labels is a step or two, and dev is not
FEW = 100                                       # steps: below, a network has hardly moved (Mosbach et al. 2021 take far more)
UNLIMITED = 512                                 # tokens of a sequence, for a network that has no context of its own


@dataclass(frozen=True)
class Tuning:
    """How to fine-tune: what the papers leave to a grid."""

    epochs: float = 3.0
    batch_size: int = 32
    learning_rate: float | None = None       # the published one if not said, in proportion larger for a narrower network
    seed: int = 0
    labels: int | None = None                # so many training examples, with the shares of the classes kept; None: all
    init: str = "pretrained"
    layers: int | None = None                # blocks that are transferred, from below; the others are drawn. None: all
    aux: float = 0.0                         # weight of guessing the tokens of the examples as well (Radford et al.: 0.5)
    patience: int | None = None              # evaluations without a better one after which it ends; None: it never does
    settings: tuple[str, ...] = ()           # as --set
    features: str = ""                       # the trunk stays as it is, and its layers, mixed, are read so: linear, bilstm

    def check(self) -> None:
        faults = [f"{name} must be {words} (it says {value})." for name, words, value, right in (
            ("epochs", "more than 0", self.epochs, self.epochs > 0), ("aux", "at least 0", self.aux, self.aux >= 0),
            ("patience", "at least 1", self.patience, (self.patience or 1) > 0),
            ("layers", "at least 0", self.layers, (self.layers or 0) >= 0)) if not right]
        if self.init not in INITS:
            faults.append(f"init must be one of {', '.join(INITS)}.{did_you_mean(self.init, INITS)}")
        if self.features not in ("", *READERS.names()):
            faults.append(f"features must be one of {', '.join(READERS.names())}.{did_you_mean(self.features, READERS.names())}")
        if faults:
            raise Fault(" ".join(faults))


def input_format_of(recipe: Recipe) -> InputFormat:
    """How the recipe's network reads examples."""
    name = kind(trunk_of(recipe.network))
    if name not in INPUT_FORMATS.places:
        raise Fault(f"{recipe.name} ({name}) cannot be fine-tuned.", f"Networks that can: {', '.join(INPUT_FORMATS.names())}.")
    return INPUT_FORMATS.find(name)()


def recipe_for(loaded: Loaded, task: LabelledTask, how: Tuning) -> Recipe:
    """The pretrained model's recipe, with the task in the place of what it was pretrained for."""
    how.check()
    input_format, task_kind = input_format_of(loaded.recipe), transfer_kind_of(task.kind)
    if how.aux and input_format.reading == "first":
        raise Fault(f"--aux {how.aux:g}: {loaded.recipe.name} looks both ways, and would see the tokens that it is to guess.",
                    "Leave it out.")
    values = loaded.recipe.values()
    network = values["network"] = features.over(values["network"], how.features) if how.features else values["network"]
    trunk, frozen = network.get("trunk", network), "trunk" in network
    if frozen:
        features.check(how.aux, how.layers)
    rate = how.learning_rate or RATES[input_format.reading] * max(1.0, PUBLISHED / trunk["width"])
    learning = {"optimizer": {"kind": "adamw", "learning_rate": rate}, "schedule": {"kind": "linear", "warmup": 0.1}}
    fresh = task_kind.objective(task.labels, input_format.reading, DROPOUT, task.train)
    objective = continued_objective(loaded, fresh).model_dump(mode="json")
    objective["tells_padding"] = frozen
    values["objective"] = objective if not how.aux else {
        "kind": "together", "parts": [objective, {"kind": "read_along"}], "weights": [1.0, how.aux]}
    values["batches"] = {"kind": "examples"} | ({} if trunk.get("context") else {"length": UNLIMITED})
    values["training"] = {
        "kind": "gradient", "budget": f"{how.epochs:g}epochs", "batch_size": how.batch_size, "seed": how.seed,
        "evaluate": f"{max(1.0, how.epochs / EVALUATIONS):g}epochs",
        **(features.learning(how.learning_rate) if frozen else learning)}
    return loader.from_values(values, "fine-tuning", how.settings)


def finetune(model: str | Path, task: LabelledTask, out: Path, how: Tuning | None = None,
             hardware: Hardware | None = None) -> RunFolder:
    """Fine-tune until the epochs are over. A run that stopped before goes on from its last checkpoint."""
    sitting = finetune_run(model, task, RunFolder(out), how or Tuning(), hardware)
    return completed(sitting, model, contents(sitting.task))


def finetune_run(model: str | Path, task: LabelledTask, run: RunFolder, how: Tuning,
                 hardware: Hardware | None = None) -> FinetuneRun:
    """All is there to begin, and nothing written."""
    loaded = open_model(model)
    if not isinstance(loaded.model, Model) or loaded.tokenizer is None:
        raise Fault(f"{model} ({loaded.recipe.name}) cannot be fine-tuned: it "
                    + ("has no tokenizer." if isinstance(loaded.model, Model) else "counts, and has no weights to adapt."))
    recipe = recipe_for(loaded, task, how)
    return FinetuneRun(recipe, label_subset(task, how.labels, how.seed), run, loaded, how, hardware)


def completed(sitting: FinetuneRun, model: str | Path, data: str) -> RunFolder:
    """The sitting begun, or gone on with, until it is over. `data`: the fingerprint of its examples."""
    out, start = sitting.run.path, {"path": str(model), "weights": fingerprint(sitting.model)}
    check_same_start(sitting.run, start)
    if not sitting.run.claim(sitting.recipe, data):
        sitting.run.sign(start=start)
    before = sitting.run.passport()
    if before.get("finished"):
        say(f"{out}: this run is finished; nothing is left to do.")
        return sitting.run
    if "diverged" in before:
        raise Diverged(f"{out}: the loss of this run ran away, or became no number, after step {before['diverged']:,}.",
                       "It would be so again. Choose another --learning-rate, and another --out or remove that folder.")
    sitting.resume()
    try:
        sitting.go()
    except Diverged:
        sitting.run.sign(diverged=sitting.trainer.progress.step)
        raise
    return sitting.run


def contents(task: LabelledTask) -> str:
    """The fingerprint of what is learned from and measured on."""
    digest = hashlib.blake2b(digest_size=16)
    for examples in (task.train, task.dev, task.test):
        for one in examples:
            digest.update(repr((one.texts, one.label, one.choices, one.group)).encode())
        digest.update(b"\x00")
    return digest.hexdigest()


class FinetuneRun(Session):
    """A session whose rows are labelled examples, and which is judged by what it answers on dev."""

    def __init__(self, recipe: Recipe, task: LabelledTask, run: RunFolder, loaded: Loaded, how: Tuning,
                 hardware: Hardware | None = None):
        self.recipe, self.task, self.run, self.how, self.hardware = recipe, task, run, how, hardware or Hardware()
        self.store = self.valid = None                       # type: ignore[assignment]
        self.input_format, self.task_kind = input_format_of(recipe), transfer_kind_of(task.kind)
        assert loaded.tokenizer is not None
        self.tokenizer: Tokenizer = self.input_format.extended(loaded.tokenizer)
        self.objective: FromExamples = task_of(recipe)
        assert isinstance(recipe.batches, Examples)
        self.encoder = Encoder(self.input_format, self.tokenizer, recipe.batches)
        self.train = self.encoded(task.train)
        if all(one.target is None for one in self.train):
            raise Fault(f"{task.name}: no training example has an answer that tokens of its text stand for.")
        self.dev = self.encoded(task.dev)
        self.encoded(task.test)                              # what cannot be read is said before anything is learned
        spec = recipe.training
        self.prepare(initial_model(recipe, loaded, self.tokenizer, how.init, how.layers),
                     recipe.batches.of(self.train, spec.batch_size, spec.seed))

    def encoded(self, examples: Sequence[Example]) -> list[EncodedExample]:
        return self.task_kind.encode(examples, self.task.labels, self.encoder)

    @cached_property
    def chooses(self) -> str:
        """The metric by which dev chooses."""
        return self.task.metrics[0]

    def asking(self, what: str) -> Watch:
        """Shows, within the training's own progress, how much of something has been read."""
        def watch(share: float) -> None:
            if self.ticker is not None:
                self.ticker.update(self.trainer.spent(), f"step {self.trainer.progress.step:,}  {what} {share:.0%} read")
        return watch

    def evaluate(self, anyway: bool = False) -> None:
        said = answer_examples(self.model, self.objective, self.task_kind, self.task.dev, self.dev, self.tokenizer, self.hardware,
                     watch=self.asking("dev"))
        found = scored(self.task.metrics, self.task.labels, self.task.dev, said.labels, False)
        worth = {one.metric: one.value for one in found}
        loss = said.loss if math.isfinite(said.loss) else 0.0        # no label of dev can be learned
        self._choose({f"nll.{self.objective.name}": loss}, worth, worth[self.chooses])

    def _choose(self, losses: dict[str, float], worth: dict[str, float], value: float) -> None:
        """Keep these weights if dev never saw better ones; end where it has waited long enough for some."""
        progress, loss = self.trainer.progress, sum(losses.values())
        before = progress.best
        better = not before or (value, -loss) > (before["dev"], -before["valid"])
        self._note({"step": progress.step, "tokens": progress.tokens, "valid": losses, "dev": worth, "best": better})
        if better:
            progress.best = {"step": progress.step, "valid": loss, "dev": value, "waited": 0}
            self._publish()
            return
        progress.best = {**before, "waited": before.get("waited", 0) + 1}
        if self.how.patience and progress.best["waited"] >= self.how.patience:
            say(f"no better than step {progress.best['step']:,.0f} for {self.how.patience} evaluations: it ends here.")
            self.enough = self.trainer.stopping = True

    def _finish(self) -> None:
        if not self.trainer.progress.best or self._due():
            self.evaluate(anyway=True)
        if self.trainer.progress.pending:
            self.log()
        self.save()
        best = open_model(self.run.path)                     # as others will open it
        network_of(best).to(self.hardware.device)
        found, lines = self._examined(best)
        write_text(self.run.path / "predictions.jsonl", "".join(lines))
        progress = self.trainer.progress
        self.run.sign(step=progress.step, tokens=progress.tokens, seconds=round(progress.seconds, 1), best=progress.best,
                      parameters=self.model.parameter_count(), scores=found, finished=True)
        say(f"{self._named()}: {progress.step:,} steps in {duration(progress.seconds)}, the best on dev after step "
            f"{progress.best['step']:,.0f}; {self._where()}")

    def _named(self) -> str:
        return self.task.name

    def _where(self) -> str:
        return f"model in {self.run.path / 'model'}"

    def _examined(self, best: Loaded) -> tuple[dict[str, Any], list[str]]:
        """(scores of dev and test, lines of predictions.jsonl)"""
        return self.examined(network_of(best), task_of(best.recipe), self.task_kind, self.task)

    def examined(self, model: Model, objective: FromExamples, task_kind: TransferKind, task: LabelledTask,
                 about: dict[str, str] | None = None) -> tuple[dict[str, Any], list[str]]:
        """The same of one task. `about` stands before every line."""
        found: dict[str, Any] = {}
        lines = []
        for split, examples in (("dev", task.dev), ("test", task.test)):
            encoded = task_kind.encode(examples, task.labels, self.encoder)
            with ticking(f"{task.name} {split}") as ticker:
                said = answer_examples(model, objective, task_kind, examples, encoded, self.tokenizer, self.hardware,
                                       watch=ticker.update)
            found[split] = {one.metric: {"value": one.value, "interval": list(one.interval), "count": one.count,
                                         "shown": one.shown}
                            for one in scored(task.metrics, task.labels, examples, said.labels, True)}
            lines += [json.dumps({**(about or {}), "split": split, **prediction_record(example, answer)},
                                 ensure_ascii=False) + "\n"
                      for example, answer in zip(examples, said.answers)]
        return found, lines

    def _due(self) -> bool:
        """The last step has not been evaluated."""
        return not self.enough and not any("dev" in record and record["step"] == self.trainer.progress.step
                                           for record in self.run.metrics()[-3:])

    def _publish(self) -> None:
        """The trunk and the task's head, without what was only learned beside it."""
        alone = self.recipe.model_copy(update={"objective": self.objective})
        model = Model(self.model.network, {self.objective.name: self.model.heads[self.objective.name]})
        self.run.publish(alone, model, self.tokenizer, card(alone, self.task, self.trainer.progress))

    def steps(self) -> int | None:
        """How many it will take, where a budget of epochs says so."""
        budget = self.trainer.budget
        return math.ceil(budget.amount / self.trainer.stream.epochs(1) - 1e-9) if budget.unit == "epochs" else None

    def tokens(self) -> float:
        """How many it will read, about."""
        mean = sum(one.length for one in self.train) / len(self.train)
        return (self.steps() or math.inf) * self.recipe.training.batch_size * mean

    def _budget(self) -> str:
        """All-MiniLM-L6-v2 got 14 F1 of SQuAD in 95 steps of 32 questions, and 56 in 302 of 8: steps count, not examples."""
        said, steps = f"budget {self.trainer.budget.written}", self.steps()
        if steps is None:
            return said
        return f"{said}, {steps:,} steps" + (" (few: a smaller --batch-size or more --epochs make more)" if steps < FEW else "")

    def _introduce(self) -> None:
        task = self.task
        for note in (*task.notes, *filter(None, [self.encoder.truncation_note()])):
            say(f"{task.name}: {note}")
        say(f"{self.recipe.name} on {task.name} ({task.learn.in_words}): {thousands(self.model.parameter_count())} parameters, "
            f"{len(task.train):,} training examples, dev {len(task.dev):,}, test {len(task.test):,}, "
            f"{self._budget()}, on {self.hardware}")
        kept = {"name": task.name, "kind": task.kind, "learn": task.learn.model_dump(mode="json"), "labels": list(task.labels),
                "examples": {"train": len(task.train), "dev": len(task.dev), "test": len(task.test)}, "notes": list(task.notes),
                "shortened": {"texts": len(self.encoder.truncated), "tokens": sum(self.encoder.truncated.values())}}
        how = {**asdict(self.how), "settings": list(self.how.settings)}
        self.run.sign(command=sys.argv, seed=self.recipe.training.seed, tokenizer=self.tokenizer.fingerprint, task=kept,
                      tuning=how, versions=versions(), hardware=str(self.hardware), finished=False)
