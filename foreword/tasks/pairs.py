"""Tasks that are asked for text, as pairs to learn from: what is asked, and what should be written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from foreword.basics.files import cache_folder, write_text
from foreword.basics.messages import Fault
from foreword.tasks.example import UnusableExample
from foreword.tasks.prompted.generation import Generation
from foreword.tasks.task import Task, load


def pairs_of(words: Sequence[str], data: Path | None = None) -> Path:
    """A jsonl file of the training rows of tasks by their names, one task behind the other; kept for the next time."""
    tasks = [task for word in words for task in load(word, data)]
    rows = [json.dumps({"turns": list(pair)}, ensure_ascii=False) for task in tasks for pair in _pairs(task)]
    text = "\n".join(rows) + "\n"
    key = hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
    out = cache_folder() / "pairs" / f"{tasks[0].name.replace('/', '-')}-{key}.jsonl"
    if not out.is_file():
        out.parent.mkdir(parents=True, exist_ok=True)
        write_text(out, text)
    return out


def _pairs(task: Task) -> list[tuple[str, str]]:
    if not isinstance(task.kind, Generation):
        raise Fault(
            f"{task.name} is answered by choosing, not by writing: there are no pairs to learn from.",
            'A task whose request.kind is "write" has them.',
        )
    if "train" not in task.spec.source.splits():
        raise Fault(f"{task.name} has nothing to learn from, only what is asked.")
    found = []
    for row in task.source_rows("train"):
        try:
            found.append((task.kind.requests(row)[0].query, task.kind.references(row)[0]))
        except UnusableExample:
            continue
    return found
