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


def with_specials(row: Row, tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
    """[cls] first [separator] (second [separator]) and the segment of each token: a separator closes its own text.

    A tokenizer that has two separators between texts puts the other before the second.
    """
    begin, close = [tokenizer.special("[cls]")], [tokenizer.special("[separator]")]
    texts = [row.ids] if row.second is None else [row.ids, row.second]
    opening = [begin, close * (tokenizer.separators - 1)]
    pieces = [np.concatenate([before, text, close]).astype(np.int64) for before, text in zip(opening, texts)]
    segments = np.concatenate([np.full(len(piece), i) for i, piece in enumerate(pieces)])
    return np.concatenate(pieces), segments
