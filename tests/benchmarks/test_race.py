"""Races and limits: who takes turns with whom, and that what is measured is there. Nothing here asserts a speed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks import limits
from benchmarks.race import race


def test_candidates_take_turns():
    called: list[str] = []
    found = race({name: lambda name=name: called.append(name) for name in "abc"}, rounds=2, seconds=0.0)
    assert "".join(called) == "abc" * 3, "a warm-up each, then two rounds"
    assert {name: times.calls for name, times in found.items()} == {"a": 2, "b": 2, "c": 2}
    for times in found.values():
        assert times.first > 0
        assert 0 < times.best <= times.median
        assert 0 <= times.core <= times.core_median


def test_a_turn_lasts_as_long_as_it_is_given(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr("benchmarks.race.time.perf_counter", lambda: float(next(clock)))  # a call takes a second
    found = race({"quick": lambda: None}, rounds=3, seconds=2.5)
    assert found["quick"].calls == 9
    assert found["quick"].first == found["quick"].best == found["quick"].median == 1.0


def test_the_warm_up_does_not_count(monkeypatch):
    now, takes = [0.0], iter([100.0, 3.0, 1.0, 2.0])

    def work():
        now[0] += next(takes)

    monkeypatch.setattr("benchmarks.race.time.perf_counter", lambda: now[0])
    times = race({"one": work}, rounds=3, seconds=0.0)["one"]
    assert (times.first, times.best, times.median) == (100.0, 1.0, 2.0)


def test_limits_are_positive():
    assert limits.gemm_flops((64,)) > 0
    assert limits.read_bandwidth(2**16) > 0
    work, operations = limits.matrix_product(8)
    assert operations == 2 * 8**3
    work()


@pytest.mark.parametrize("length", [2, 8192, 10_001])
def test_every_way_to_read_works_on_any_length(length):
    """All of ones, so what each way returns tells how many numbers it has read."""
    ways = limits.ways_to_read(torch.ones(length))
    for name in ("sum", "dot product", "numpy's dot product"):
        assert float(ways[name]()) == length, name
    assert float(ways["largest"]()) == 1
    assert float(ways["matrix times vector"]().sum()) == length // min(4096, length) * min(4096, length)
    pair = int(np.ones(2, np.float32).view(np.int64)[0])
    assert set(ways["numpy, a thread for each core"]()) <= {pair, 0}  # 0: a core without a share
