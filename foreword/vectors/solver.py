"""The multiple-choice solver of Clark et al. 2016: a question's n-grams, a choice's n-grams, and the mean PMI of all pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from foreword.basics.files import JsonObject, read_json, write_json_lines
from foreword.basics.messages import Fault
from foreword.basics.seeds import number_of
from foreword.report import Report, Section, Table, Text
from foreword.tasks.confidence import Interval, at_least, wilson
from foreword.tasks.prompted.association import Associated, AssociationChoice, AssociationRequest
from foreword.tasks.prompted.request import Judged
from foreword.tasks.task import Task
from foreword.tasks.template import Row
from foreword.tokens.store import TokenStore
from foreword.vectors import association
from foreword.vectors.cooccurrence import Cleaned, CooccurrenceWindow, shuffled_inside
from foreword.vectors.passages import SKIP, Counts, NGram, TableCounts, TextCounts, ngrams
from foreword.vectors.pmi import PmiTable
from foreword.vectors.words import WordVectors

MOST = 50_000_000  # tokens of a text that is looked at again; of a longer one, only the table is


class Solver:
    """Answers association requests of one kind from what is known of a text."""

    def __init__(self, vectors: WordVectors, kind: AssociationChoice, counts: Counts):
        self.vectors, self.kind, self.counts = vectors, kind, counts
        self.measure = association.Association(measure=kind.measure, add=kind.add, power=kind.power)
        self.left_out = left_out(vectors, kind.stop_words)
        self.known: dict[NGram, float] = {}

    def grams(self, text: str) -> list[NGram]:
        """The n-grams of a text that the corpus has."""
        ids = [int(id) for id in self.vectors.tokenizer.encode(text) if not self.left_out[id]]
        found = ngrams(ids, self.kind.ngrams, self.kind.skips)
        for gram in found:
            if gram not in self.known:
                self.known[gram] = self.counts.sum(gram)
        return [gram for gram in found if self.known[gram]]

    def answer(self, request: AssociationRequest) -> Associated:
        pairs = [(one, other) for one in self.grams(request.query) for other in self.grams(request.choice)]
        if not pairs:
            return Associated(0.0)
        met = np.array([self.counts.met(*pair) for pair in pairs])
        one, other = (np.array([self.known[pair[side]] for pair in pairs]) for side in (0, 1))
        values = self.measure.of(met, one, other, self.counts.sums)
        order = np.argsort(-np.abs(values), kind="stable")[:20]
        pairs_found = (
            (self.words(pairs[at][0]), self.words(pairs[at][1]), round(float(values[at]), 3)) for at in order
        )
        return Associated(float(values.mean()), tuple(pair for pair in pairs_found if pair[2]))

    def words(self, gram: NGram) -> str:
        return " ".join("…" if id == SKIP else self.vectors.tokenizer.pieces([id])[0] for id in gram)


def left_out(vectors: WordVectors, stop_words: Sequence[str]) -> np.ndarray:
    """Tokens that are part of no n-gram: stop words, marks, and what is no word."""
    pieces, stops = vectors.table.vocabulary.pieces, set(stop_words)
    return ~vectors.known | np.array([piece in stops or not any(map(str.isalnum, piece)) for piece in pieces])


def text_of(vectors: WordVectors) -> tuple[np.ndarray, CooccurrenceWindow] | str:
    """The cleaned text that a run counted, and by what windows; or why it is not at hand."""
    near = CooccurrenceWindow(**{name: value for name, value in vectors.recipe["objective"].items() if name != "kind"})
    passport = Path(vectors.name) / "passport.json"
    store = read_json(passport).get("store", "") if passport.is_file() else ""
    if not store or not TokenStore.has(Path(store), "train"):
        return "its text is not at hand: single words only, and no control"
    opened = TokenStore.open(Path(store), "train")
    if opened.fingerprint != vectors.tokenizer.fingerprint or opened.tokens > MOST:
        return "its text is another one now, or very long: single words only, and no control"
    return Cleaned(vectors.table.vocabulary, near.border)(opened.read(0, opened.tokens)), near


@dataclass
class AssociationResult:
    """One task, one text: what every question came to."""

    model: str
    task: str
    text: str  # "as it is", or the control
    judged: list[Judged]
    chances: list[float]
    notes: list[str] = field(default_factory=list)

    @property
    def right(self) -> int:
        return sum(one.values["accuracy"] for one in self.judged)

    @property
    def interval(self) -> Interval:
        return wilson(self.right, len(self.judged))

    @property
    def p(self) -> float:
        """How likely guessing is right so often or more."""
        return at_least(self.right, self.chances)

    def values(self) -> JsonObject:
        known = {"accuracy": self.right / len(self.judged), "interval": list(self.interval), "p": self.p}
        about = {"model": self.model, "task": self.task, "text": self.text, "notes": self.notes}
        return {**about, **known, "chance": float(np.mean(self.chances)), "examples": len(self.judged)}


def solve(vectors: WordVectors, task: Task, limit: int | None = None, split: str = "") -> list[AssociationResult]:
    """A task answered from a run's text, and, as a control, from the same words in another order.

    `split`: which questions. Nothing is learned from any, so those of "train" may be asked as well.
    """
    if split and split not in task.spec.source.splits():
        raise Fault(f"{task.name} has no split {split!r}. It has: {', '.join(task.spec.source.splits())}.")
    table = vectors.table
    if not isinstance(table, PmiTable):
        raise Fault(
            f"{vectors.name} ({vectors.recipe.get('name', 'vectors')}) has no table of co-occurrences to answer {task.name} by.",
            "Count one:  foreword train pmi --data STORE",
        )
    kind = AssociationChoice.of(task.name, task.kind)
    task = replace(task, spec=task.spec.model_copy(update={"request": kind, "split": split or task.spec.split}))
    questions, notes = task.examples(limit)
    left, border = left_out(vectors, kind.stop_words), table.vocabulary.size
    found = text_of(vectors)
    texts: dict[str, Callable[[], Counts]] = {}
    if isinstance(found, str):
        texts["as it is"] = lambda: TableCounts(table.pairs)
        notes.append(found)
    else:
        ids, near = found
        mixed = lambda: TextCounts(shuffled_inside(ids, border, number_of("shuffled")), near, border, left)  # noqa: E731
        texts["shuffled" if near.shuffled else "as it is"] = (
            mixed if near.shuffled else lambda: TextCounts(ids, near, border, left)
        )
        texts["shuffled"] = mixed
    return [
        _asked(vectors, kind, task, [one.row for one in questions], name, made, notes) for name, made in texts.items()
    ]


def _asked(
    vectors: WordVectors,
    kind: AssociationChoice,
    task: Task,
    rows: Sequence[Row],
    text: str,
    counts: Callable[[], Counts],
    notes: list[str],
) -> AssociationResult:
    solver = Solver(vectors, kind, counts())
    judged = [kind.judge(row, [solver.answer(one) for one in kind.requests(row)]) for row in rows]  # type: ignore[arg-type]
    return AssociationResult(vectors.name, task.name, text, judged, [kind.chance(row) or 0.0 for row in rows], notes)


def together(solved: Sequence[AssociationResult]) -> list[AssociationResult]:
    """Behind the variants of a task, all of them as one."""
    found: dict[tuple[str, str], list[AssociationResult]] = {}
    for one in solved:
        found.setdefault((one.model, one.task.partition("/")[0]), []).append(one)
    for (model, task), some in found.items():
        if len({one.task for one in some}) > 1:
            for text in dict.fromkeys(one.text for one in some):
                alike = [one for one in some if one.text == text]
                judged = [judged for one in alike for judged in one.judged]
                some.append(
                    AssociationResult(model, f"{task}, all", text, judged, [c for one in alike for c in one.chances])
                )
    return [one for some in found.values() for one in some]


def report(solved: Sequence[AssociationResult], examples: Path | None = None, show: bool = False) -> Report:
    """Every text on every task; which pairs of words decided the first question."""
    rows: list[tuple[str, ...]] = [("model", "task", "text", "accuracy", "95% interval", "chance", "p", "questions")]
    for one in together(solved):
        low, high = one.interval
        shares = [f"{100 * one.right / len(one.judged):.1f}", f"{100 * low:.1f} to {100 * high:.1f}"]
        guess = f"{100 * float(np.mean(one.chances)):.1f}"
        rows.append((one.model, one.task, one.text, *shares, guess, f"{one.p:.2g}", f"{len(one.judged):,}"))
    if examples is not None:
        write_json_lines(examples, _lines(solved))
    results = Section("Results", Table(rows, left=(0, 1, 2)), Text(list(dict.fromkeys(_notes(solved)))))
    first = Section("The first question", Text(list(_shown(solved[0].judged[0])))) if show else Section("")
    return Report("Multiple choice", [], [first, results], {"scores": [one.values() for one in together(solved)]})


def _notes(solved: Sequence[AssociationResult]) -> Iterator[str]:
    yield "p: how likely guessing is right so often; shuffled: the same words dealt out anew over the text, to be at chance."
    for one in solved:
        yield from (f"{one.task}: {note}" for note in one.notes)


def _lines(solved: Sequence[AssociationResult]) -> Iterator[JsonObject]:
    for one in solved:
        for number, judged in enumerate(one.judged):
            about = {"task": one.task, "model": one.model, "text": one.text, "example": number}
            yield {**about, **judged.shown, "judged": judged.values}


def _shown(judged: Judged) -> Iterator[str]:
    shown = judged.shown
    yield shown["question"]
    for place, (choice, score) in enumerate(zip(shown["choices"], shown["scores"])):
        marks = "".join(mark for mark, at in ((">", shown["guess"]), ("*", shown["gold"])) if at == place)
        pairs = ", ".join(f"{one} + {other} {value:+.2f}" for one, other, value in shown["pairs"][choice])
        yield f"{marks:>3} {score:+.3f}  {choice}    {pairs}"
    yield "    > its answer, * the right one; the pairs that weigh most"
