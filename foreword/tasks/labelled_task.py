"""A labelled task: examples with their labels, in train, dev and test, from a task that is known or a file of one's own.

Dev chooses, test is looked at once. A split that is missing is cut from train, always in the same way, and said in `notes`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foreword.basics.messages import Fault, Faults, did_you_mean
from foreword.basics.seeds import number_of
from foreword.tasks import hub, task, user_files
from foreword.tasks.example import Example, Label, Prediction, Span, UnusableExample
from foreword.tasks.files import SPLITS as FILES
from foreword.tasks.judging import METRICS, Measure, Scored, scored
from foreword.tasks.labelled.base import InvalidRow, LabelledKind
from foreword.tasks.template import MissingField
from foreword.tasks.user_files import Rows

__all__ = ["Example", "Label", "LabelledTask", "Span", "load", "part", "unlabelled"]

SPLITS = ("train", "dev", "test")
SHARE = 0.1  # of the examples, for each split that has to be cut
TOO_FEW = "It is cut from train, where examples of one text stay together: give more of them, or a file for it."
SHOWN = 5  # faults of one kind that are shown one by one


@dataclass(frozen=True)
class LabelledTask:
    """A task to learn, with its data at hand."""

    name: str
    learn: LabelledKind  # how rows become examples, and what is measured; a Spec, so a run can keep it
    labels: tuple[str, ...]  # classes or tags, in the order of a head's outputs; () where there are none
    train: tuple[Example, ...]
    dev: tuple[Example, ...]
    test: tuple[Example, ...]
    notes: tuple[str, ...] = ()  # what a person should know: how it was read, cut and what was left out
    one_file: bool = False  # all three splits are cut from one file

    @property
    def kind(self) -> str:
        """A name in foreword.tasks.LEARN."""
        return self.learn.kind

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names in foreword.tasks.judging.METRICS; dev chooses by the first."""
        return self.learn.metrics

    @property
    def measure(self) -> Measure:
        """The first metric."""
        return METRICS[self.metrics[0]](self.labels)

    def scored(
        self, examples: Sequence[Example], predictions: Sequence[Prediction], interval: bool = True
    ) -> list[Scored]:
        """Predictions by every metric."""
        return scored(self.metrics, self.labels, examples, predictions, interval)


def load(
    word: str | Path,
    data: Path | None = None,
    kind: str = "",
    dev: Path | None = None,
    test: Path | None = None,
    columns: Sequence[str] = (),
) -> LabelledTask:
    """A known task (`sst2`), one from the hub (`hf:sst2`), a task file, or a file of examples with its columns named.

    `columns`: the names of a csv or tsv whose first line does not say them.
    """
    word = str(word)
    is_file = not task.is_task(word) and bool(Path(word).suffix or Path(word).exists())
    if word.startswith(hub.PREFIX):
        name, learn, given, notes = _from_hub(word, kind)
    elif is_file:
        learn, given, notes = user_files.opened({"train": Path(word), "dev": dev, "test": test}, kind, columns)
        name = Path(word).stem
    else:
        _refuse({"--kind": kind, "--dev": dev, "--test": test, "--columns": columns}, word)
        name, learn, given, notes = _known(word, data)
    return assembled(name, learn, given, notes)


def _refuse(options: Mapping[str, object], word: str) -> None:
    if idle := [name for name, said in options.items() if said]:
        raise Fault(f"{' and '.join(idle)} cannot be given with the task {word}: it says that itself.", "Leave it out.")


def _known(word: str, data: Path | None) -> tuple[str, LabelledKind, dict[str, Rows], list[str]]:
    found = task.opened(word, data)
    if len(found) > 1:
        raise Fault(f"{word} has several variants.", f"Name one: {', '.join(one.name for one in found)}")
    one = found[0]
    learn = one.spec.learn
    if learn is None:
        raise Fault(
            f"{one.name} is a task to be asked, not one to learn.", f"Ask a model:  foreword evaluate MODEL {word}"
        )
    source = one.spec.source
    there = source.there(one.data)
    named = {split: file for split, file in zip(SPLITS, FILES) if file in there}
    given = {split: Rows(source.shown(file), one.source_rows(file)) for split, file in named.items()}
    gone = [file for file in source.splits() if file not in there]
    missing = [f"{source.shown(file)} is not there: what is there is cut." for file in gone]
    for rows in given.values():
        learn.check_fields(rows.rows[0], lambda setting: one.place(f"learn.{setting}"))
    return one.name, learn, given, missing or ([learn.note] if learn.note else [])


