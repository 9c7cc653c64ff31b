"""Progress where nobody has a terminal: a line now and then, and one last line."""

from __future__ import annotations

import pytest

from foreword.basics import progress
from foreword.basics.progress import Ticker


def test_a_line_every_ten_seconds_and_one_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    ticker = Ticker("reading", None)
    for now in range(25):
        ticker.update(now / 24, f"second {now}")
    for now in (25, 26, 27):
        ticker.update(1.0, f"still asking at {now}")
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "reading:  42%  second 10  (14s left)",
        "reading:  83%  second 20  (4s left)",
        "reading: 100%  second 24  (0s left)",
    ]


def test_what_is_over_soon_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    ticker = Ticker("reading", None)
    ticker.update(0.5)
    ticker.update(1.0)
    assert capsys.readouterr().err == ""
