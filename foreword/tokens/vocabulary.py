"""Vocabulary: what a network or a count model knows of a tokenizer."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Vocabulary:
    size: int
    end: int  # -1: there is none
    silent: tuple[int, ...]  # never part of a text nor predicted: [pad], [mask], [cls], ...
    pieces: tuple[str, ...] = field(default=(), compare=False, repr=False)  # of each id; (): not known
    counts: np.ndarray | None = field(default=None, compare=False, repr=False)  # in the training text; None: not known
