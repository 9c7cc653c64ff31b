"""A look at text and labels before anything is learned: sizes, languages, copies, contradictions, labels given away."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from foreword.basics.files import JsonObject, read_json, write_atomically, write_json
from foreword.basics.messages import Fault, thousands
from foreword.compare.advise.problem import same_text
from foreword.tasks.example import Example
from foreword.tasks.labelled_task import LabelledTask
from foreword.tasks.template import Row
from foreword.text import reading
from foreword.text.document import Document
from foreword.text.stages.language import OTHER, by_function_words
from foreword.text.words import words

SAMPLE = 200  # texts whose language is looked at
GIVEN_AWAY = 0.95  # of the labels told by one column or one word, far above the commonest class
NAMES = {"en": "English", "zh": "Chinese", "de": "German", "fr": "French", "es": "Spanish", OTHER: "no known language"}


@dataclass(frozen=True)
class TextFacts:
    documents: int
    bytes: int
    cut: bool  # there was more than the budget can read
    left_out: int  # texts of the test
    language: str

    @property
    def sentence(self) -> str:
        more = " (the first part of it: the budget reads no more)" if self.cut else ""
        out = f" {self.left_out:,} texts of the test were left out of it." if self.left_out else ""
        size = f"{self.documents:,} documents, {thousands(self.bytes)} bytes"
        return f"Text: {size}{more}, {NAMES.get(self.language, self.language)}.{out}"


def language_of(texts: Iterable[str]) -> str:
    """The commonest among some of them, by bytes; "other" where none can be told."""
    found: Counter[str] = Counter()
    for text in islice(texts, SAMPLE):
        name, sure = by_function_words(text)
        if sure > 0.5:
            found[name] += len(text)
    return found.most_common(1)[0][0] if found else OTHER


def gather(path: Path, test: Sequence[Example], out: Path, most: int) -> TextFacts:
    """The text as one jsonl file of at most so many bytes, without what test asks about."""
    said = out.with_suffix(".json")
    if out.is_file() and said.is_file():
        return TextFacts(**read_json(said))
    asked = {text.strip() for example in test for text in example.texts}
    facts: JsonObject = {"documents": 0, "bytes": 0, "cut": False, "left_out": 0}
    some: list[str] = []

    def kept(document: Document) -> str:
        lines = document.text.split("\n")
        own = [line for line in lines if line.strip() not in asked or not line.strip()]
        facts["left_out"] += len(lines) - len(own)
        return "\n".join(own)

    def write(partial: Path) -> None:
        with open(partial, "w", encoding="utf-8") as file:
            for document in reading.documents([path]):
                if not (text := kept(document)).strip():
                    continue
                file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
                facts["documents"] += 1
                facts["bytes"] += len(text.encode())
                if len(some) < SAMPLE:
                    some.append(text)
                if facts["bytes"] > most:
                    facts["cut"] = True
                    break

    write_atomically(out, write)
    if not facts["documents"]:
        out.unlink()
        raise Fault(f"{path} holds nothing but the texts of the test.", "Give other text.")
    write_json(said, {**facts, "language": language_of(some)})
    return TextFacts(**read_json(said))


# --- labels -------------------------------------------------------------------------------------------------------------


def label_facts(task: LabelledTask, columns: Sequence[Row] = ()) -> list[str]:
    """What a person should know of the labels, in sentences. `columns`: the rows as they were written."""
    train = (*task.train, *task.dev)
    found = [f"Labels: {len(train):,} to learn from, {len(task.test):,} for the test; {task.learn.in_words}."]
    if task.learn.has_classes:
        found.append(_classes(train))
        found += _given_away(train, columns, task)
    by_text: dict[str, list[Example]] = defaultdict(list)
    for example in train:
        by_text[same_text(example)].append(example)
    copies = sum(len(some) - 1 for some in by_text.values())
    if copies and not any(example.group for example in train):
        contradictory = sum(len({one.label for one in some}) > 1 for some in by_text.values())
        contrary = f", {contradictory:,} of these texts with different labels" if contradictory else ""
        found.append(f"{copies:,} training examples are copies of others{contrary}; copies are judged together.")
    if both := sum(same_text(example) in by_text for example in task.test):
        whole = both == len(task.test)
        what = "they are all there is, so the test's score is flattered" if whole else "they are left out of the test"
        found.append(f"{both:,} of {len(task.test):,} test texts are also among the training texts: {what}.")
    return found


def _classes(train: Sequence[Example]) -> str:
    counts = Counter(str(example.label) for example in train).most_common()
    shown = ", ".join(f"{name} {count / len(train):.0%}" for name, count in counts[:6])
    more = f", and {len(counts) - 6} more" if len(counts) > 6 else ""
    rare = [name for name, count in counts if count < 5]
    few = f" Too rare to learn (fewer than 5): {', '.join(rare[:5])}." if rare else ""
    return f"Classes: {shown}{more}.{few}"


def _given_away(train: Sequence[Example], columns: Sequence[Row], task: LabelledTask) -> list[str]:
    """Labels told by one other column, or by one word."""
    labels = [str(example.label) for example in train]
    if len(labels) < 40:
        return []
    common = Counter(labels).most_common(1)[0][1] / len(labels)
    enough = max(GIVEN_AWAY, common + 0.75 * (1 - common))
    found = []
    for name, share in _telling_columns(task, columns).items():
        if share >= enough:
            found.append(f"The column {name!r} alone tells {share:.0%} of the labels: will you have it for new text?")
    word, share = _telling_word(train, labels)
    if share >= enough:
        found.append(
            f"The word {word!r} alone tells {share:.0%} of the labels: is the answer written in the text? "
            "Then the scores below say nothing of new text."
        )
    return found


def _telling_columns(task: LabelledTask, columns: Sequence[Row]) -> Mapping[str, float]:
    """By column that is not read: the share of rows whose label is the commonest among other rows of the same value."""
    if not columns:
        return {}
    read = {name for _, name in task.learn.fields()}
    answer = task.learn.answer and dict(task.learn.fields()).get(task.learn.answer, "label")
    found = {}
    for name in columns[0]:
        if name in read or name == answer:
            continue
        groups: dict[str, Counter[str]] = defaultdict(Counter)
        for row in columns:
            groups[str(row.get(name))][str(row.get(answer))] += 1
        right = sum(_right_without_self(counts) for counts in groups.values())
        found[name] = right / len(columns)
    return found


def _right_without_self(counts: Counter[str]) -> int:
    """How many rows of one value have the label that the others of that value mostly have."""
    right = 0
    for label, count in counts.items():
        others = counts - Counter({label: 1})
        right += count * bool(others and others.most_common(1)[0][0] == label)
    return right


def _telling_word(train: Sequence[Example], labels: Sequence[str]) -> tuple[str, float]:
    """The word whose being there or not tells most labels, by the commonest label on either side."""
    with_word: dict[str, Counter[str]] = defaultdict(Counter)
    for example, label in zip(train, labels):
        for word in {word for text in example.texts for word in words(text)}:
            with_word[word][label] += 1
    whole, best, most = Counter(labels), "", 0
    for word, counts in with_word.items():
        rest = whole - counts
        right = max(counts.values()) + max(rest.values(), default=0)
        if right > most:
            best, most = word, right
    return best, most / len(labels)


def disagreements(
    examples: Sequence[Example], labels: Sequence[str], places: Sequence[int], shares: np.ndarray, most: int = 10
) -> list[tuple[Example, str, float]]:
    """(example, what is said instead, how surely), of those whose own label is given least: perhaps it is wrong."""
    if not len(shares):
        return []
    own = np.asarray([labels.index(str(examples[place].label)) for place in places])
    said = shares.argmax(1)
    sure = shares.max(1) - shares[np.arange(len(own)), own]
    order = np.argsort(-sure, kind="stable")[:most]
    return [
        (examples[places[row]], labels[int(said[row])], float(shares[row].max()))
        for row in order
        if said[row] != own[row]
    ]
