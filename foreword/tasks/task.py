"""A task: one short TOML file that says where examples are and how they are asked. Built in or a user's own, the same form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from foreword.basics import toml
from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault, Faults, did_you_mean
from foreword.basics.registry import Registry
from foreword.basics.sections import Written, construct
from foreword.basics.seeds import chance, number_of
from foreword.basics.spec import Spec
from foreword.tasks import LABELLED_KINDS, PROMPTED_KINDS, SOURCES
from foreword.tasks.example import UnusableExample
from foreword.tasks.files import SPLITS, ExampleSource, Missing, SearchPath
from foreword.tasks.hub import Hub
from foreword.tasks.labelled.base import LabelledKind
from foreword.tasks.labelled.choice import MultipleChoice
from foreword.tasks.labelled.columns import Columns
from foreword.tasks.prompted.request import PromptedKind
from foreword.tasks.template import Row
from foreword.tasks.user_files import rows_of

PAIRS = (".tsv", ".csv", ".jsonl")  # endings of files of minimal pairs
KNOWN = Path(__file__).parent / "catalogue"


class Submission(Spec):
    """What a benchmark asks for: predictions for files without labels."""

    benchmark: str
    files: dict[str, str]  # name of the file to write -> file to read
    metrics: tuple[str, ...] = ()  # the mean of these is the task's score; none: its first metric


class TaskSpec(Spec):
    """What a task file says."""

    chosen: ClassVar[Mapping[str, Registry]] = {"source": SOURCES, "request": PROMPTED_KINDS, "learn": LABELLED_KINDS}

    name: str
    about: str = ""
    paper: str = ""
    source: ExampleSource
    request: PromptedKind | None = None  # how a language model is asked; a task may only be learned
    learn: LabelledKind | None = None  # what is learned from its labels; a task may only be asked
    hub: Hub | None = None  # the same data at huggingface.co
    submission: Submission | None = None
    fails: float | None = None  # a share of wrong answers above which a task counts as failed (bAbI)
    split: str = "test"  # what is asked
    shots: int = 0  # solved examples before each question, unless --shots says another number
    shots_from: str = "train"  # where they are drawn
    description: str = ""  # stands before everything, with or without shots
    separator: str = "\n\n"  # between description, shots and question

    def faults(self) -> list[tuple[str, str]]:
        there = self.source.splits()
        if self.request is None:
            missing = "a task needs a section [request] (how it is asked) or [learn] (what is learned)."
            return [] if self.learn else [("name", missing)]
        found = [] if self.shots >= 0 else [("shots", f"a number of examples is at least 0 (it says {self.shots}).")]
        for setting in ("split", "shots_from"):
            if (said := getattr(self, setting)) not in there and (
                setting == "split" or self.shots or said not in SPLITS
            ):
                found.append((setting, f"the source has no split {said!r}. It has: {', '.join(there)}."))
        return found


@dataclass(frozen=True)
class FewShotPrompt:
    """What stands before a question."""

    description: str = ""
    shots: tuple[str, ...] = ()
    separator: str = "\n\n"

    def before(self, keep: int | None = None) -> str:
        """Description and the last `keep` shots, each with its separator behind it."""
        shots = self.shots if keep is None else self.shots[len(self.shots) - keep :]
        return "".join(part + self.separator for part in (self.description, *shots) if part)


@dataclass(frozen=True)
class Question:
    number: int  # its place in the split, from 0
    row: Row


@dataclass(frozen=True)
class Task:
    """A task with its data at hand."""

    name: str  # with the variant: arithmetic/two_digit_addition
    spec: TaskSpec
    data: SearchPath
    place: Callable[[str], str] = field(repr=False)  # file and line of a setting

    @property
    def kind(self) -> PromptedKind:
        if self.spec.request is None:
            raise Fault(
                f"{self.name} is a task to be learned, not one to be asked.",
                f"Teach it:  foreword finetune MODEL {self.name}",
            )
        return self.spec.request

    def examples(self, limit: int | None = None) -> tuple[list[Question], list[str]]:
        """(the examples to ask, the first `limit` of them; why others were left out)."""
        found: list[Question] = []
        reasons = []
        for number, row in enumerate(self._asked):
            if limit is not None and len(found) == limit:
                break
            try:
                self.kind.requests(row)
                found.append(Question(number, row))
            except UnusableExample as reason:
                reasons.append(f"example {number + 1} was left out: {reason}")
        if not found:
            raise Fault(f"{self.name} has no example that can be asked.", "; ".join(reasons[:3]))
        return found, reasons

    def prompt(self, example: Question, shots: int, seed: int = 0) -> FewShotPrompt:
        """Description and `shots` solved examples drawn for this one, never the question itself."""
        if not shots:
            return FewShotPrompt(self.spec.description, (), self.spec.separator)
        query = self.kind.requests(example.row)[0].query
        chosen: list[str] = []
        same_split = self.pool == self.spec.split
        for place in chance(seed, number_of(self.name), example.number).permutation(len(self._pool)):
            row = self._pool[place]
            if same_split and place == example.number:
                continue
            try:
                if self.kind.requests(row)[0].query != query:
                    chosen.append(self.kind.solved(row))
            except UnusableExample:
                continue
            if len(chosen) == shots:
                return FewShotPrompt(self.spec.description, tuple(chosen), self.spec.separator)
        raise Fault(
            f"{self.name} has only {len(chosen):,} other examples in {self.pool!r}; {shots:,} shots cannot be drawn.",
            f"Give at most --shots {len(chosen)}.",
        )

    @property
    def pool(self) -> str:
        """The split that shots are drawn from: the one asked about, if there is no other."""
        there = self.spec.source.splits()
        return self.spec.shots_from if self.spec.shots_from in there else self.spec.split

    @cached_property
    def _asked(self) -> Sequence[Row]:
        return self._rows(self.spec.split)

    @cached_property
    def _pool(self) -> Sequence[Row]:
        return self._asked if self.pool == self.spec.split else self._rows(self.pool)

    def _rows(self, split: str) -> Sequence[Row]:
        rows = self.source_rows(split)
        self._check(rows[0])
        return rows

    def source_rows(self, split: str) -> Sequence[Row]:
        """The rows of a split, as its source gives them."""
        try:
            return self.spec.source.rows(split, self.data)
        except Fault as fault:
            made = Missing if isinstance(fault, Missing) else Fault
            raise made(fault.what, fault.do, where=fault.where or self.place(f"source.{split}")) from fault

    def _check(self, row: Row) -> None:
        self.kind.check_fields(row, lambda setting: self.place(f"request.{setting}"))
        try:
            self.kind.requests(row)
        except TypeError as error:
            raise Fault(f"{error}.", where=self.place("request.choices")) from error
        except UnusableExample:
            pass  # other rows may be fine


def known() -> dict[str, Path]:
    """Name -> file of the tasks that come with Foreword."""
    return {path.stem: path for path in sorted(KNOWN.glob("*.toml"))}


def entries() -> list[tuple[str, str, list[str]]]:
    """(name, what it asks, variants) of every task there is, without reading any data."""
    found = []
    for name, path in known().items():
        values, _ = toml.read(path)
        found.append((name, values.get("about", ""), list(values.get("variants", {}))))
    return found


def learned() -> dict[str, str]:
    """Name -> kind of labelled task, of those that can be learned; also without reading any data."""
    kinds = {name: toml.read(path)[0].get("learn", {}).get("kind", "") for name, path in known().items()}
    return {name: kind for name, kind in kinds.items() if kind}


def is_task(word: str) -> bool:
    """Whether a word on the command line names a task: one that is known, or a task file."""
    return word.partition("/")[0] in known() or word.endswith(".toml") or ".toml:" in word


def load(word: str, data: Path | None = None) -> list[Task]:
    """The tasks of a name or file that can be asked: all its variants, or the one named."""
    return [task for task in opened(word, data) if task.kind]  # `kind` says so if it cannot be asked


def opened(word: str, data: Path | None = None) -> list[Task]:
    """The task of a name or file, or all its variants; `name/variant` is one of them. All faults at once."""
    path, variant = _find(word)
    values, lines = toml.read(path) if path.suffix not in PAIRS else (_pairs(path), {})
    variants = values.pop("variants", {})
    if variant and variant not in variants:
        raise Fault(
            f"{path.stem} has no variant {variant!r}.{did_you_mean(variant, variants)}",
            f"It has: {', '.join(variants) or 'none'}.",
        )
    found = []
    faults: list[Fault] = []
    for name in [variant] if variant else variants or [""]:
        merged = Written()
        merged.trust([values, variants])
        merged.lay_over(values, {key: f"{_shown(path)}:{line}" for key, line in lines.items()})
        if name:
            places = {key[2:]: f"{_shown(path)}:{line}" for key, line in lines.items() if key[:2] == ("variants", name)}
            merged.lay_over(variants[name], places)
        wrong: list[Fault] = []
        spec = construct(TaskSpec, merged.values, merged, (), wrong)
        faults += [fault for fault in wrong if str(fault) not in map(str, faults)]
        if spec is not None:
            called = f"{spec.name}/{name}" if name else spec.name
            found.append(Task(called, spec, SearchPath(path.parent, data), _placed(merged)))
    if faults:
        raise Faults(faults)
    return found


def _placed(merged: Written) -> Callable[[str], str]:
    return lambda setting: f"{merged.where(tuple(setting.split('.')))}  {setting}"


def _shown(path: Path) -> str:
    return path.name if path.parent == KNOWN else str(path)


def _pairs(path: Path) -> JsonObject:
    """What a task file for a user's minimal pairs, or questions with choices, would say."""
    rows = rows_of(path)
    columns = list(rows[0])
    if request := _questions(rows):
        kind = "aristo" if isinstance(rows[0].get("question"), Mapping) else path.suffix[1:]
        return {"name": path.stem, "source": {"kind": kind, "test": path.name}, "request": request}
    if not any({good, bad} <= set(columns) for good, bad in (("good", "bad"), ("sentence_good", "sentence_bad"))):
        raise Fault(
            f"the columns {', '.join(map(repr, columns))} are not those of minimal pairs.",
            "Name them in the first line: good, bad; or question, choices, answer. Anything else is asked by a task file (toml).",
            where=f"{path}:1",
        )
    source = {"kind": path.suffix[1:], "test": path.name}
    return {"name": path.stem, "source": source, "request": {"kind": "minimal_pair"}}


