"""Rows of like length go together, and each goes once."""

from __future__ import annotations

import pytest

from foreword.batches.by_length import by_length


@pytest.mark.parametrize(("positions", "rows"), [(8, None), (8, 2), (100, 3), (1, None), (100, None)])
def test_every_row_is_in_one_batch_that_fits(positions, rows):
    lengths = [3, 1, 4, 1, 5, 9, 2, 6, 0, 5]
    batches = list(by_length(lengths, positions, rows))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    longest = [lengths[batch[0]] for batch in batches]
    assert longest == sorted(longest, reverse=True)
    for batch in batches:
        assert max(lengths[row] for row in batch) == lengths[batch[0]]
        assert len(batch) == 1 or len(batch) * lengths[batch[0]] <= positions
        assert rows is None or len(batch) <= rows


def test_no_rows_make_no_batch():
    assert list(by_length([])) == []
