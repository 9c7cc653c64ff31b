"""Whole units of a row, chosen until as many tokens are to be guessed as were asked for."""

from __future__ import annotations

from typing import Literal

import numpy as np

Unit = Literal["token", "word", "phrase", "entity"]
NEVER = -1  # the unit of a position that is not hidden


def numbered(ids: np.ndarray, starts: np.ndarray, ordinary: np.ndarray, unknown: int) -> np.ndarray:
    """[positions] the number of the unit of each; NEVER for special tokens, and for units that hold an unknown token."""
    plain = np.isin(ids, ordinary)
    special = ~plain & (ids != unknown)
    begins = starts | special
    begins[:1] = True
    begins[1:] |= special[:-1]  # no unit goes across a special, whatever the text around it
    units = np.cumsum(begins) - 1
    hidden = np.bincount(units, ~plain) == 0
    return np.where(hidden[units], units, NEVER)


def whole_units(units: np.ndarray, count: int, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(positions, unit after unit; how many each unit has) of units in random order, `count` positions in all.

    A unit that would be more than is left is passed over (Devlin's code). Fewer than `count` are chosen only where no unit
    is left that fits; more only where not one unit fits, and then it is a shortest one.
    """
    there = np.flatnonzero(units != NEVER)
    _, first, sizes = np.unique(units[there], return_index=True, return_counts=True)
    order = draw.permutation(len(sizes))
    fitting = int(np.searchsorted(np.cumsum(sizes[order]), count, side="right"))
    chosen, rest = order[:fitting].tolist(), order[fitting:]
    left = count - int(sizes[chosen].sum())
    while left and (fits := np.flatnonzero(sizes[rest] <= left)).size:
        chosen.append(int(rest[fits[0]]))
        left -= int(sizes[chosen[-1]])
        rest = rest[fits[0] + 1 :]
    if count and not chosen and len(order):
        chosen = [int(order[np.argmin(sizes[order])])]
    positions = [there[first[one] : first[one] + sizes[one]] for one in chosen]
    return np.concatenate([np.empty(0, np.int64), *positions]).astype(np.int64), sizes[chosen]
