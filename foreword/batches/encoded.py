"""A labelled example as ids: the sequences that a network reads for it, and the answer it should find."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class EncodedText:
    """One sequence, specials and all, as a network reads it."""

    ids: np.ndarray
    segments: np.ndarray | None = None  # 0 for the first text, 1 for the second; None: the network has no segments


@dataclass(frozen=True)
class EncodedExample:
    """What an example becomes. What its target is depends on the objective; None: it has no label."""

    examples: tuple[int, ...]  # which of its split it was made of; several: the candidates of one query
    sequences: tuple[EncodedText, ...]
    target: np.ndarray | None = None
    offsets: np.ndarray | None = None  # [positions, 2] characters of the text that is searched or tagged; -1 elsewhere

    @cached_property
    def length(self) -> int:
        return max(len(sequence.ids) for sequence in self.sequences)
