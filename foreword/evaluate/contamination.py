"""Contamination: scores of examples that stand in the training text (dirty), and of the others (GPT-3, appendix C)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from foreword.basics.files import cache_folder
from foreword.basics.messages import Fault, thousands
from foreword.basics.progress import say
from foreword.evaluate.prompted import TaskResult
from foreword.report import Section, Table, Text
from foreword.runs.folder import RunFolder
from foreword.runs.place import model_place
from foreword.tasks.metrics import finite
from foreword.tasks.task import Task
from foreword.text import reading
from foreword.text.overlap import RATE, SHARE_OF, NgramFilter, Overlap, overlap, seen_in, size_for
from foreword.tokens.store import TokenStore, is_store

UNASKED = 32 * 2**20  # bytes of training text that are looked through without having been asked to


@dataclass(frozen=True)
class TrainingText:
    """What a model was trained on: stores, whose training split is decoded, or text as it is."""

    paths: tuple[Path, ...]
    documents: str = "auto"
    column: str = "text"

    @staticmethod
    def of_run(model: str | Path) -> TrainingText | None:
        """What a run's passport says it was trained on, if it is still there as it was."""
        facts = RunFolder(model_place(model).folder).passport()
        named = [facts["store"]] if facts.get("store") else [source["store"] for source in facts.get("sources", [])]
        paths = tuple(map(Path, named))
        if not paths or not all(map(is_store, paths)):
            return None
        if len(paths) == 1 and TokenStore.open(paths[0]).data != facts.get("data"):
            say(f"{paths[0]} was made again since {model} was trained: overlap with it is not looked for.")
            return None
        return TrainingText(paths)

    @property
    def name(self) -> str:
        return " + ".join(map(str, self.paths))

    @property
    def bytes(self) -> int:
        return sum(TokenStore.open(p).total_bytes if is_store(p) else reading.total_bytes([p]) for p in self.paths)

    @property
    def fingerprint(self) -> str:
        how = f"|{self.documents}|{self.column}"
        each = [TokenStore.open(p).data if is_store(p) else reading.fingerprint([p]) + how for p in self.paths]
        return hashlib.blake2b("\n".join(each).encode(), digest_size=12).hexdigest()

    @property
    def lossless(self) -> bool:
        return all(TokenStore.open(path).tokenizer.lossless for path in self.paths if is_store(path))

    def texts(self) -> Iterator[str]:
        for path in self.paths:
            if is_store(path):
                yield from TokenStore.open(path).texts()
            else:
                yield from (one.text for one in reading.documents([path], self.documents, self.column))

    def seen(self, sizes: Iterable[int], rate: float = RATE) -> dict[int, NgramFilter]:
        """Filters of its runs of words, kept for the next time."""
        kept, text = cache_folder() / "overlap", self.fingerprint
        places = {size: kept / f"{text}-{size}-{rate:g}.bloom" for size in sorted(set(sizes))}
        there = {size: NgramFilter.load(size, place) for size, place in places.items() if place.is_file()}
        if missing := [size for size in places if size not in there]:
            sizes_said = " and ".join(map(str, missing))
            say(f"looking through {thousands(self.bytes)} bytes of {self.name} for {sizes_said} words in a row")
            made = seen_in(self.texts, missing, rate)
            for size, seen in made.items():
                seen.save(places[size])
            there |= made
        return there


def training_texts(models: Sequence[str], said: str = "") -> dict[str, TrainingText]:
    """The training text of each model: the one given, or its run's own if that is small."""
    if said == "none":
        return {}
    if said and not Path(said).exists():
        raise Fault(f"{said} is not there.", "Give the text a model was trained on:  --overlap STORE or --overlap TEXT")
    if not said and find_spec("rbloom") is None:
        say("scores of clean and dirty examples need the package rbloom:  pip install 'foreword[data]'")
        return {}
    known = {model: TrainingText((Path(said),)) if said else TrainingText.of_run(model) for model in models}
    return {model: text for model, text in known.items() if text is not None and (said or text.bytes <= UNASKED)}


def overlap_with(training: TrainingText, examples: Sequence[str], rate: float = RATE) -> Overlap:
    """What of the examples stands in a training text."""
    if not examples:
        raise Fault("there are no examples to look for.")
    return overlap(examples, training.seen({SHARE_OF, size_for(examples)}, rate))


def texts_of(task: Task, limit: int | None = None) -> list[str]:
    """The examples of a task as text, each with its answer."""
    return [task.kind.solved(example.row) for example in task.examples(limit)[0]]


@dataclass(frozen=True)
class CleanAndDirty:
    """A task's result, and which of its examples are dirty."""

    result: TaskResult
    found: Overlap

    @staticmethod
    def of(result: TaskResult, training: TrainingText) -> CleanAndDirty:
        texts = [result.task.kind.solved(one.example.row) for one in result.prompted]
        return CleanAndDirty(result, overlap_with(training, texts))

    def part(self, dirty: bool) -> TaskResult | None:
        """The result of the dirty examples alone, or of the clean ones; None if there are none."""
        places = [place for place, one in enumerate(self.found.dirty) if one == dirty]
        if not places:
            return None
        return replace(
            self.result,
            prompted=[self.result.prompted[place] for place in places],
            judged=[self.result.judged[place] for place in places],
        )

    def values(self) -> dict[str, object]:
        """For programs."""
        parts = {"all": self.result, "clean": self.part(False), "dirty": self.part(True)}
        return {
            "size": self.found.size,
            "dirty": sum(self.found.dirty),
            "short": self.found.short,
            "share": self.found.share,
            "metrics": {
                name: {part: finite(one.value(name)) if one else None for part, one in parts.items()}
                for name in self.result.metrics()
            },
        }

    def records(self) -> Iterator[dict[str, str]]:
        clean, dirty, found = self.part(False), self.part(True), self.found
        for number, (name, metric) in enumerate(self.result.metrics().items()):
            whole = self.result.value(name)
            yield {
                "task": "" if number else self.result.task.name,
                "metric": name,
                "all": metric.shown(whole),
                "clean": metric.shown(clean.value(name)) if clean else "-",
                "dirty": metric.shown(dirty.value(name)) if dirty else "-",
                "clean against all": f"{(clean.value(name) - whole) / whole:+.1%}" if clean and whole else "-",
                "dirty examples": f"{sum(found.dirty):,} of {len(found.dirty):,}",
                "words in a row": str(found.size),
                "8-grams known": f"{found.share:.2%}",
            }

    def notes(self) -> Iterator[str]:
        name, found = self.result.task.name, self.found
        if len(found.dirty) == 1:
            yield f"{name}: {found.share:.2%} of its 8-grams are known; a single text is neither clean nor dirty"
        elif not any(found.dirty):
            yield (
                f"{name}: all examples are clean, none has {found.size} words in a row that are known "
                f"({found.share:.2%} of the 8-grams are)"
            )
        if found.short:
            yield f"{name}: {found.short:,} examples have fewer than {found.size} words, too few to tell; they count as clean"


def section(results: Sequence[CleanAndDirty], training: str) -> Section:
    """Clean, dirty and all side by side, where there are both; else in a sentence why not."""
    rows = [row for one in results if len(one.found.dirty) > 1 and any(one.found.dirty) for row in one.records()]
    return Section(
        "Contamination",
        Text([f"overlap with {training}"]),
        Table.of(rows, left=(0, 1)) if rows else None,
        Text([note for one in results for note in one.notes()]),
    )
