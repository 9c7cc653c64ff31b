"""Label new text with what was fine-tuned: a run, one task of a run of several, or a bare folder in Hugging Face layout."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject, inside, read_json
from foreword.basics.messages import Fault, did_you_mean
from foreword.basics.progress import ticking
from foreword.batches.examples import Examples
from foreword.exchange.family import task_of
from foreword.exchange.hugging_face import FAMILIES, LoadedFolder, network_of
from foreword.objectives import LABELLED
from foreword.objectives.by_task import ByTask
from foreword.runs.folder import RunFolder
from foreword.runs.opening import open_model
from foreword.tasks import LABELLED_KINDS, user_files
from foreword.tasks.example import Example, Span
from foreword.tasks.files import numbered
from foreword.tasks.labelled.base import LabelledKind
from foreword.tasks.labelled_task import unlabelled
from foreword.tokens.tokenizer import Tokenizer
from foreword.transfer.encoding import AROUND, BareFormat, Encoder, InputFormat, input_format_of
from foreword.transfer.inference import Answers, ExampleReader
from foreword.transfer.kinds import answered_by, learned_as, transfer_kind_of
from foreword.transfer.kinds.base import TransferKind

TWO_TEXTS = ("pair", "similarity", "rank")


@dataclass(frozen=True)
class FinetunedTask:
    """One task that a run was fine-tuned on: where its model is, and what the passport says of it."""

    name: str
    folder: Path
    learn: LabelledKind | None = None  # None: nothing says how its examples were read


def is_tuned(path: Path) -> bool:
    """Whether a run or model folder was fine-tuned on a labelled task, as far as can be seen without opening its weights."""
    run = RunFolder(path)
    if run.passport().keys() & {"task", "tasks"}:
        return True
    file = (run.model if run.exists() else path) / "config.json"
    config = read_json(file) if file.is_file() else {}
    said = inside(config, "foreword", "recipe", "objective", "kind") or inside(config, "foreword", "objective", "kind")
    theirs = {task.architecture for family in FAMILIES.values() for task in family.tasks.values()}
    architectures = inside(config, "architectures")
    return said in tuple(LABELLED.places) or (
        isinstance(architectures, list) and any(one in tuple(theirs) for one in architectures)
    )


def taught(path: Path) -> dict[str, FinetunedTask]:
    """By name, all tasks that a run was fine-tuned on; a folder without a passport has one, of its own name."""
    passport = RunFolder(path).passport()
    if said := passport.get("task"):
        return {said["name"]: FinetunedTask(said["name"], path, _learn(said))}
    if several := passport.get("tasks"):
        return {
            name: FinetunedTask(said["name"], path / f"model-{name}", _learn(said)) for name, said in several.items()
        }
    return {path.name: FinetunedTask(path.name, path)}


def _learn(said: JsonObject) -> LabelledKind:
    found: LabelledKind = LABELLED_KINDS.find(said["kind"])(**said["learn"])
    return found


def chosen(path: Path, task: str = "") -> FinetunedTask:
    """The task with this name; a run of one task needs none."""
    known = taught(path)
    if task in known or (not task and len(known) == 1):
        return known[task] if task else next(iter(known.values()))
    names = ", ".join(known)
    if not task:
        raise Fault(f"{path} was fine-tuned on several tasks: {names}.", f"Say which:  --task {next(iter(known))}")
    raise Fault(f"{path} was not fine-tuned on {task!r}.{did_you_mean(task, known)}", f"It knows: {names}.")


class Predictor:
    """A fine-tuned model, open."""

    def __init__(self, path: Path, task: str = ""):
        said = chosen(path, task)
        self.name, self.learn = said.name, said.learn
        self.loaded: LoadedFolder = open_model(said.folder)
        self.objective = task_of(self.loaded.recipe)
        if self.objective is None:
            raise Fault(
                f"{path} is not a fine-tuned run or model.", "Make one:  foreword finetune MODEL TASK --out RUN"
            )
        if isinstance(self.objective, ByTask):
            raise Fault(
                f"{path} has a head for each of {', '.join(self.objective.names)}.",
                "Give the run it is of, and --task; or the folder model-TASK beside it.",
            )
        if self.loaded.tokenizer is None:
            raise Fault(
                f"{path} has no tokenizer.", "Copy the files of its tokenizer (tokenizer.json) into the folder."
            )
        cut = self.loaded.recipe.batches
        assert isinstance(cut, Examples)
        self.kinds: Sequence[str] = (self.learn.kind,) if self.learn else answered_by(self.objective.kind)
        input_format = _input_format(self.loaded.recipe, self.loaded.tokenizer)
        self.task_kind, self.tokenizer = self._kind(), input_format.extended(self.loaded.tokenizer)
        self.labels: tuple[str, ...] = tuple(getattr(self.objective, "labels", ()))
        self.encoder = Encoder(input_format, self.tokenizer, cut)

    def _kind(self) -> TransferKind:
        if self.learn:
            return learned_as(self.learn, self.name, self.loaded.recipe)
        if not self.kinds:
            raise Fault(
                f"{self.name} writes its answers, and nothing says to which task.",
                "Give the run it is of, or ask it:  foreword translate RUN FILE",
            )
        return transfer_kind_of(self.kinds[0])

    def examples(self, path: Path, columns: Sequence[str] = ()) -> list[Example]:
        """The examples of a file, which need no labels: columns as in training; of a .txt, every line is one."""
        if path.suffix == ".txt":
            return lines_of(path, self.kinds)
        learn = self.learn or user_files.to_answer(user_files.rows_of(path, columns), self.kinds, str(path))
        return unlabelled(path, learn, columns)

    def of_texts(self, texts: Sequence[str | tuple[str, ...]]) -> list[Example]:
        """Examples that are a text each, or a pair of texts."""
        single = any(LABELLED_KINDS.find(kind).lines for kind in self.kinds)
        pair = bool(set(self.kinds) & set(TWO_TEXTS))
        found = [(text,) if isinstance(text, str) else tuple(text) for text in texts]
        for one in found:
            if len(one) > 2 or not (single, pair)[len(one) - 1]:
                wanted = " or ".join(["a text"] * single + ["a pair of texts"] * pair)
                raise Fault(
                    f"{self.name} answers to {wanted or f'examples of the kind {self.kinds[0]}'}, not to {one!r}.",
                    "" if wanted else "Give a file:  foreword predict RUN FILE",
                )
        return [_example(number, *one) for number, one in enumerate(found, 1)]

    def predict(self, examples: Sequence[Example]) -> Answers:
        encoded = self.task_kind.encode(examples, self.labels, self.encoder)
        reader = ExampleReader(network_of(self.loaded), self.objective, self.task_kind, self.tokenizer)
        with ticking(f"{len(examples):,} examples") as ticker:
            return reader.answer(examples, encoded, watch=ticker.update)


def _input_format(recipe: Recipe, tokenizer: Tokenizer) -> InputFormat:
    """As in training: where the vocabulary has no special tokens for it, none stood around the texts."""
    input_format = input_format_of(recipe)
    marked = all(tokenizer.backend.token_to_id(token) is not None for token in AROUND.values())
    return input_format if marked or input_format.reading != "last" else BareFormat()


def lines_of(path: Path, kinds: Sequence[str]) -> list[Example]:
    if not path.is_file():
        raise Fault(f"{path} is not there.")
    needed = [LABELLED_KINDS.find(kind) for kind in kinds]
    if not any(kind.lines for kind in needed):
        raise Fault(
            f"{path} has one text on a line; {needed[0].in_words} needs more than that.",
            f"Give a csv, tsv or jsonl with the columns {needed[0].columns_in_words(False)}, "
            "or as they were named in training.",
        )
    found = [_example(number, line.strip()) for number, line in numbered(path) if line.strip()]
    if not found:
        raise Fault(f"{path} holds no text.")
    return found


def _example(number: int, *texts: str) -> Example:
    words = (Span(word.start(), word.end(), word[0]) for word in re.finditer(r"\S+", texts[0]))
    return Example(str(number), texts, words=tuple(words))
