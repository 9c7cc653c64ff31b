"""benchmarks/finetune.py at a small size: both learn the same thing with as many weights, and the ratio is told."""

from __future__ import annotations

import pytest

from benchmarks import finetune

SMALL = {"LAYERS": 2, "WIDTH": 32, "HEADS": 2, "VOCABULARY": 300, "CONTEXT": 32}


@pytest.mark.thorough
@pytest.mark.parametrize("task", ["span", "classify"])
def test_both_are_as_large_and_the_ratio_is_told(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    for name, value in SMALL.items():
        monkeypatch.setattr(finetune, name, value)
    rows = finetune.Rows(task, 3, 12, 8)
    mine, theirs = finetune.ours(rows)[1], finetune.theirs(rows, best=False)[1]
    assert mine.parameter_count() == theirs.num_parameters()
    assert mine.network.blocks[0].attention.dropout == theirs.config.attention_probs_dropout_prob == finetune.DROPOUT
    batch = rows.made()
    assert batch.there.sum(1).tolist() == [8, 10, 12]
    said = finetune.lines(rows, finetune.measure(rows, rounds=1, seconds=0.0, compiled=False))
    assert said[0].startswith(f"{task}: 3 rows of 8 to 12 tokens; matrix product ")
    assert "ours / transformers, eager" in said[-1]
