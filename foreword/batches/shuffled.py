"""In which order rows come: an epoch is a computed permutation of all rows, so that any row of a run is found at once."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.seeds import Permutation, chance, number_of

POOL = 32  # batches whose rows are put in order of length together, so that little of a batch is padding


class Shuffled:
    """Rows drawn without replacement: each epoch is a new permutation of all rows.

    `copies`: so many epochs are made, with all that is drawn in them, and come again and again, each time in another order
    (BERT's data was written ten times with ten masks). 0: every epoch is new.
    """

    def __init__(self, count: int, batch_size: int, seed: int, copies: int = 0):
        self.count, self.batch_size, self.seed, self.copies = count, batch_size, seed, copies
        self.epoch = count / batch_size
        self.order = lru_cache(maxsize=4)(lambda epoch: Permutation(count, seed, epoch))
        self.again = lru_cache(maxsize=4)(lambda epoch: Permutation(count, number_of("again", seed), epoch))

    def places(self, step: int, first: int, stop: int) -> list[tuple[int, int, int]]:
        """(number of the row in the run, epoch, which row of the epoch) for each wanted row of a batch."""
        return self.found(np.arange(step * self.batch_size + first, step * self.batch_size + stop))

    def place(self, number: int) -> int:
        """Which row is the one of this number in the run."""
        return self.found(np.array([number]))[0][2]

    def found(self, numbers: np.ndarray) -> list[tuple[int, int, int]]:
        """Where the rows with these numbers are; of one that comes again, the number it had when it came first."""
        numbers = self._first_seen(numbers)
        epochs, rows = numbers // self.count, np.empty_like(numbers)
        for epoch in np.unique(epochs).tolist():  # a batch may end one epoch and begin the next
            here = epochs == epoch
            rows[here] = self.order(epoch).at(numbers[here] - epoch * self.count)
        return list(zip(numbers.tolist(), epochs.tolist(), rows.tolist()))

    def _first_seen(self, numbers: np.ndarray) -> np.ndarray:
        if not self.copies:
            return numbers
        found = numbers.copy()
        epochs = numbers // self.count
        for epoch in np.unique(epochs[epochs >= self.copies]).tolist():
            here = epochs == epoch
            found[here] = epoch % self.copies * self.count + self.again(epoch).at(numbers[here] - epoch * self.count)
        return found


class Bucketed(Shuffled):
    """Shuffled rows of unequal length, those of like length side by side: a batch is still a pure function of its step."""

    def __init__(self, lengths: np.ndarray, batch_size: int, seed: int):
        super().__init__(len(lengths), batch_size, seed)
        self.lengths = lengths
        self.pool = lru_cache(maxsize=4)(self._pool)

    def place(self, number: int) -> int:
        """Which row is the one of this number in the run."""
        epoch, index = divmod(number, self.count)
        size = POOL * self.batch_size
        return int(self.pool(epoch, index // size)[index % size])

    def _pool(self, epoch: int, pool: int) -> np.ndarray:
        """Which row stands at each place of a pool: rows of like length side by side, batch by batch in random order."""
        first = pool * POOL * self.batch_size
        rows = self.order(epoch).at(np.arange(first, min(first + POOL * self.batch_size, self.count)))
        alike = rows[np.argsort(self.lengths[rows], kind="stable")]
        batches = np.split(alike, range(self.batch_size, len(rows), self.batch_size))
        order = chance(self.seed, epoch, 5, pool).permutation(len(batches))
        return np.concatenate([batches[i] for i in order])


class FilledCutter(Shuffled):
    """Shuffled rows of unequal length, as many to a batch as hold the tokens of `batch_size` rows of `room` each.

    The rows of a pool of batches are put in order of length (`alike`: little of a batch is then padding) and cut where
    each batch is full, so that batches differ by about one row's tokens. A place of a batch is a `batch_size`-th of its rows.
    """

    def __init__(self, lengths: np.ndarray, room: int, batch_size: int, seed: int, copies: int = 0, alike: bool = True):
        super().__init__(len(lengths), batch_size, seed, copies)
        self.lengths, self.alike = lengths, alike
        self.rows_of_pool = max(1, round(POOL * batch_size * room / max(float(lengths.mean()), 1.0)))
        self.epoch = self.count * POOL / self.rows_of_pool
        self.pool = lru_cache(maxsize=4)(self._pool)

    def places(self, step: int, first: int, stop: int) -> list[tuple[int, int, int]]:
        size, found = self.batch_size, []
        for at in range((step * size + first) // size, -(-(step * size + stop) // size)):
            numbers = self.pool(at // POOL)[at % POOL]
            places = (min(max(edge + (step - at) * size, 0), size) for edge in (first, stop))
            start, end = (place * len(numbers) // size for place in places)
            found += self.found(numbers[start:end])
        if not found:
            raise Fault(
                "a batch of long rows has too few of them to be shared by so many processes.",
                "Train with fewer processes, or a larger batch: --set training.batch_size=...",
            )
        return found

    def _pool(self, pool: int) -> list[np.ndarray]:
        """The numbers of the rows of each batch of a pool."""
        numbers = np.arange(pool * self.rows_of_pool, (pool + 1) * self.rows_of_pool)
        lengths = self.lengths[[row for _, _, row in self.found(numbers)]]
        order = np.argsort(lengths, kind="stable") if self.alike else np.arange(len(numbers))
        middle = np.cumsum(lengths[order]) - lengths[order] / 2  # a row is of the batch in which its middle falls
        edges = np.searchsorted(middle, np.arange(1, POOL) * lengths.sum() / POOL)
        batches = np.split(numbers[order], edges)
        return [batches[i] for i in chance(self.seed, 6, pool).permutation(POOL)]
