"""The benchmark of serving, small: its numbers are there, and the server is gone afterwards."""

from __future__ import annotations

import pytest

from benchmarks import serve


@pytest.mark.thorough
def test_streams_are_timed(monkeypatch) -> None:
    monkeypatch.setattr(serve, "NEW", 4)
    monkeypatch.setattr(serve, "STREAMS", (1, 2))
    found = serve.measure(["tiny"], rounds=1)
    assert [one["streams"] for one in found] == [1, 2]
    for one in found:
        assert one["rate"] > 0
        assert one["alone"] > 0
        assert one["gap p99"] >= one["gap p50"] >= 0
    assert len(serve.lines(found)) == 3
