"""Rows that are only read go together by length, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

POSITIONS = 8192        # that one call of a network takes


def by_length(lengths: Sequence[int], positions: int = POSITIONS) -> Iterator[list[int]]:
    """Numbers of rows, the longest first; a batch padded to its longest row has at most this many positions, or one row."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    while order:
        fit = max(1, positions // max(lengths[order[-1]], 1))
        yield order[-fit:]
        del order[-fit:]
