"""Rows that are only read go together by length, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

POSITIONS = 8192  # that one call of a network takes


def by_length(lengths: Sequence[int], positions: int = POSITIONS, rows: int | None = None) -> Iterator[list[int]]:
    """Numbers of rows, the longest first: what does not fit the memory shows at once.

    A batch has at most `rows` rows and, padded to its longest, at most this many positions, unless it is a single row.
    """
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    while order:
        fit = max(1, positions // max(lengths[order[0]], 1))
        size = fit if rows is None else min(fit, rows)
        yield order[:size]
        order = order[size:]
