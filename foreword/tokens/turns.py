"""Turns of a dialogue as ids: each closed by [end], so that whoever answers knows when the other has finished.

A tokenizer that has [cls] begins with it, as the Chinese chat models built on BERT's vocabulary do; GPT-2's begins with a turn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foreword.text.document import Document
from foreword.tokens.page import Page
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.units import Units, encode_marked

SKIPPED = "skipped"  # the mark of tokens whose turn is read but not learned
ANSWERS = "answers"  # and of those whose turn is said by another than the first speaker


def encode_documents(
    tokenizer: Tokenizer, documents: Sequence[Document], marks: tuple[str, ...], units: Units | None = None
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The ids of each document, without its last [end], and their marks; a dialogue's turns are separated by [end]."""
    end, bit = tokenizer.special("[end]"), np.uint8(1 << marks.index(SKIPPED))
    answers = np.uint8(1 << marks.index(ANSWERS)) if ANSWERS in marks else np.uint8(0)
    found = [document.dialogue for document in documents if document.dialogue]
    said = Page.of([turn for one in found for turn in one.turns])
    pieces, flags = encode_marked(tokenizer, said, marks, units).by_text()
    ids, carried, at = [], [], 0
    for one in found:
        parts: list[np.ndarray] = []
        bits: list[np.ndarray] = []
        for number, (learned, other) in enumerate(zip(one.learned, one.answers)):
            if number:
                parts.append(np.asarray([end]))
                bits.append(np.zeros(1, np.uint8))
            parts.append(pieces[at])
            bits.append(flags[at] | (bit * (not learned)) | (answers * other))
            at += 1
        ids.append(np.concatenate(parts).astype(np.int64))
        carried.append(np.concatenate(bits).astype(np.uint8))
    return ids, carried


def join_turns(turns: Sequence[np.ndarray | Sequence[int]], tokenizer: Tokenizer) -> np.ndarray:
    """Turns as one sequence: [cls] if there is one, then each turn and [end]."""
    begin = [tokenizer.special("[cls]")] if tokenizer.has("[cls]") else []
    end = [tokenizer.special("[end]")]
    return np.concatenate([begin, *(part for turn in turns for part in (turn, end))]).astype(np.int64)


def split_turns(ids: np.ndarray, end: int) -> list[np.ndarray]:
    """The turns of a session, each with its [end]."""
    return np.split(ids, np.flatnonzero(ids[:-1] == end) + 1)
