"""Batches of several tasks: each of one task, as many of each as it has examples for, in a new random order every epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.seeds import Permutation, number_of
from foreword.batches.encoded import EncodedExample
from foreword.batches.row import Row
from foreword.batches.shuffled import Bucketed


@dataclass(frozen=True)
class TaskRow(Row):
    task: str = ""


class TaskCutter:
    """An epoch is every mini-batch of every task once. Those of a task are of equal size, but for one row.

    `limit`: no task counts for more examples than this; `temperature`: shares are to the power of one over it, and the higher
    it is, the more equal they are (Raffel et al. 2019, section 3.5.2). An epoch then has as many batches as before the power.
    """

    def __init__(
        self,
        encoded: Mapping[str, Sequence[EncodedExample]],
        batch_size: int,
        seed: int,
        limit: int | None = None,
        temperature: float = 1.0,
    ):
        self.encoded, self.batch_size, self.seed = dict(encoded), batch_size, seed
        self.names = list(self.encoded)
        self.orders = {
            name: Bucketed(np.asarray([one.length for one in some]), batch_size, number_of("task", seed, name))
            for name, some in self.encoded.items()
        }
        self.counts = {name: -(-len(some) // batch_size) for name, some in self.encoded.items()}  # batches of an epoch
        self.mixed = limit is not None or temperature != 1.0
        if self.mixed:
            shares = mixing_rates([len(some) for some in self.encoded.values()], limit, temperature)
            wanted = sum(-(-min(len(some), limit or len(some)) // batch_size) for some in self.encoded.values())
            self.counts = {name: max(1, round(wanted * share)) for name, share in zip(self.names, shares)}
        self.ends = np.cumsum(list(self.counts.values()))
        self.steps = int(self.ends[-1])
        self.epoch = float(self.steps)
        self.order = lru_cache(maxsize=4)(lambda epoch: Permutation(self.steps, seed, epoch))

    def batch(self, step: int) -> tuple[str, int, int]:
        """(task, its first row in the run of that task, the row after its last) of the batch of this step."""
        epoch, place = divmod(step, self.steps)
        drawn = self.order(epoch)[place]
        task = int(np.searchsorted(self.ends, drawn, "right"))
        name = self.names[task]
        count, examples = self.counts[name], len(self.encoded[name])
        within = drawn - int(self.ends[task]) + count
        if self.mixed:
            start = (epoch * count + within) * self.batch_size
            return name, start, start + self.batch_size
        first = epoch * examples
        return name, first + within * examples // count, first + (within + 1) * examples // count

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        """The rows of a smaller batch are spread over the places of a full one, so that ranks share them evenly."""
        name, start, end = self.batch(step)
        some, order = self.encoded[name], self.orders[name]
        at, size = step * self.batch_size - start, end - start
        found: list[Row] = []
        for number in range(start + first * size // self.batch_size, start + stop * size // self.batch_size):
            one = some[order.place(number)]
            found.append(TaskRow(one.sequences[0].ids, at + number, self.seed, example=one, task=name))
        if not found:
            raise Fault(
                f"a batch of {name} has {size} example{'s' * (size > 1)}, too few to be shared by so many processes.",
                "Train with fewer processes, or leave that task out.",
            )
        return found


def mixing_rates(sizes: Sequence[int], limit: int | None, temperature: float) -> list[float]:
    """The share of each task in what is read: of its examples, of which no more than `limit` count."""
    raised = [min(size, limit or size) ** (1 / temperature) for size in sizes]
    return [one / sum(raised) for one in raised]
