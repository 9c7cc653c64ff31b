"""Kinds of labelled tasks: which columns each reads (by templates), what its labels are, and what is measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from foreword.basics.messages import did_you_mean
from foreword.basics.spec import Spec
from foreword.tasks.choice import right_place
from foreword.tasks.example import Example, Label, Span
from foreword.tasks.requests import Row, Unusable
from foreword.tasks.template import items, names, render, value, wrong


class Wrong(ValueError):
    """A row that should be mended: what is wrong with it, and what to do."""

    def __init__(self, what: str, do: str = ""):
        super().__init__(what)
        self.what, self.do = what, do


class Learn(Spec):
    """One kind of labelled task: from a row to an example."""

    kind: str
    metrics: tuple[str, ...] = ()
    id: str = ""                       # the row's own name; else its number
    part_by: str = ""                  # what must stay in one split when splits are cut; else the first text, or what answers
    note: str = ""                     # what should be said about the data
    only: dict[str, str] = {}          # rows that count: those with these values in these fields

    in_words: ClassVar[str] = ""          # the kind in plain words

    def inputs(self) -> dict[str, str]:
        """Setting -> template of what is read."""
        return {}

    def answers(self) -> dict[str, str]:
        """Setting -> template of what is to be found."""
        return {}

    def faults(self) -> list[tuple[str, str]]:
        return [(setting, said) for setting, template in {**self.inputs(), **self.answers()}.items() if (said := wrong(template))]

    def fields(self, labelled: bool = True) -> list[tuple[str, str]]:
        """(setting, field) for every field that a template speaks of."""
        templates = {**self.inputs(), **(self.answers() if labelled else {})}
        return [(setting, name) for setting, template in templates.items() for name in names(template)]

    def example(self, row: Row, number: int, labelled: bool = True, where: str = "") -> Example:
        """The example of a row. Unusable: it has no right answer and is left out; Wrong: it must be mended."""
        raise TypeError(f"{type(self).__name__} does not say this.")

    def called(self, row: Row, number: int) -> str:
        return render(self.id, row) if self.id else str(number)

    def group(self, example: Example, row: Row) -> str:
        """What keeps examples together when splits are cut."""
        return render(self.part_by, row) if self.part_by else example.texts[0]

    def label_set(self, labels: Iterable[Label]) -> tuple[str, ...]:
        """What a head must be able to say, from the labels of train."""
        return ()

    def stray(self, label: Label, known: Sequence[str]) -> list[str]:
        """Labels of a dev or test example that no training example has."""
        return []


class Classes(Learn):
    """What has the name of a class as its label."""

    metrics: tuple[str, ...] = ("accuracy", "macro_f1")
    label: str
    names: dict[str, str] = {}         # what the file writes -> what it means; else as written
    skip: tuple[str, ...] = ()         # written where annotators did not agree: such rows are left out

    def answers(self) -> dict[str, str]:
        return {"label": self.label}

    def class_of(self, row: Row) -> str:
        said = render(self.label, row).strip()
        if said in self.skip:
            raise Unusable(f"its label is {said!r}")
        if not said:
            raise Wrong("this row has no label.", "Write one, or remove the row.")
        if self.names and said not in self.names and said not in self.names.values():
            raise Wrong(f"the label {said!r} is not one of {', '.join(self.names)}.{did_you_mean(said, self.names)}")
        return self.names.get(said, said)

    def label_set(self, labels: Iterable[Label]) -> tuple[str, ...]:
        there = {str(label) for label in labels}
        if self.names:
            return tuple(dict.fromkeys(name for name in self.names.values() if name in there))
        return tuple(sorted(there, key=lambda name: (not name.isdigit(), int(name) if name.isdigit() else 0, name)))

    def stray(self, label: Label, known: Sequence[str]) -> list[str]:
        return [] if label in known else [str(label)]


class Classify(Classes):
    """Which class is a text of?"""

    in_words: ClassVar[str] = "single-text classification"
    kind: Literal["classify"] = "classify"
    text: str

    def inputs(self) -> dict[str, str]:
        return {"text": self.text}

    def example(self, row: Row, number: int, labelled: bool = True, where: str = "") -> Example:
        return Example(self.called(row, number), (filled(self.text, row),), self.class_of(row) if labelled else None, where=where)


class Pair(Classes):
    """Which class is a pair of texts of?"""

    in_words: ClassVar[str] = "pair classification"
    kind: Literal["pair"] = "pair"
    first: str
    second: str

    def inputs(self) -> dict[str, str]:
        return {"first": self.first, "second": self.second}

    def example(self, row: Row, number: int, labelled: bool = True, where: str = "") -> Example:
        texts = (filled(self.first, row), filled(self.second, row))
        return Example(self.called(row, number), texts, self.class_of(row) if labelled else None, where=where)


class Similarity(Learn):
    """How alike are two texts?"""

    in_words: ClassVar[str] = "similarity regression"
    kind: Literal["similarity"] = "similarity"
    metrics: tuple[str, ...] = ("pearson", "spearman")
    first: str
    second: str
    score: str

    def inputs(self) -> dict[str, str]:
        return {"first": self.first, "second": self.second}

    def answers(self) -> dict[str, str]:
        return {"score": self.score}

    def example(self, row: Row, number: int, labelled: bool = True, where: str = "") -> Example:
        texts = (filled(self.first, row), filled(self.second, row))
        return Example(self.called(row, number), texts, number_in(self.score, row) if labelled else None, where=where)


class Choose(Learn):
    """Which of several texts is right?"""

    in_words: ClassVar[str] = "multiple choice"
    kind: Literal["choice"] = "choice"
    metrics: tuple[str, ...] = ("accuracy",)
    context: str
    question: str = ""
    choices: str | tuple[str, ...]     # a field that holds a list, or a template for each
    gold: str                          # its place, counted from 0; or one of `labels`
    labels: tuple[str, ...] = ()       # what the right answer is called, for each choice; "A|1" is either

    def inputs(self) -> dict[str, str]:
        choices = {"choices": self.choices} if isinstance(self.choices, str) else {
            f"choices.{number}": template for number, template in enumerate(self.choices)}
        return {"context": self.context, **({"question": self.question} if self.question else {}), **choices}

    def answers(self) -> dict[str, str]:
        return {"gold": self.gold}

    def example(self, row: Row, number: int, labelled: bool = True, where: str = "") -> Example:
        choices = items(self.choices, row) if isinstance(self.choices, str) else [render(one, row) for one in self.choices]
        texts = tuple(filled(template, row) for template in (self.context, self.question) if template)
        right = right_place(render(self.gold, row), self.labels, len(choices)) if labelled else None
        return Example(self.called(row, number), texts, right, choices=tuple(choices), where=where)


class Extract(Learn):
    """Which stretch of a text answers a question, if one does? The answers are a list of {text, start}."""

    in_words: ClassVar[str] = "span extraction"
    kind: Literal["span"] = "span"
    metrics: tuple[str, ...] = ("span_f1", "span_exact")
    question: str
    context: str
    spans: str
    unplaced: Literal["refuse", "keep"] = "refuse"        # answers not where the file says they are; kept only to compare with

    def inputs(self) -> dict[str, str]:
        return {"question": self.question, "context": self.context}

    def answers(self) -> dict[str, str]:
        return {"spans": self.spans}

    def example(self, row: Row, number: int, labelled: bool = True, where: str = "") -> Example:
        texts = (filled(self.question, row), str(value(names(self.context)[0], row)))        # untouched: offsets count in it
        said = answers_in(value(names(self.spans)[0], row), row) if labelled else []
        find = span_in if self.unplaced == "refuse" else span_or_none
        spans = tuple(find(texts[1], one) for one in said) if labelled else None
        return Example(self.called(row, number), texts, spans, where=where)

    def group(self, example: Example, row: Row) -> str:
        return render(self.part_by, row) if self.part_by else example.texts[1]


class Tag(Learn):
    """Which tag has each word? Columns hold lists of equal length."""

    in_words: ClassVar[str] = "token tagging"
    kind: Literal["tag"] = "tag"
    metrics: tuple[str, ...] = ("entity_f1", "tag_accuracy")
    sentence: str                      # a field with the list of words
    tags: str
    join: str = " "                    # between words: nothing in Chinese

    def inputs(self) -> dict[str, str]:
        return {"sentence": self.sentence}

    def answers(self) -> dict[str, str]:
        return {"tags": self.tags}

    def example(self, row: Row, number: int, labelled: bool = True, where: str = "") -> Example:
        said = listed(self.sentence, row)
        tags = tuple(listed(self.tags, row)) if labelled else None
        if not said:
            raise Wrong("this row has no words.", "Remove the row.")
        if tags is not None and len(tags) != len(said):
            raise Wrong(f"{len(said)} words and {len(tags)} tags.", "Each word needs one tag.")
        words, start = [], 0
        for word in said:
            words.append(Span(start, start + len(word), word))
            start += len(word) + len(self.join)
        return Example(self.called(row, number), (self.join.join(said),), tags, words=tuple(words), where=where)

    def label_set(self, labels: Iterable[Label]) -> tuple[str, ...]:
        there = {tag for label in labels if isinstance(label, tuple) for tag in label}
        return tuple(sorted(map(str, there), key=lambda tag: (tag != "O", tag[2:], tag)))

    def stray(self, label: Label, known: Sequence[str]) -> list[str]:
        return [str(tag) for tag in label if tag not in known] if isinstance(label, tuple) else []


class Rank(Learn):
    """How relevant is each candidate to its query? Candidates of one query are one group."""

    in_words: ClassVar[str] = "relevance ranking"
    kind: Literal["rank"] = "rank"
    metrics: tuple[str, ...] = ("map", "mrr")
    query: str
    candidate: str
    relevance: str
    names: dict[str, float] = {}       # what the file writes -> relevance; else a number
    group_by: str = ""                 # else the query

    def inputs(self) -> dict[str, str]:
        return {"query": self.query, "candidate": self.candidate}

    def answers(self) -> dict[str, str]:
        return {"relevance": self.relevance}

    def example(self, row: Row, number: int, labelled: bool = True, where: str = "") -> Example:
        texts = (filled(self.query, row), filled(self.candidate, row))
        said = render(self.relevance, row).strip() if labelled else ""
        label = self.names[said] if said in self.names else number_in(self.relevance, row) if labelled else None
        return Example(self.called(row, number), texts, label, group=render(self.group_by or self.query, row), where=where)


def filled(template: str, row: Row) -> str:
    """A text that is not empty, without white space around."""
    if text := render(template, row).strip():
        return text
    raise Wrong(f"{template} is empty in this row.", "Write a text, or remove the row.")


def number_in(template: str, row: Row) -> float:
    said = render(template, row).strip()
    try:
        number = float(said)
    except ValueError:
        number = float("nan")
    if not abs(number) < float("inf"):
        raise Wrong(f"{template} says {said!r}, which is not a number.")
    return number


def listed(template: str, row: Row) -> list[str]:
    """A list, or the words of a cell."""
    found = value(names(template)[0], row)
    return found.split() if isinstance(found, str) else items(template, row)


def answers_in(said: Any, row: Row) -> list[dict[str, Any]]:
    """Answers as {text, start}, from the ways people write them: a list of such, `datasets`' two lists, or only the text."""
    if isinstance(said, Mapping) and isinstance(said.get("text"), (list, tuple)):
        said = [{"text": text, "start": start} for text, start in zip(said["text"], said["answer_start"])]
    if isinstance(said, (str, Mapping)):
        said = [said] if said else []
    return [_answer(one, row) for one in said or []]


