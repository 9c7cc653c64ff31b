"""Entity cloze: a whole name is hidden, and a model that reads both ways must find every piece of it (ERNIE 1.0, section 5.6)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from foreword.basics.files import parse_json
from foreword.basics.messages import Fault
from foreword.batches.by_length import by_length
from foreword.networks.base import Inputs, Model
from foreword.report import Report, Section, Table, Text
from foreword.runs.opening import TrainedModel
from foreword.tasks.confidence import wilson
from foreword.text.document import Document
from foreword.text.reading import units
from foreword.text.rows import ENTITIES
from foreword.tokens.tokenizer import Tokenizer


@dataclass(frozen=True)
class EntityQuestion:
    text: str
    start: int  # the first character of the entity
    stop: int


@dataclass(frozen=True)
class ClozeScore:
    asked: int
    whole: int  # entities of which every piece is right
    pieces: int
    right: int  # pieces that are right
    left_out: int  # entities that no token or only an unknown one stands for


def is_cloze(path: Path) -> bool:
    """Whether a file is one of texts with entities."""
    if path.suffix != ".jsonl" or not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        first = next((line for line in file if line.strip()), "")
    try:
        row = parse_json(first)
    except json.JSONDecodeError:
        return False
    return isinstance(row, dict) and any(name in row for name in ENTITIES)


def questions(path: Path) -> list[EntityQuestion]:
    """One for each entity of each text: `{"text": "...", "entities": [[0, 3]]}`."""
    documents: Iterator[Document] = (one for unit in units([path]) for one in unit.documents())
    found = [EntityQuestion(one.text, *span) for one in documents for span in one.spans]
    if not found:
        raise Fault(f"{path} has no entity to ask for.", 'Its lines are  {"text": "...", "entities": [[0, 3]]}.')
    return found


@torch.inference_mode()
def ask(model: Model, tokenizer: Tokenizer, asked: Sequence[EntityQuestion], before: int = 0) -> ClozeScore:
    """Hide each entity as a whole and guess every piece of it at once, `before` places before it stands (GPT-BERT: 1)."""
    built = [hidden(one, tokenizer, model.network.context) for one in asked]
    there = [one for one in built if one is not None]
    rows, gaps, answers = ([one[part] for one in there] for part in range(3))
    whole = right = 0
    for some in by_length([len(row) for row in rows]):
        longest = max(len(rows[i]) for i in some)
        ids, real = (
            torch.zeros(len(some), longest, dtype=torch.int64),
            torch.zeros(len(some), longest, dtype=torch.bool),
        )
        for place, i in enumerate(some):
            ids[place, : len(rows[i])], real[place, : len(rows[i])] = torch.from_numpy(rows[i]), True
        last = model.network(Inputs(ids, None if bool(real.all()) else real)).last
        for place, i in enumerate(some):
            guessed = model.heads["tokens"].log_probs(last[place, gaps[i] - before]).argmax(-1).numpy() == answers[i]
            whole, right = whole + bool(guessed.all()), right + int(guessed.sum())
    return ClozeScore(len(rows), whole, sum(len(one) for one in answers), right, len(asked) - len(rows))


def hidden(
    one: EntityQuestion, tokenizer: Tokenizer, context: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """(what is read, the places of the entity in it, its ids): as much text around the entity as fits."""
    ids, offsets = tokenizer.encode_with_offsets([one.text])[0]
    places = np.flatnonzero((offsets[:, 0] < one.stop) & (offsets[:, 1] > one.start) & (offsets[:, 1] > offsets[:, 0]))
    unknown = tokenizer.special("[unknown]") if tokenizer.has("[unknown]") else -1
    room = len(ids) if context is None else context - 2
    if not len(places) or (ids[places] == unknown).any() or len(places) > room:
        return None
    first = max(0, min(int(places[0]) - (room - len(places)) // 2, len(ids) - room))
    shown = ids.copy()
    shown[places] = tokenizer.special("[mask]")
    around = tokenizer.special("[cls]"), tokenizer.special("[separator]")
    return np.concatenate([around[:1], shown[first : first + room], around[1:]]), places - first + 1, ids[places]


def report(models: Mapping[str, TrainedModel], paths: Sequence[Path]) -> Report:
    """Every model on every file, side by side."""
    table: list[tuple[str, ...]] = [("model", "questions", "entities", "all pieces right", "95%", "pieces right")]
    values: dict[str, dict[str, object]] = {}
    notes = []
    for path in paths:
        asked = questions(path)
        for name, one in models.items():
            score = ask(one.with_heads, one.tokenizer, asked, one.recipe.objective.guessed_before)
            low, high = wilson(score.whole, score.asked)
            share, pieces = score.whole / max(score.asked, 1), score.right / max(score.pieces, 1)
            table.append(
                (name, path.name, f"{score.asked:,}", f"{share:.1%}", f"{low:.1%} to {high:.1%}", f"{pieces:.1%}")
            )
            values.setdefault(name, {})[path.name] = {
                "asked": score.asked,
                "whole": share,
                "interval": [low, high],
                "pieces": pieces,
                "left_out": score.left_out,
            }
            if score.left_out:
                notes.append(
                    f"{name}: {score.left_out:,} of {path.name} left out: unknown to its tokenizer, or too long."
                )
    return Report(
        "Entity cloze", [], [Section("Results", Table(table, left=(0, 1)), Text(notes) if notes else None)], values
    )