def _from_hub(word: str, kind: str) -> tuple[str, LabelledKind, dict[str, Rows], list[str]]:
    """A known task's data by its own name, or any data set whose columns say what is to be learned."""
    name = word.removeprefix(hub.PREFIX)
    spec = task.opened(name)[0].spec if task.is_task(name) else None
    if spec and not (spec.hub and spec.learn):
        raise Fault(
            f"{name} has no data to learn from at huggingface.co that is known here.",
            f"Give its files:  --data FOLDER, with the task {name}" if spec.learn else "",
        )
    there = spec.hub if spec and spec.hub else hub.Hub(path=name)
    found = {split: Rows(f"{word} {split}", rows) for split, rows in hub.rows(there).items()}
    if spec and spec.learn:
        return spec.name, spec.learn, found, [f"Read through datasets from {there.path}."]
    first = next(iter(found.values()))
    learn, why = user_files.inferred(first.rows, kind, first.file)
    return name, learn, found, [why]


@dataclass
class _Read:
    examples: list[Example] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    ids: Counter[str] = field(default_factory=Counter)  # that rows say of themselves

    @property
    def said(self) -> list[str]:
        """What a reader should know of the rows."""
        found = [f"{n:,} {'row was' if n == 1 else 'rows were'} left out: {why}" for why, n in self.left_out.items()]
        if again := [id for id, count in self.ids.items() if count > 1]:
            found.append(
                f"{len(again):,} ids belong to more than one row (as {again[0]!r}): they do not tell rows apart."
            )
        return found


def _read(learn: LabelledKind, given: Rows, labelled: bool = True) -> _Read:
    read = _Read()
    for number, row in enumerate(given.rows):
        if any(str(row.get(name)) != wanted for name, wanted in learn.only.items()):
            continue
        line = getattr(row, "line", None)
        where = f"{given.file}, example {number + 1}" if line is None else f"{given.file}:{line}"
        try:
            example = learn.example(row, number, labelled, where)
            read.examples.append(example)
            read.groups.append(learn.group(example, row))
            read.ids.update([str(row["id"])] if row.get("id") else [])
        except UnusableExample as reason:
            read.left_out[str(reason)] += 1
        except MissingField as error:
            read.faults.append(Fault(f"this row has no {error.name!r}.", "Add it, or remove the row.", where=where))
        except (InvalidRow, TypeError) as error:
            read.faults.append(Fault(str(error), getattr(error, "do", ""), where=where))
    return read


def assembled(name: str, learn: LabelledKind, given: Mapping[str, Rows], notes: Iterable[str] = ()) -> LabelledTask:
    """The task from the rows that are there: read, cut where a split is missing, checked. All faults at once."""
    if "train" not in given and len(given) == 1:
        given = {"train": next(iter(given.values()))}  # one file only: it is split into three
    elif given.keys() == {"dev", "test"}:  # no training examples are published: those for validation are learned from
        given = {"train": given["dev"], "test": given["test"]}
    read = {split: _read(learn, rows) for split, rows in given.items()}
    faults = [fault for one in read.values() for fault in _shortened(one.faults)]
    said = list(notes)
    for split, one in read.items():
        said += [f"{split}: {what}" for what in one.said]
    splits = {split: one.examples for split, one in read.items()}
    said += filter(None, [learn.converted(splits)])
    missing = tuple(split for split in SPLITS if split not in splits)
    if missing and splits.get("train"):
        before = len(splits["train"])
        splits |= part(splits["train"], read["train"].groups, missing)
        sizes = ", ".join(f"{split} {len(splits[split]):,}" for split in ("train", *missing))
        by = f", by {learn.part_by}" if learn.part_by else ""
        said.append(f"{given['train'].file} has {before:,} examples and is split: {sizes}{by}.")
    if not faults:
        learned = learn.label_set(example.label for example in splits.get("train", []))
        labels = learn.label_set(example.label for split in ("train", *missing) for example in splits.get(split, []))
        said += [_never_learned(learn, label, splits, missing) for label in labels if label not in learned]
        faults = _unfit(learn, given, splits, labels if len(learned) > 1 else learned)
    if faults:
        raise Faults(faults)
    train, dev, test = (tuple(splits[split]) for split in SPLITS)
    return LabelledTask(name, learn, labels, train, dev, test, tuple(said), one_file=len(given) == 1)


