"""Progress on stderr: a bar in a terminal, a plain line every few seconds elsewhere. Data never goes here."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from foreword.basics.messages import duration

_silent = False


def silence() -> None:
    """From here on this process says nothing: another one speaks for both."""
    global _silent
    _silent = True


def say(text: str) -> None:
    """A line for the person watching."""
    if not _silent:
        print(text, file=sys.stderr, flush=True)


class Ticker:
    """Shows a fraction done and a sentence about it."""

    def __init__(self, title: str, bar: Progress | None, every: float = 10.0):
        self.title, self.bar, self.every = title, bar, every
        self.task = bar.add_task(title, total=1.0, note="") if bar else None
        self.began = self.last = time.monotonic()
        self.ended = False

    def update(self, fraction: float, note: str = "") -> None:
        fraction = min(fraction, 1.0)
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=fraction, note=note)
            return
        now = time.monotonic()
        over = fraction >= 1.0 and not self.ended and now - self.began > self.every  # the last line, once
        if now - self.last >= self.every or over:
            self.last, self.ended = now, fraction >= 1.0
            left = (now - self.began) * (1 - fraction) / fraction if fraction > 0 else 0.0
            say(f"{self.title}: {fraction:4.0%}  {note}  ({duration(left)} left)")


@contextmanager
def ticking(title: str) -> Iterator[Ticker]:
    """A ticker that is a live bar when stderr is a terminal."""
    console = Console(stderr=True)
    if _silent or not console.is_terminal:
        yield Ticker(title, None)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        yield Ticker(title, bar)
