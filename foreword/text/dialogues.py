"""Dialogues from files: jsonl, turns separated by tabs or by `__eou__`, and DialoGPT's own lines with a weight before each turn.

A plain file has one dialogue to a line, and its first line shows in which form. Chinese whose characters are separated by
spaces, as LCCC has it, is put together again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from foreword.basics.messages import Fault, did_you_mean
from foreword.text import compressed
from foreword.text.document import Dialogue
from foreword.text.encoding import decoded
from foreword.text.rows import Lines, RowFault, json_rows
from foreword.text.words import HAN

UTTERANCE_END = "__eou__"
KEYS = ("turns", "dialogue", "dialog", "conversation", "messages", "text")  # customary names of the turns in jsonl
SAID = ("text", "content", "value", "utterance")  # and of the words of one turn, where turns are objects
WHO = ("speaker", "role", "from", "author")  # and of whoever says it
_WEIGHTED = re.compile(r"([01])(?:\.0)? (.*)", re.DOTALL)
_LABELS = re.compile(r"[\d\s]*")
_HAN = f"{HAN}\u2e80-\u2fdf\u3000-\u303f\uff00-\uffef…—“”‘’·～"  # radicals and punctuation too
_BESIDE_HAN = re.compile(f"(?<=[{_HAN}]) (?=\\S)|(?<=\\S) (?=[{_HAN}])")
_A_HAN, _TWO_HAN = re.compile(f"[{HAN}]"), re.compile(f"[{HAN}]{{2}}")

Form = Callable[[Any], Dialogue]


def by_utterance_ends(line: str) -> Dialogue:
    """DailyDialog: `__eou__` closes every turn; topics, acts and feelings may follow in numbers."""
    *turns, after = line.split(UTTERANCE_END)
    return Dialogue(_clean(turns if _LABELS.fullmatch(after) else [*turns, after]))


def by_tabs(line: str) -> Dialogue:
    return Dialogue(_clean(line.split("\t")))


def by_weights(line: str) -> Dialogue:
    """DialoGPT: `0.0 first EOS 1.0 second<tab>1.0 reply`: what has weight 0 is read, not learned."""
    found = [_WEIGHTED.fullmatch(turn.strip(" ")) for turn in _weighted(line)]
    if not all(found):
        wrong = next(number for number, turn in enumerate(found, 1) if not turn)
        raise Fault(
            f"turn {wrong} has no weight before it.",
            "The first line of the file has weights (0.0 or 1.0) before all turns: give every turn one.",
        )
    return Dialogue(
        _clean([turn.group(2) for turn in found if turn]), tuple(int(turn.group(1)) for turn in found if turn)
    )


def form_of(line: str) -> Form:
    """How a file is written whose first line is this."""
    if UTTERANCE_END in line:
        return by_utterance_ends
    if "\t" in line and all(_WEIGHTED.fullmatch(turn.strip(" ")) for turn in _weighted(line)):
        return by_weights
    if "\t" in line:
        return by_tabs
    raise Fault(
        "this line is not a dialogue: nothing in it separates its turns.",
        f'Turns are separated by tabs or by {UTTERANCE_END}; in .jsonl they are a list:  {{"turns": ["Hi.", "Yes?"]}}',
    )


def of_file(path: Path, ending: str, column: str, lines: Lines, first: Callable[[Path], int]) -> Iterator[Dialogue]:
    """The dialogues of one file; `lines` reads a plain file or a range of it, whose first line has number `first`."""
    if ending in (".csv", ".parquet"):
        raise Fault(f"{path}: dialogues are read from .jsonl and from plain lines, not from {ending}.")
    packed = ending.endswith((".gz", ".zst"))
    there = compressed.lines(path) if packed else lines(path)
    rows: Iterator[tuple[int, object]]
    form: Form
    if ending.startswith(".jsonl"):
        rows, form = json_rows(there), partial(of_row, column=column)
    else:
        rows, form = ((number, line.rstrip("\r")) for number, line in there if line.strip()), _form(path)
    try:
        for number, row in rows:
            try:
                yield form(row)
            except Fault as fault:
                raise RowFault(number, fault.what, fault.do) from fault
    except RowFault as fault:
        raise Fault(
            fault.what, fault.do, where=f"{path}:{fault.number + (0 if packed else first(path) - 1)}"
        ) from fault


def of_row(row: Any, column: str = "text") -> Dialogue:
    """A JSON value: a list of turns, or an object that has one (and perhaps a list of weights)."""
    weights: Any = ()
    if isinstance(row, dict) and {"source", "target"} <= row.keys():
        row = [row["source"], row["target"]]
    if isinstance(row, dict):
        key = column if column in row else next((key for key in KEYS if key in row), None)
        if key is None or (column not in row and column != "text"):
            raise Fault(
                f"there is no column {column if column != 'text' else 'turns'!r}.{did_you_mean(column, row)}",
                f"The columns there are: {', '.join(row) or 'none'}. Choose one:  --column NAME",
            )
        row, weights = row[key], row.get("weights") or ()
    if not isinstance(row, list):
        raise Fault(f"the turns are a {type(row).__name__}, not a list of texts.")
    turns = [_said(turn, number) for number, turn in enumerate(row, 1)]
    if weights and (
        not isinstance(weights, list) or len(weights) != len(turns) or any(one not in (0, 1) for one in weights)
    ):
        raise Fault(f"{len(turns)} turns need {len(turns)} weights, each 0 or 1 (it says {weights!r}).")
    return Dialogue(_clean(turns), tuple(int(one) for one in weights), speakers=_speakers(row))


def unspaced(text: str) -> str:
    """Chinese written with a space after each character, without them; anything else as it is."""
    spaced = " " in text and _A_HAN.search(text) and not _TWO_HAN.search(text)
    return _BESIDE_HAN.sub("", text) if spaced else text


def _clean(turns: list[str]) -> tuple[str, ...]:
    if empty := [str(number) for number, turn in enumerate(turns, 1) if not turn.strip()]:
        raise Fault(f"turn {', '.join(empty)} of {len(turns)} is empty.", "Remove the turn, or the dialogue.")
    return tuple(unspaced(turn.strip()) for turn in turns)


def _weighted(line: str) -> list[str]:
    return [turn for side in line.split("\t") for turn in side.split(" EOS ")]


def _said(turn: object, number: int) -> str:
    found = next((turn[key] for key in SAID if key in turn), None) if isinstance(turn, dict) else turn
    if not isinstance(found, str):
        raise Fault(
            f"turn {number} is not a text.", f"A turn is a text, or an object that has one under {', '.join(SAID)}."
        )
    return found


def _speakers(turns: list[object]) -> tuple[str, ...]:
    """Who says each turn, if all turns name somebody."""
    named = [next((str(turn[key]) for key in WHO if key in turn), "") for turn in turns if isinstance(turn, dict)]
    return tuple(named) if all(named) and len(named) == len(turns) else ()


def _form(path: Path) -> Form:
    """Asked of the file's first line, so that all who read a part of it agree."""
    with open(path, "rb") as file:
        number, line = next(((number, line) for number, line in enumerate(file, 1) if line.strip()), (1, b""))
    try:
        return form_of(decoded(line.rstrip(b"\r\n"), path, 0))
    except Fault as fault:
        raise fault if fault.where else Fault(fault.what, fault.do, where=f"{path}:{number}") from fault