def _questions(rows: Sequence[Row]) -> JsonObject | None:
    """How multiple choice is asked, if the rows are that: AI2's form, or columns for question, choices and answer."""
    if isinstance(rows[0].get("question"), Mapping):
        return {"kind": "choice", "context": "{question}\nAnswer:", "choices": "{choices}", "gold": "{gold}"}
    if (found := MultipleChoice.from_columns(Columns(rows))) is None:
        return None
    asked: Any = found[0]
    context = "\n".join(part for part in (asked.context, asked.question) if part)
    settings = {name: getattr(asked, name) for name in ("choices", "gold", "labels")}
    return {"kind": "choice", "context": f"{context}\nAnswer:", **settings}


def is_pairs(word: str) -> bool:
    """Whether it is a file of minimal pairs or of questions with choices, which needs no task file."""
    return word.endswith(PAIRS) and Path(word).is_file()


def _find(word: str) -> tuple[Path, str]:
    """(file, variant or nothing). A file's variant is written after a colon: mine.toml:hard"""
    if word.endswith(PAIRS):
        if not Path(word).is_file():
            raise Fault(f"{word} is not there.")
        return Path(word), ""
    if ".toml" in word:
        file, _, variant = word.partition(".toml:")
        path = Path(file if file.endswith(".toml") else f"{file}.toml")
        if not path.is_file():
            raise Fault(f"{path} is not there.")
        return path, variant
    name, _, variant = word.partition("/")
    if name not in known():
        raise Fault(f"no task is called {name!r}.{did_you_mean(name, known())} `foreword list tasks` shows all.")
    return known()[name], variant