def _answer(one: Any, row: Row) -> dict[str, Any]:
    if isinstance(one, Mapping):
        start = one.get("start", one.get("answer_start"))
        one = one.get("text", "")
    else:
        start = row.get("start", row.get("answer_start"))
    return {"text": one, "start": None if start in (None, "") else int(start)}


def span_in(text: str, answer: Mapping[str, Any]) -> Span:
    """An answer as characters of its text. Without a start it must stand there once."""
    said, start = str(answer["text"]), answer["start"]
    if start is None and said and text.count(said) == 1:
        start = text.find(said)
    if start is None:
        raise Wrong(f"the answer {said!r} stands in its text {text.count(said) if said else 0} times, and no start is given.",
                    "Give the column start: the character at which the answer begins, counted from 0.")
    if said and text[start: start + len(said)] == said:
        return Span(start, start + len(said), said)
    elsewhere = text.find(said) if said else -1
    raise Wrong(f"the answer {said!r} does not stand at character {start} of its text"
                + (f"; it stands at {elsewhere}." if elsewhere >= 0 else ", nor anywhere in it."),
                "Offsets count characters (not bytes) from 0, in the text as it is written.")


def span_or_none(text: str, answer: Mapping[str, Any]) -> Span:
    """The same where published files have mistakes: where it stands if that is sure, or else nowhere."""
    try:
        return span_in(text, answer)
    except Wrong:
        said = str(answer["text"])
        return span_in(text, {"text": said, "start": None}) if said and text.count(said) == 1 else Span(-1, -1, said)
