"""Turns of a dialogue as ids: each closed by [end], so that whoever answers knows when the other has finished.

A tokenizer that has [cls] begins with it, as the Chinese chat models built on BERT's vocabulary do; GPT-2's begins with a turn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foreword.text.document import Document
from foreword.tokens.marks import encode_with_marks
from foreword.tokens.tokenizer import Tokenizer

SKIPPED = "skipped"  # the mark of tokens whose turn is read but not learned


def encode_documents(
    tokenizer: Tokenizer, documents: Sequence[Document], marks: tuple[str, ...]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The ids of each document, without its last [end], and their marks; a dialogue's turns are separated by [end]."""
    in_text = tuple(name for name in marks if name != SKIPPED)
    if SKIPPED not in marks:
        return encode_with_marks(tokenizer, [document.text for document in documents], in_text)
    end, bit = tokenizer.special("[end]"), np.uint8(1 << marks.index(SKIPPED))
    found = [document.dialogue for document in documents if document.dialogue]
    pieces, flags = encode_with_marks(tokenizer, [turn for one in found for turn in one.turns], in_text)
    ids, carried, at = [], [], 0
    for one in found:
        parts: list[np.ndarray] = []
        bits: list[np.ndarray] = []
        for number, learned in enumerate(one.learned):
            if number:
                parts.append(np.asarray([end]))
                bits.append(np.zeros(1, np.uint8))
            parts.append(pieces[at])
            bits.append(flags[at] if learned else flags[at] | bit)
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
