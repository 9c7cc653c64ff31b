"""Causal: which guesses of a row are charged."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from foreword.batches.row import Row
from foreword.objectives.base import NOTHING
from foreword.objectives.causal import Causal


@pytest.mark.parametrize(("share", "charged"), [(1.0, [8, 5]), (0.5, [4, 3]), (0.25, [2, 1])])
def test_the_last_share_of_every_row_is_charged(share, charged):
    rows = [Row(np.arange(length), 0, 0) for length in (9, 6)]
    batch = Causal(share=share).collate(rows, None)
    guessed = batch.targets["tokens"] != NOTHING
    assert guessed.sum(1).tolist() == charged
    assert guessed[0, -1]
    assert batch.inputs.ids.shape == (2, 8), "all of a row is read"


def test_a_share_lies_between_nothing_and_all():
    assert Causal(share=0.0).faults()[0][0] == "share"
    with pytest.raises(ValidationError, match="share"):
        Causal(share=1.5)
