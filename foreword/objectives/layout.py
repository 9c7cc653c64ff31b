"""Texts of unequal length as one padded batch, with the special tokens around and between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from foreword.batches.row import Row
from foreword.tokens.tokenizer import Tokenizer


def padded(rows: Sequence[np.ndarray], fill: int) -> Tensor:
    """[rows, longest], filled up at the right."""
    return torch.from_numpy(filled_up(rows, fill, np.int64))


def filled_up(rows: Sequence[np.ndarray], fill: float, dtype: type[np.generic]) -> np.ndarray:
    longest = max(map(len, rows))
    out = np.full((len(rows), longest), fill, dtype)
    for line, row in zip(out, rows):
        line[: len(row)] = row
    return out


def real(rows: Sequence[np.ndarray]) -> Tensor | None:
    """Where `padded` put tokens; None if they fill the rectangle."""
    lengths = torch.tensor([len(row) for row in rows])
    if int(lengths.min()) == int(lengths.max()):
        return None
    return torch.arange(int(lengths.max())) < lengths[:, None]


ROLES = 2  # in a dialogue the segment of whoever speaks first; those of a pair come before


def texts_of(row: Row, ids: np.ndarray, second: np.ndarray | None) -> list[np.ndarray]:
    """What stands for a row, or for its marks, text by text: one, a pair, or the turns of a dialogue."""
    if row.turns:
        return np.split(ids, np.cumsum(row.turns)[:-1])
    return [ids] if second is None else [ids, second]


def marks_with_specials(row: Row, tokenizer: Tokenizer, name: str) -> np.ndarray:
    """The marks of a row in the places that `with_specials` gives its ids; a special carries it, as its own unit."""
    texts = texts_of(row, row.marks[name], row.second_marks.get(name))
    opening = [[True], *[[True] * (tokenizer.separators - 1)] * (len(texts) - 1)]
    return np.concatenate([part for before, text in zip(opening, texts) for part in (before, text, [True])]).astype(
        bool
    )


CLOSING = 2  # the segment of a [cls] that stands behind the texts


def with_class_last(texts: Sequence[np.ndarray], tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
    """first [separator] (second [separator]) [cls], as XLNet reads them, and the segment of each token."""
    close, last = [tokenizer.special("[separator]")], [tokenizer.special("[cls]")]
    ids = np.concatenate([part for text in texts for part in (text, close)] + [last]).astype(np.int64)
    lengths = [len(text) + 1 for text in texts]
    return ids, np.repeat([*range(len(texts)), CLOSING], [*lengths, 1])


def with_specials(row: Row, tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
    """[cls] first [separator] (second [separator]) and the segment of each token: a separator closes its own text.

    A tokenizer that has two separators between texts puts the other before the second.
    """
    begin, close = [tokenizer.special("[cls]")], [tokenizer.special("[separator]")]
    texts = texts_of(row, row.ids, row.second)
    opening = [begin, *[close * (tokenizer.separators - 1)] * (len(texts) - 1)]
    pieces = [np.concatenate([before, text, close]).astype(np.int64) for before, text in zip(opening, texts)]
    numbers = [ROLES + role for role in row.roles] or range(len(pieces))
    segments = np.concatenate([np.full(len(piece), number) for number, piece in zip(numbers, pieces)])
    return np.concatenate(pieces), segments
