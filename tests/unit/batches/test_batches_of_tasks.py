"""Batches of several tasks: every mini-batch of every task once in an epoch, in an order that the seed alone decides."""

from __future__ import annotations

from collections import Counter

import numpy as np

from foreword.batches.by_task import TaskCutter, TaskRow
from foreword.batches.encoded import EncodedExample, EncodedText
from foreword.batches.row import Row

SIZES = {"large": 37, "middle": 16, "small": 3}


def cutter(seed: int = 3, batch_size: int = 4) -> TaskCutter:
    draw = np.random.default_rng(0)
    return TaskCutter(
        {
            name: [
                EncodedExample((number,), (EncodedText(np.arange(int(draw.integers(3, 20)))),))
                for number in range(count)
            ]
            for name, count in SIZES.items()
        },
        batch_size,
        seed,
    )


def told(rows: list[Row]) -> list[tuple[str, int]]:
    return [(row.task, row.example.examples[0]) for row in rows if isinstance(row, TaskRow) and row.example]


def test_an_epoch_has_every_mini_batch_of_every_task_once() -> None:
    made = cutter()
    assert made.epoch == 10 + 4 + 1
    for epoch in range(4):
        batches = [told(made.rows(step, 0, 4)) for step in range(epoch * 15, epoch * 15 + 15)]
        assert all(len({task for task, _ in batch}) == 1 for batch in batches), "a batch is of one task"
        assert Counter(batch[0][0] for batch in batches) == {"large": 10, "middle": 4, "small": 1}
        assert Counter(one for batch in batches for one in batch) == Counter(
            (name, number) for name, count in SIZES.items() for number in range(count)
        )
        sizes = {name: {len(batch) for batch in batches if batch[0][0] == name} for name in SIZES}
        assert all(max(some) - min(some) <= 1 and max(some) <= 4 for some in sizes.values())


def test_a_batch_is_a_function_of_its_step() -> None:
    one, other = cutter(), cutter()
    inorder = [told(one.rows(step, 0, 4)) for step in range(60)]
    for step in (59, 2, 31, 14, 15):
        assert told(other.rows(step, 0, 4)) == inorder[step]
        assert told(other.rows(step, 0, 2)) + told(other.rows(step, 2, 4)) == inorder[step]


def test_the_seed_and_the_epoch_decide_the_order() -> None:
    def order(seed: int, epoch: int) -> list[str]:
        made = cutter(seed)
        return [made.batch(step)[0] for step in range(epoch * 15, epoch * 15 + 15)]

    assert order(3, 0) == order(3, 0)
    assert order(3, 0) != order(3, 1)
    assert order(3, 0) != order(4, 0)


def test_every_row_has_a_number_of_its_own() -> None:
    made = cutter()
    numbers = [row.number for step in range(45) for row in made.rows(step, 0, 4)]
    assert len(set(numbers)) == len(numbers)
