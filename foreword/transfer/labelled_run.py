"""A run on labelled tasks: one, or several that share a network and have a head each. Dev chooses, test is looked at once."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject, write_folder, write_text
from foreword.basics.messages import Diverged, Fault, duration, thousands
from foreword.basics.progress import say, ticking
from foreword.batches.by_task import TaskCutter
from foreword.batches.cuts import Cutter
from foreword.batches.encoded import EncodedExample
from foreword.batches.examples import Examples
from foreword.exchange import electra, hugging_face
from foreword.exchange.family import task_of
from foreword.exchange.hugging_face import LoadedFolder, network_of
from foreword.networks.base import Model
from foreword.networks.generator_discriminator import GeneratorDiscriminator
from foreword.objectives.by_task import ByTask
from foreword.objectives.examples import FromExamples
from foreword.runs.folder import RunFolder
from foreword.runs.loop import Evaluation, RunLoop, check_same
from foreword.runs.opening import open_model
from foreword.runs.starting import check_same_start
from foreword.tasks.example import Example
from foreword.tasks.labelled_task import LabelledTask
from foreword.training.gradient import GradientLearner
from foreword.training.hardware import Hardware
from foreword.transfer.encoding import Encoder, input_format_of
from foreword.transfer.inference import ExampleReader
from foreword.transfer.initial_weights import fingerprint, initial_model
from foreword.transfer.kinds import learned_as
from foreword.transfer.kinds.base import TransferKind, prediction_record
from foreword.transfer.label_subset import label_subset
from foreword.transfer.model_card import card, shared_card
from foreword.transfer.over_vectors import network_over
from foreword.transfer.tuning import FinetuneSettings
from foreword.vectors.words import is_vectors

FEW = 100  # steps: below, a network has hardly moved (Mosbach et al. 2021 take far more)


@dataclass(frozen=True)
class TaskInTraining:
    """One of the tasks, ready to be learned and asked."""

    name: str  # in the run; empty where it is the only one
    task: LabelledTask
    kind: TransferKind
    objective: FromExamples
    train: list[EncodedExample]
    dev: list[EncodedExample]

    def key(self, metric: str) -> str:
        return f"{self.name}.{metric}" if self.name else metric

    def reader(self, model: Model, loop: RunLoop) -> ExampleReader:
        return ExampleReader(model, self.objective, self.kind, loop.tokenizer, loop.hardware)

    def facts(self) -> JsonObject:
        """What the passport says of it, so that its examples can be read again."""
        task = self.task
        return {
            "name": task.name,
            "kind": task.kind,
            "learn": task.learn.model_dump(mode="json"),
            "labels": list(task.labels),
            "examples": {"train": len(task.train), "dev": len(task.dev), "test": len(task.test)},
            "notes": list(task.notes),
        }

    def about(self) -> str:
        return f"{self.task.name} ({self.task.learn.in_words})"

    def sizes(self) -> str:
        return f"{len(self.task.train):,} training examples, dev {len(self.task.dev):,}, test {len(self.task.test):,}"


def opened(model: str | Path, how: FinetuneSettings | None = None) -> LoadedFolder:
    """A model that can be fine-tuned: of a generator and a discriminator the latter; word vectors as a network's token table."""
    if how and how.network and is_vectors(Path(model)):
        return network_over(Path(model), how.network, how.settings, how.seed)
    loaded = open_model(model)
    if not isinstance(loaded.model, Model) or loaded.tokenizer is None:
        raise Fault(
            f"{model} ({loaded.recipe.name}) cannot be fine-tuned: it "
            + ("has no tokenizer." if isinstance(loaded.model, Model) else "counts, and has no weights to adapt."),
            "Word vectors become the token table of a network:  --set network=lstm"
            if loaded.recipe.network.trained_by == "online"
            else "",
        )
    if isinstance(loaded.model.network, GeneratorDiscriminator):
        recipe, half = electra.part_of(loaded.recipe, loaded.model, "discriminator")
        return replace(loaded, recipe=recipe, model=half)
    return loaded


