"""A user's file of labelled examples: csv, tsv, jsonl, SQuAD's json or CoNLL columns. Its columns say what is to be learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from foreword.basics.files import parse_json
from foreword.basics.messages import Fault, did_you_mean
from foreword.tasks import LABELLED_KINDS
from foreword.tasks.files import Csv, Delimited, Files, JsonLines, SearchPath, Tsv, text_of
from foreword.tasks.formats.conll import Conll
from foreword.tasks.formats.squad import Squad
from foreword.tasks.labelled.base import LabelledKind
from foreword.tasks.labelled.columns import Columns
from foreword.tasks.template import Row

READERS: dict[str, type[Files]] = {
    ".csv": Csv,
    ".tsv": Tsv,
    ".jsonl": JsonLines,
    ".json": JsonLines,
    ".conll": Conll,
    ".bio": Conll,
}
UNANSWERED: Row = {"label": "", "score": 0, "answers": [], "tags": [], "relevance": 0}  # columns that new text has not


@dataclass(frozen=True)
class Rows:
    """The rows of one split and the file they are from."""

    file: str
    rows: Sequence[Row]


def rows_of(path: Path, columns: Sequence[str] = ()) -> Sequence[Row]:
    """The rows of one file, whatever its ending says it is. `columns`: their names, where its first line does not say them."""
    if not path.is_file():
        raise Fault(f"{path} is not there.")
    if path.suffix not in READERS:
        raise Fault(f"{path} is of no kind that is read here.", f"Files of examples end in {', '.join(READERS)}.")
    reader = Squad if path.suffix == ".json" and _is_squad(path) else READERS[path.suffix]
    if columns and not issubclass(reader, Delimited):
        raise Fault(f"--columns {','.join(columns)}: {path} names its columns itself.", "Leave it out.")
    named = {"columns": tuple(columns)} if columns else {}
    return reader(train=path.name, **named).rows("train", SearchPath(path.parent))


def _is_squad(path: Path) -> bool:
    """One object with articles in it, not an object on each line."""
    try:
        return isinstance(parse_json(text_of(path))["data"], list)
    except (ValueError, KeyError, TypeError):
        return False


def opened(
    files: Mapping[str, Path | None], kind: str = "", columns: Sequence[str] = ()
) -> tuple[LabelledKind, dict[str, Rows], list[str]]:
    """(how its rows are read, rows by split, what was inferred in a sentence)."""
    read = {split: Rows(str(path), rows_of(path, columns)) for split, path in files.items() if path}
    learn, why = inferred(read["train"].rows, kind, read["train"].file)
    for split, one in read.items():
        first = one.rows[0]
        if gone := [name for _, name in learn.fields() if name not in first]:
            raise Fault(
                f"{split} has no column {gone[0]!r}, which train has.{did_you_mean(gone[0], first)} "
                f"Columns: {', '.join(first)}.",
                "Name the columns alike in all files.",
                where=f"{one.file}:1",
            )
    return learn, read, [why]


def inferred(rows: Sequence[Row], kind: str = "", file: str = "") -> tuple[LabelledKind, str]:
    """(the kind of task that the columns fit, the most particular first; how that was seen)."""
    known = list(LABELLED_KINDS.places)
    if kind and kind not in known:
        raise Fault(f"there is no kind of task {kind!r}.{did_you_mean(kind, known)} Kinds: {', '.join(sorted(known))}.")
    columns = Columns(rows, bool(kind))
    if found := _fitting(columns, [kind] if kind else known):
        return found[0], f"{found[1]}; {kind}, as you said." if kind else f"{found[1]}: {found[0].in_words}."
    wanted = {name: LABELLED_KINDS.find(name).columns_in_words() for name in reversed(known)}
    needs = f"{kind} needs: {wanted[kind]}" if kind else f"Known are: {'; or '.join(wanted.values())}"
    raise _missing_column(columns, "learned", f". {needs}", file)


def to_answer(rows: Sequence[Row], kinds: Sequence[str], file: str = "") -> LabelledKind:
    """How rows without answers are read, of the first of these kinds that their columns fit."""
    if found := _fitting(Columns([{**UNANSWERED, **row} for row in rows[:1]], asked=True), kinds):
        return found[0]
    wanted = "; or ".join(LABELLED_KINDS.find(kind).columns_in_words(False) for kind in kinds)
    raise _missing_column(Columns(rows), "read", f": {wanted}", file)


def _fitting(columns: Columns, kinds: Sequence[str]) -> tuple[LabelledKind, str] | None:
    tried = (LABELLED_KINDS.find(kind).from_columns(columns) for kind in kinds)
    return next(filter(None, tried), None)


def _missing_column(columns: Columns, what: str, needs: str, file: str) -> Fault:
    there = ", ".join(map(repr, columns.rows[0]))
    said = f"the columns {there} do not say what is to be {what}.{columns.mistyped()}"
    return Fault(said, f"Name them in the first line{needs}.", where=f"{file}:1")
