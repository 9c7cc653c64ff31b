"""Lists of hypotheses, best first by whoever made them: what a recogniser heard, or how a text may be translated.

{"ref": "recognize speech", "hyps": [{"text": "wreck a nice beach", "score": -41.2}, ...]}       one object on a line

`score` is the log-probability (or any score, higher is better) that the recogniser or the translation model gave; `am` is read as
well. `ref` may be a list of references, and may be missing where nothing is to be judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foreword.basics.messages import Fault, Faults
from foreword.tasks.files import JsonLines, SearchPath


@dataclass(frozen=True)
class NBest:
    """One utterance or sentence."""

    texts: tuple[str, ...]
    scores: np.ndarray
    references: tuple[str, ...]  # none: not judged

    @property
    def words(self) -> np.ndarray:
        return np.array([len(text.split()) for text in self.texts], float)


def read_n_best(path: Path) -> list[NBest]:
    """All lists of a file; all of its faults at once, with their lines."""
    if not path.is_file():
        raise Fault(f"{path} is not there.")
    rows = JsonLines(test=path.name).rows("test", SearchPath(path.parent))
    found, faults = [], []
    for number, row in enumerate(rows, 1):
        try:
            found.append(_list(row))
        except Fault as fault:
            faults.append(Fault(fault.what, fault.do, where=f"{path}:{getattr(row, 'number', number)}"))
    if faults:
        raise Faults(faults[:20])
    return found


def _list(row: Any) -> NBest:
    hyps = row.get("hyps")
    if not isinstance(hyps, list) or not hyps:
        raise Fault(
            "there are no hypotheses: 'hyps' must be a list of them.",
            'Write {"ref": ..., "hyps": [{"text": ..., "score": ...}]}.',
        )
    texts, scores = [], []
    for place, one in enumerate(hyps, 1):
        if not isinstance(one, dict) or not isinstance(one.get("text"), str):
            raise Fault(f"hypothesis {place} has no 'text'.")
        score = one.get("score", one.get("am"))
        if isinstance(score, bool) or not isinstance(score, (int, float)) or not np.isfinite(score):
            raise Fault(
                f"hypothesis {place} has no score: 'score' must be a number (it says {score!r}).",
                "Without the scores of the recogniser or translator there is nothing to weigh the language model against.",
            )
        texts.append(one["text"])
        scores.append(float(score))
    given = row.get("ref", row.get("refs", []))
    references = (given,) if isinstance(given, str) else given
    if not isinstance(references, (list, tuple)) or not all(isinstance(one, str) for one in references):
        raise Fault(f"'ref' must be a text or a list of them (it says {given!r}).")
    return NBest(tuple(texts), np.array(scores), tuple(references))


def word_errors(reference: Sequence[str], guess: Sequence[str]) -> int:
    """Words to substitute, delete and insert, as few as possible (Levenshtein)."""
    costs = np.arange(len(guess) + 1)
    for row, word in enumerate(reference, 1):
        before, costs = costs, np.empty_like(costs)
        change = before[:-1] + np.array([word != other for other in guess], int)
        costs[0] = row
        # an insertion builds on its left neighbour: the running minimum of cost - place
        best = np.minimum(change, before[1:] + 1)
        costs[1:] = np.minimum.accumulate(np.append(row, best) - np.arange(len(guess) + 1))[1:] + np.arange(
            1, len(guess) + 1
        )
    return int(costs[-1])
