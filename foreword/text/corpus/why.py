"""Why a document was kept or removed: what is noted of it, found by its id, address, file or some of its words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from foreword.basics.files import JsonObject, parse_json, read_json
from foreword.basics.messages import Fault

CONTENT = "corpus.json"  # what was done, beside the documents
FEWEST = 8  # characters: fewer stand in every document


def read_corpus(folder: Path) -> JsonObject:
    """What corpus.json says."""
    if not (folder / CONTENT).is_file():
        raise Fault(f"{folder} is no corpus: there is no {CONTENT} in it.", "`foreword corpus build` makes one.")
    return read_json(folder / CONTENT)


def rows(folder: Path) -> Iterator[tuple[bool, JsonObject]]:
    """(kept, what is noted) of every document that was read."""
    for path in sorted(folder.glob("*.jsonl")):
        with open(path, encoding="utf-8", newline="\n") as file:
            yield from ((True, parse_json(line)) for line in file)
    for path in sorted(folder.glob("removed/*.log")):
        with open(path, encoding="utf-8", newline="\n") as file:
            yield from ((False, parse_json(line)) for line in file)


def find(folder: Path, wanted: str) -> list[tuple[bool, JsonObject]]:
    """Documents with this id, address or file; if there are none, those that hold these words."""
    read_corpus(folder)
    named, holding = [], []
    for kept, row in rows(folder):
        text = row.get("text") or row.get("begins") or "\n".join(row.get("turns", ()))
        if wanted in (row.get("id"), row.get("address"), row.get("source")):
            named.append((kept, row))
        elif not named and len(wanted) >= FEWEST and wanted in text:
            holding.append((kept, row))
    if not named and not holding:
        raise Fault(
            f"{folder} knows of no document {wanted!r}.",
            "Give its id (as 3.17), its address, the file it was read from, or eight or more characters of its text "
            "(of what was removed, only the beginning is kept).",
        )
    return named or holding


def sentence(kept: bool, row: JsonObject) -> str:
    """What happened to a document, in words."""
    origin = ", ".join(str(row[key]) for key in ("name", "source", "address", "date") if row.get(key))
    noted = "; ".join(f"{stage}: {_note(note)}" for stage, note in row.get("passed", {}).items())
    if kept:
        return f"{row['id']} ({origin}) was kept." + (
            f" Noted on the way: {noted}." if noted else " No stage changed it."
        )
    said = f"{row.get('id', 'a document')} ({origin}) was removed by {row['stage']}: {row['rule']}"
    return (
        said + (f" of {row['like']}" if row.get("like") else "") + "." + (f" Noted before: {noted}." if noted else "")
    )


def _note(note: object) -> str:
    return ", ".join(f"{count} {what}" for what, count in note.items()) if isinstance(note, dict) else str(note)
