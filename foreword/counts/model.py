"""What every count model shares: the run of ids it was shown, and the questions it must answer afterwards."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from foreword.basics.columns import Column, Scratch
from foreword.basics.messages import Fault
from foreword.basics.spec import Spec

if TYPE_CHECKING:
    from foreword.tokens.vocabulary import Vocabulary


class CountSpec(Spec):
    """The settings of a count model."""

    trained_by: ClassVar[str] = "counting"
    reads: ClassVar[frozenset[str]] = frozenset({"ids"})
    abilities: ClassVar[frozenset[str]] = frozenset()  # what its objective names

    def build(self, vocabulary: Vocabulary) -> CountModel:
        raise NotImplementedError


class CountModel(ABC):
    """A language model in numpy. `end` is both the end of a document and, as history, the start of the next one.

    Counting keeps the ids themselves (two or four bytes each): cutting the stream differently cannot change anything,
    and a checkpoint is exactly what was read.
    """

    context: int | None = None
    reach: int | None = None

    def __init__(self, vocabulary: Vocabulary):
        self.vocabulary = vocabulary
        # without an end symbol, documents still start somewhere: one slot beyond the vocabulary stands for that
        self.begins = vocabulary.end if vocabulary.end >= 0 else vocabulary.size
        self.events = np.ones(vocabulary.size, bool)  # what may be predicted
        self.events[list(vocabulary.silent)] = False
        # a copy of what was read, two or four bytes a token: the caller may fill the same buffer again
        self.scratch = Scratch()
        self.read = self._nothing()

    def parameter_count(self) -> int:
        return 0

    def language_model(self, vocabulary: Vocabulary) -> CountModel:
        """It answers for itself."""
        return self

    def count(self, ids: np.ndarray) -> int:
        """Add one run of the stream; it goes on where the run before it stopped."""
        ids = self.checked(ids)
        if not self.events[ids].all():
            silent = int(ids[~self.events[ids]][0])
            raise Fault(f"id {silent} is never part of a text, yet it stands in the ids to count.")
        self.read.append(ids)
        return len(ids)

    def bounded(self, memory: int, cluster: str = "") -> None:
        """Count in so many bytes of memory, about; the rest lies on disk meanwhile. Changes no number, nor does a cluster."""
        before = self.read[:]
        self.scratch = Scratch(memory, cluster=cluster)
        self.read = self._nothing().append(before)

    def _nothing(self) -> Column:
        return self.scratch.column(np.uint16 if self.vocabulary.size <= 1 << 16 else np.uint32)

    def counted(self) -> dict[str, np.ndarray]:
        return {"ids": self.read.array()}

    def recount(self, saved: dict[str, np.ndarray]) -> None:
        self.read.clear()
        self.count(saved["ids"])

    def ids(self) -> np.ndarray:
        """Everything counted so far."""
        return self.read[:]

    def checked(self, ids: np.ndarray) -> np.ndarray:
        """`ids` as integers of this vocabulary; one outside it would silently be read as another n-gram."""
        ids = np.asarray(ids).ravel().astype(np.int64, copy=False)
        if len(ids) and (ids.min() < 0 or ids.max() >= self.vocabulary.size):
            wrong = int(ids[(ids < 0) | (ids >= self.vocabulary.size)][0])
            raise Fault(f"id {wrong} is outside the vocabulary of {self.vocabulary.size}.")
        return ids

    @abstractmethod
    def estimate(self, held_out: np.ndarray | None) -> None:
        """Turn counts into probabilities; may be called again after more counting."""

    @abstractmethod
    def begin(self, prompts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Log-probabilities of the next token [batch, size] and a state; an empty prompt is a document's start."""

    @abstractmethod
    def advance(self, tokens: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same, one token later."""

    def select(self, state: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return state[rows]

    def join(self, state: np.ndarray, other: np.ndarray) -> np.ndarray:
        return np.concatenate([state, other])

    @abstractmethod
    def score(self, sequences: Sequence[np.ndarray], starts: Sequence[int]) -> list[np.ndarray]:
        """Log-probability of sequences[i][j] given all before it in that sequence, for every j >= max(starts[i], 1)."""

    def following(self, ids: np.ndarray) -> Iterator[np.ndarray]:
        log_probs, state = self.begin([ids[:1]])
        yield log_probs
        for token in ids[1:]:
            log_probs, state = self.advance(np.asarray([token]), state)
            yield log_probs

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """The estimated model as named arrays."""

    @abstractmethod
    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take back what `arrays` gave, exactly."""
