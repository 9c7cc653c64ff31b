"""A row: the piece of text that one line of a batch is made from, and its own source of chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from foreword.basics.seeds import chance
from foreword.batches.encoded import EncodedExample


@dataclass(frozen=True)
class Row:
    ids: np.ndarray
    number: int  # which row of the whole run this is
    seed: int
    second: np.ndarray | None = None  # the other text of a pair
    follows: bool = True  # a pair: the second text really follows the first
    learned: np.ndarray | None = None  # a dialogue: which ids belong to turns that are to be learned; None: all
    example: EncodedExample | None = None  # a labelled example: all its sequences, and its answer
    document: int | None = None  # which of the text it is of, where rows are documents
    label: int | None = None  # a class that its cut has made of it: in which order, how far apart
    turns: tuple[int, ...] = ()  # a dialogue of roles, or sentences: how many of the ids are of each
    roles: tuple[
        int, ...
    ] = ()  # and who says it: 0 whoever speaks first, 1 anyone else; of which excerpt a sentence is
    marks: Mapping[str, np.ndarray] = field(default_factory=dict)  # which ids carry a mark that the objective asks for
    second_marks: Mapping[str, np.ndarray] = field(default_factory=dict)  # and which of the second text
    counts: np.ndarray | None = None  # co-occurrences: how often each id stands near that of the second text
    continues: bool | None = None  # lanes: whether this row goes on where the same row of the batch before ended
    remembered: int | None = None  # how many ids, from the first, the next row of the lane remembers; None: all
    backward: bool = False  # it is a text from its end to its start

    @cached_property
    def chance(self) -> np.random.Generator:
        """Depends on the seed and the row's number only: not on the batch, the rank or the number of ranks."""
        return chance(self.seed, self.number)