def _shortened(faults: list[Fault]) -> list[Fault]:
    """The first few, and how many more there are."""
    if len(faults) <= SHOWN:
        return faults
    return [*faults[:SHOWN], Fault(f"and {len(faults) - SHOWN:,} more rows like these.")]


def _never_learned(
    learn: LabelledKind, label: str, splits: Mapping[str, Sequence[Example]], missing: Sequence[str]
) -> str:
    """A class so rare that splitting the file left no example of it to train, which is nobody's mistake."""
    there = [split for split in missing if label in learn.label_set(example.label for example in splits[split])]
    return f"no example in train has the label {label!r}: in {' and '.join(there)} it is counted wrong."


def _unfit(
    learn: LabelledKind, given: Mapping[str, Rows], splits: Mapping[str, Sequence[Example]], labels: Sequence[str]
) -> list[Fault]:
    """What is wrong with the splits together."""
    faults = []
    file = {split: rows.file for split, rows in given.items()}
    for split in SPLITS:
        if not splits.get(split):
            do = "Every split needs at least one example." if split in given else TOO_FEW
            faults.append(Fault(f"there is no example for {split}.", do, where=file.get(split, file.get("train", ""))))
    if splits.get("train") and learn.finite_labels and len(labels) < 2:
        only = f"only the label {labels[0]!r}" if labels else "no label"
        what = f"the training examples have {only}: there is nothing to tell apart."
        faults.append(Fault(what, "Give examples of at least two.", where=file.get("train", "")))
    for split in ("dev", "test"):
        strays: dict[str, Example] = {}
        for example in splits.get(split, []) if labels else []:
            for label in learn.stray(example.label, labels):
                strays.setdefault(label, example)
        for label, example in list(strays.items())[:SHOWN]:
            what = f"the label {label!r} is in {split} but in no training example.{did_you_mean(label, labels)}"
            do = f"Labels in train: {', '.join(labels)}. Mend the label, or add training examples of it."
            faults.append(Fault(what, do, where=example.where))
    return faults


def unlabelled(path: Path, learn: LabelledKind, columns: Sequence[str] = ()) -> list[Example]:
    """The examples of a file to be labelled: the columns that are read, as in training; others do not matter."""
    rows = user_files.rows_of(path, columns)
    learn.check_fields(rows[0], lambda setting: str(path), learn.reads)
    read = _read(learn.model_copy(update={"only": {}}), Rows(str(path), rows), labelled=False)
    if read.faults:
        raise Faults(_shortened(read.faults))
    return read.examples


def labelled(path: Path, learn: LabelledKind, rows: Sequence[Any]) -> list[Example]:
    """The examples of a file with their labels, to be judged as they are: nothing is split."""
    read = _read(learn, Rows(str(path), list(rows)))
    if read.faults:
        raise Faults(_shortened(read.faults))
    return read.examples


def part(examples: Iterable[Example], groups: Iterable[str], missing: tuple[str, ...]) -> dict[str, list[Example]]:
    """Train and the missing splits, cut so that a group is never in two of them and nothing depends on the order of rows.

    Groups are taken by a number that only their own text decides, each missing split until it has its share.
    """
    together: dict[str, list[Example]] = {}
    for example, group in zip(examples, groups):
        together.setdefault(group, []).append(example)
    left = sorted(together, key=lambda group: (number_of("part", group), group), reverse=True)
    wanted = max(1, round(SHARE * sum(map(len, together.values()))))
    found: dict[str, list[Example]] = {}
    for name in missing:
        found[name] = []
        while len(left) > 1 and len(found[name]) < wanted:
            found[name] += together[left.pop()]
    kept = set(left)
    found["train"] = [example for group, members in together.items() if group in kept for example in members]
    return found
