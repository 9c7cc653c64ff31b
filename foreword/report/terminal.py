"""Tables as aligned lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def aligned(rows: Sequence[Sequence[str]], left: Sequence[int]) -> Iterator[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        cells = (f"{cell:<{width}}" if place in left else f"{cell:>{width}}"
                 for place, (cell, width) in enumerate(zip(row, widths)))
        yield "  ".join(cells).rstrip()