def labelled_run(
    recipe: Recipe,
    tasks: Sequence[LabelledTask],
    run: RunFolder,
    loaded: LoadedFolder,
    how: FinetuneSettings,
    hardware: Hardware | None = None,
) -> RunLoop:
    """All is there to begin, and nothing written."""
    assert loaded.tokenizer is not None
    assert isinstance(recipe.batches, Examples)
    input_format, spec = input_format_of(recipe), recipe.training
    tokenizer = input_format.extended(loaded.tokenizer)
    tasks = [label_subset(task, how.labels, how.seed) for task in tasks]
    check_same(hardware, recipe, contents_of(tasks))
    workload = LabelledWorkload(recipe, tasks, Encoder(input_format, tokenizer, recipe.batches), how)
    trained, order = {one.name: one.train for one in workload.subjects}, (spec.batch_size, spec.seed)
    mixed = workload.together
    cutter: Cutter = (
        TaskCutter(trained, *order, mixed.limit, mixed.temperature) if mixed else recipe.batches.of(trained[""], *order)
    )
    model = initial_model(recipe, loaded, tokenizer, how.init, how.layers)
    loop = RunLoop(recipe, model, tokenizer, cutter, workload, run, hardware, how.patience)
    if (
        workload.together
    ):  # tasks differ in the size of their batches: what fits of the first says nothing of the others
        assert isinstance(loop.learner, GradientLearner)
        loop.learner.share = loop.learner.spec.micro_batch or spec.batch_size
    return loop


def completed(loop: RunLoop, model: str | Path) -> RunFolder:
    """The run begun, or gone on with, until it is over. `model`: what it starts from."""
    run, start = loop.run, {"path": str(model), "weights": fingerprint(loop.model)}
    assert isinstance(loop.workload, LabelledWorkload)
    loop.ranks.check_same({"the weights to begin with": str(start)})
    check_same_start(run, start)
    with run.held():
        _complete(loop, contents_of(one.task for one in loop.workload.subjects), start)
    return run


def _complete(loop: RunLoop, data: str, start: dict[str, str]) -> None:
    run = loop.run
    with loop.ranks.first_rank_first():
        run.claim(loop.recipe, data, start=start)
    before = run.passport()
    if before.get("finished"):
        say(f"{run.path}: this run is finished; nothing is left to do.")
        return
    if "diverged" in before:
        raise Diverged(
            f"{run.path}: the loss of this run ran away, or became no number, after step {before['diverged']:,}.",
            "It would be so again. Choose another --learning-rate, and another --out or remove that folder.",
        )
    loop.resume()
    try:
        loop.go()
    except Diverged:
        run.sign(diverged=loop.trainer.progress.step)
        raise


def contents_of(tasks: Iterable[LabelledTask]) -> str:
    return " ".join(map(contents, tasks))


def contents(task: LabelledTask) -> str:
    """The fingerprint of what is learned from and measured on."""
    digest = hashlib.blake2b(digest_size=16)
    for examples in (task.train, task.dev, task.test):
        for one in examples:
            digest.update(repr((one.texts, one.label, one.choices, one.group)).encode())
        digest.update(b"\x00")
    return digest.hexdigest()


