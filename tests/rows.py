"""Cuts as an objective would size them: with one more id than is read, or as many."""

from __future__ import annotations

from foreword.batches.cuts import Cut, RowSize


def causal(cut: Cut) -> Cut:
    return cut.sized(cut.length, RowSize(cut.length + 1, 1))


def paired(cut: Cut) -> Cut:
    """For [cls] A [separator] B [separator]."""
    return cut.sized(cut.length, RowSize(cut.length - 3))
