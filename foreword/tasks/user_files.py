"""A file of labelled examples: csv, tsv, jsonl, SQuAD's json or CoNLL columns. Its columns say what is to be learned."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foreword.basics.messages import Fault, did_you_mean
from foreword.tasks import LABELLED_KINDS
from foreword.tasks.files import Csv, Files, JsonLines, Shelf, Tsv, text_of
from foreword.tasks.formats.conll import Conll
from foreword.tasks.formats.squad import Squad
from foreword.tasks.labelled.base import LabelledKind
from foreword.tasks.labelled.choice import MultipleChoice
from foreword.tasks.labelled.classify import Classification, PairClassification
from foreword.tasks.labelled.rank import Ranking
from foreword.tasks.labelled.similarity import Similarity
from foreword.tasks.labelled.span import SpanExtraction
from foreword.tasks.labelled.tag import Tagging
from foreword.tasks.prompted.request import Row

READERS: dict[str, type[Files]] = {
    ".csv": Csv, ".tsv": Tsv, ".jsonl": JsonLines, ".json": JsonLines, ".conll": Conll, ".bio": Conll}

FIRST = ("sentence1", "premise", "text1", "text_a", "question1", "first")
SECOND = ("sentence2", "hypothesis", "text2", "text_b", "question2", "second")
ALONE = ("text", "sentence", "content", "review", "text_a", "sentence1", "question")
LABEL = ("label", "gold_label", "labels", "class", "category", "target", "gold")
SCORE = ("score", "similarity")
OPTIONS = ("choices", "options", "endings")
NUMBERED = ("choice", "option", "ending", "answer")


@dataclass(frozen=True)
class Finding:
    """A kind that the columns fit, and why."""

    learn: LabelledKind
    why: str


def is_file_of_examples(word: str) -> bool:
    return Path(word).suffix in READERS


def rows_of(path: Path) -> Sequence[Row]:
    """The rows of one file, whatever its ending says it is."""
    if not path.is_file():
        raise Fault(f"{path} is not there.")
    if path.suffix not in READERS:
        raise Fault(f"{path} is of no kind that is read here.", f"Files of examples end in {', '.join(READERS)}.")
    reader = Squad if path.suffix == ".json" and _is_squad(path) else READERS[path.suffix]
    return reader(train=path.name).rows("train", Shelf(path.parent))


def _is_squad(path: Path) -> bool:
    """One object with articles in it, not an object on each line."""
    try:
        return isinstance(json.loads(text_of(path))["data"], list)
    except (ValueError, KeyError, TypeError):
        return False


def opened(files: Mapping[str, Path | None],
           kind: str = "") -> tuple[LabelledKind, dict[str, tuple[Path, Sequence[Row]]], list[str]]:
    """(how its rows are read, rows by split, what was inferred in a sentence)."""
    read = {split: (path, rows_of(path)) for split, path in files.items() if path}
    path, rows = read["train"]
    found = inferred(rows, kind, str(path))
    _same_columns(found.learn, read)
    return found.learn, read, [f"{found.why}: {found.learn.in_words}." if not kind else f"{found.why}; {kind} as told."]


def _same_columns(learn: LabelledKind, read: Mapping[str, tuple[Path, Sequence[Row]]]) -> None:
    wanted = [name for _, name in learn.fields()]
    for split, (path, rows) in read.items():
        if gone := [name for name in wanted if name not in rows[0]]:
            raise Fault(f"{split} has no column {gone[0]!r}, which train has.{did_you_mean(gone[0], rows[0])} "
                        f"Columns: {', '.join(rows[0])}.", "Name the columns alike in all files.", where=f"{path}:1")


def inferred(rows: Sequence[Row], kind: str = "", file: str = "") -> Finding:
    """The kind of task that the columns fit, the most particular first."""
    there = list(rows[0])
    if kind and kind not in LABELLED_KINDS.places:
        known = LABELLED_KINDS.names()
        raise Fault(f"there is no kind of task {kind!r}.{did_you_mean(kind, known)} Kinds: {', '.join(known)}.")
    for name, finder in FINDERS.items():
        if kind in ("", name) and (found := finder(rows, kind == name)):
            return found
    wanted = f"{kind} needs: {WANTED[kind]}" if kind else f"Known are: {'; or '.join(WANTED.values())}"
    raise Fault(f"the columns {', '.join(map(repr, there))} do not say what is to be learned.{_near(there)}",
                f"Name them in the first line. {wanted}.", where=f"{file}:1")


def to_answer(rows: Sequence[Row], kinds: Sequence[str], file: str = "") -> LabelledKind:
    """How rows without answers are read, of the first of these kinds that their columns fit."""
    filled: list[Row] = [{**UNANSWERED, **row} for row in rows[:1]]
    for kind in kinds:
        if found := FINDERS[kind](filled, True):
            return found.learn
    wanted = "; or ".join(READ[kind] for kind in kinds)
    raise Fault(f"the columns {', '.join(map(repr, rows[0]))} do not say what is to be read.{_near(list(rows[0]))}",
                f"Name them in the first line: {wanted}.", where=f"{file}:1")


def _near(there: Sequence[str]) -> str:
    known = (*ALONE, *FIRST, *SECOND, *LABEL, *SCORE, *OPTIONS, "context", "answers", "words", "tags", "query", "relevance")
    return next((said for name in there if name not in known and (said := did_you_mean(name, known))), "")


def _one(rows: Sequence[Row], names: Sequence[str]) -> str:
    return next((name for name in names if name in rows[0]), "")


def _values(rows: Sequence[Row], column: str) -> set[str]:
    return {str(row.get(column, "")).strip() for row in rows}


def _is_number(text: str) -> bool:
    try:
        return abs(float(text)) < float("inf")
    except ValueError:
        return False


def _classes(rows: Sequence[Row], label: str, *texts: str) -> str:
    columns = ", ".join(texts) + f" and {label}"
    return f"columns {columns}, {len(_values(rows, label)):,} different labels"


def _tag(rows: Sequence[Row], told: bool) -> Finding | None:
    words, tags = _one(rows, ("words", "tokens")), _one(rows, ("tags", "ner_tags", "pos_tags", "labels"))
    if not (words and tags):
        return None
    joined = rows[0][words]
    chinese = not isinstance(joined, str) and all(len(str(word)) <= 1 for word in joined)
    return Finding(Tagging(sentence=f"{{{words}}}", tags=f"{{{tags}}}", join="" if chinese else " "),
                   f"columns {words} and {tags}, {'characters' if chinese else 'words'} with a tag each")


def _span(rows: Sequence[Row], told: bool) -> Finding | None:
    context, answers = _one(rows, ("context", "passage", "paragraph")), _one(rows, ("spans", "answers", "answer"))
    if not (context and answers and "question" in rows[0]):
        return None
    return Finding(SpanExtraction(question="{question}", context=f"{{{context}}}", spans=f"{{{answers}}}"),
                   f"columns question, {context} and {answers}")


def _choice(rows: Sequence[Row], told: bool) -> Finding | None:
    options = _one(rows, OPTIONS)
    numbered = next((found for stem in NUMBERED if len(found := [name for name in rows[0] if name.rstrip("0123456789") == stem
                                                                and name != stem]) > 1), [])
    letters = [name for name in "ABCDEFGH" if name in rows[0]]
    choices: Any = f"{{{options}}}" if options else tuple(f"{{{name}}}" for name in numbered or letters)
    context = _one(rows, ("context", "ctx", "article", "passage", "question", "text", "sentence"))
    gold = _one(rows, ("label", "gold", "answer", "key", "answerKey", "right"))
    if not (context and gold and choices):
        return None
    question = "{question}" if "question" in rows[0] and context != "question" else ""
    lettered = all(len(said) == 1 and said.isalpha() for said in _values(rows, gold))
    return Finding(MultipleChoice(context=f"{{{context}}}", question=question, choices=choices, gold=f"{{{gold}}}",
                          labels=tuple("ABCDEFGH") if lettered else ()),
                   f"columns {context}, {options or ', '.join(numbered or letters)} and {gold}")


def _rank(rows: Sequence[Row], told: bool) -> Finding | None:
    query, candidate = _one(rows, ("query", "question")), _one(rows, ("candidate", "passage", "document", "answer", "sentence"))
    relevance = _one(rows, ("relevance", "relevant", "label"))
    if not (query and candidate and relevance and (told or query == "query" or relevance.startswith("relevan"))):
        return None
    return Finding(Ranking(query=f"{{{query}}}", candidate=f"{{{candidate}}}", relevance=f"{{{relevance}}}"),
                   f"columns {query}, {candidate} and {relevance}, {len(_values(rows, query)):,} different queries")


def _two(rows: Sequence[Row]) -> tuple[str, str]:
    first, second = _one(rows, FIRST), _one(rows, SECOND)
    if not second and "question" in rows[0]:
        first, second = "question", _one(rows, ("sentence", "answer", "context", "passage"))
    return (first, second) if first and second else ("", "")


def _similarity(rows: Sequence[Row], told: bool) -> Finding | None:
    first, second = _two(rows)
    score = _one(rows, SCORE)
    if not score and (label := _one(rows, LABEL)):
        said = _values(rows, label)
        if all(map(_is_number, said)) and (told or any(not float(one).is_integer() for one in said)):
            score = label                                     # 3.8 is no class; 4 is one, unless told otherwise
    if not (first and score):
        return None
    return Finding(Similarity(first=f"{{{first}}}", second=f"{{{second}}}", score=f"{{{score}}}"),
                   f"columns {first}, {second} and {score}, which is a number")


def _pair(rows: Sequence[Row], told: bool) -> Finding | None:
    (first, second), label = _two(rows), _one(rows, LABEL)
    if not (first and label):
        return None
    return Finding(PairClassification(first=f"{{{first}}}", second=f"{{{second}}}", label=f"{{{label}}}", skip=("-",)),
                   _classes(rows, label, first, second))


def _classify(rows: Sequence[Row], told: bool) -> Finding | None:
    text, label = _one(rows, ALONE), _one(rows, LABEL)
    if not (text and label):
        return None
    return Finding(Classification(text=f"{{{text}}}", label=f"{{{label}}}"), _classes(rows, label, text))


FINDERS: dict[str, Callable[[Sequence[Row], bool], Finding | None]] = {
    "tag": _tag, "span": _span, "choice": _choice, "rank": _rank, "similarity": _similarity, "pair": _pair, "classify": _classify}
WANTED = {
    "classify": "text and label", "pair": "sentence1, sentence2 and label", "similarity": "sentence1, sentence2 and score",
    "choice": "context, choices (or choice0, choice1 ...) and label",
    "span": "question, context and answers (or answer and start)", "tag": "words and tags",
    "rank": "query, candidate and relevance"}
READ = {
    "classify": "text", "pair": "sentence1 and sentence2", "similarity": "sentence1 and sentence2",
    "choice": "context and choices (or choice0, choice1 ...)", "span": "question and context", "tag": "words",
    "rank": "query and candidate"}
UNANSWERED: Row = {"label": "", "score": 0, "answers": [], "tags": [], "relevance": 0}        # columns that new text has not