class LabelledWorkload:
    """Labelled examples, judged by what is answered on dev: of several tasks, by the mean of what each chooses by."""

    def __init__(self, recipe: Recipe, tasks: Sequence[LabelledTask], encoder: Encoder, how: FinetuneSettings):
        self.recipe, self.encoder, self.how = recipe, encoder, how
        self.together = recipe.objective if isinstance(recipe.objective, ByTask) else None
        names = self.together.names if self.together else [""]
        self.subjects = [self._subject(name, task) for name, task in zip(names, tasks, strict=True)]

    def _subject(self, name: str, task: LabelledTask) -> TaskInTraining:
        kind = learned_as(task.learn, task.name, self.recipe)
        objective = self.together.of(name) if self.together else task_of(self.recipe)
        # test too: what cannot be read is said before anything is learned
        train, dev, _ = (kind.encode(some, task.labels, self.encoder) for some in (task.train, task.dev, task.test))
        if all(one.target is None for one in train):
            raise Fault(f"{task.name}: no training example has an answer that tokens of its text stand for.")
        return TaskInTraining(name, task, kind, objective, train, dev)

    def alone(self, model: Model, one: TaskInTraining) -> Model:
        """The network and the head of one task, without what was only learned beside it."""
        name = one.objective.name
        return (
            self.together.alone(model, one.name) if self.together else Model(model.network, {name: model.heads[name]})
        )

    def logged(self, loop: RunLoop) -> JsonObject:
        return {}

    def evaluate(self, loop: RunLoop) -> Evaluation:
        loop.model.eval()  # all of it: what reads one head leaves the others as they were
        losses: dict[str, float] = {}
        scores: dict[str, float] = {}
        chosen = []
        for one in self.subjects:
            reader = one.reader(self.alone(loop.model, one), loop)
            with loop.ranks.gathered(loop.model):
                said = reader.answer(one.task.dev, one.dev, watch=lambda share: loop.show("dev", share))
            found = one.task.scored(one.task.dev, said.labels, interval=False)
            loss = said.loss if math.isfinite(said.loss) else 0.0  # no label of dev can be learned
            losses[f"nll.{one.name or one.objective.name}"] = loss
            scores |= {one.key(each.metric): each.value for each in found}
            chosen.append(scores[one.key(one.task.metrics[0])])
        return Evaluation(losses, {"dev": scores}, sum(chosen) / len(chosen))

    def publish(self, loop: RunLoop) -> None:
        """For each task the network with its head; of several, all of it beside them in our own layout."""
        progress, whole = loop.trainer.progress, loop.whole_model()
        if whole is None:
            return
        for one in self.subjects:
            recipe = self.recipe.model_copy(update={"objective": one.objective})
            model, about = self.alone(whole, one), card(recipe, one.task, progress)
            if not one.name:
                loop.run.publish(recipe, model, loop.tokenizer, about)
                return
            _write(loop.run.path / f"model-{one.name}", recipe, model, loop, about)
        loop.run.publish(
            self.recipe, whole, loop.tokenizer, shared_card(self.recipe, [one.task for one in self.subjects])
        )

    def finish(self, loop: RunLoop) -> JsonObject:
        best = network_of(open_model(loop.run.path))  # as others will open it
        best.to(loop.hardware.device)
        found: JsonObject = {}
        lines: list[str] = []
        for one in self.subjects:
            model = self.alone(best, one)
            scores = {
                split: self._examined(model, one, split, examples, loop, lines)
                for split, examples in (("dev", one.task.dev), ("test", one.task.test))
            }
            found |= {one.name: scores} if one.name else scores
        write_text(loop.run.path / "predictions.jsonl", "".join(lines))
        progress, model_folder = loop.trainer.progress, loop.run.path / "model"
        named, where = self.subjects[0].task.name, f"model in {model_folder}"
        if self.together:
            named, where = f"{len(self.subjects)} tasks", f"models in {model_folder} and model-TASK beside it"
        say(
            f"{named}: {progress.step:,} steps in {duration(progress.seconds)}, the best on dev after step "
            f"{progress.best['step']:,.0f}; {where}"
        )
        return {"scores": found}

    def _examined(
        self,
        model: Model,
        one: TaskInTraining,
        split: str,
        examples: Sequence[Example],
        loop: RunLoop,
        lines: list[str],
    ) -> JsonObject:
        """Scores of a split; what was predicted is added to the lines of predictions.jsonl."""
        encoded = one.kind.encode(examples, one.task.labels, self.encoder)
        with ticking(f"{one.task.name} {split}") as ticker:
            said = one.reader(model, loop).answer(examples, encoded, watch=ticker.update)
        about = {"task": one.name, "split": split} if one.name else {"split": split}
        lines += [
            json.dumps({**about, **prediction_record(example, answer)}, ensure_ascii=False) + "\n"
            for example, answer in zip(examples, said.answers)
        ]
        return {each.metric: each.values() for each in one.task.scored(examples, said.labels)}

    def tokens(self, loop: RunLoop) -> float:
        """How many it will read, about."""
        lengths = [example.length for one in self.subjects for example in one.train]
        return (loop.steps() or math.inf) * self.recipe.training.batch_size * sum(lengths) / len(lengths)

    def introduce(self, loop: RunLoop) -> JsonObject:
        size, cut = f"{thousands(loop.model.parameter_count())} parameters", self.encoder.truncation_note()
        how = {**asdict(self.how), "settings": list(self.how.settings)}
        for one in self.subjects:
            for note in one.task.notes:
                say(f"{one.task.name}: {note}")
            if isinstance(loop.cutter, TaskCutter):
                say(f"{one.about()}: {one.sizes()}, {loop.cutter.counts[one.name]:,} batches in an epoch")
        one = self.subjects[0]
        if cut:
            say(cut if one.name else f"{one.task.name}: {cut}")
        work = f"{_budget(loop)}, on {loop.hardware}"
        if one.name:
            say(f"{self.recipe.name}: {size}, {work}")
            return {"tasks": {one.name: one.facts() for one in self.subjects}, "tuning": how}
        say(f"{self.recipe.name} on {one.about()}: {size}, {one.sizes()}, {work}")
        truncated = {"texts": len(self.encoder.truncated), "tokens": sum(self.encoder.truncated.values())}
        return {"task": {**one.facts(), "shortened": truncated}, "tuning": how}


def _write(folder: Path, recipe: Recipe, model: Model, loop: RunLoop, about: str) -> None:
    write_folder(folder, lambda partial: hugging_face.write(partial, recipe, model, loop.tokenizer, about))


def _budget(loop: RunLoop) -> str:
    """All-MiniLM-L6-v2 got 14 F1 of SQuAD in 95 steps of 32 questions, and 56 in 302 of 8: steps count, not examples."""
    said, steps = f"budget {loop.trainer.budget.written}", loop.steps()
    if steps is None:
        return said
    few = " (few: a smaller --batch-size or more --epochs make more)" if steps < FEW else ""
    return f"{said}, {steps:,} steps{few}"
