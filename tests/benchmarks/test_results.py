"""benchmarks/run.py: what was measured is kept, section by section."""

from __future__ import annotations

import re

from benchmarks.run import NAMES, machine, written


def test_a_section_is_written_anew_and_the_others_stay():
    first = written("", "train", "one line\n  two lines", "2026-01-01")
    both = written(first, "loop", "## not a heading", "2026-01-02")
    again = written(both, "train", "better", "2026-01-03")
    assert re.findall(r"^## (.+)$", again, re.M)[0] == "loop, 2026-01-02", "in the order in which they are run"
    assert "## train, 2026-01-03\n\n```text\nbetter\n```\n" in again
    assert "one line" in both
    assert "one line" not in again
    assert written(again, "train", "better", "2026-01-03") == again


def test_the_machine_is_told():
    said = "\n".join(machine())
    for word in ("cores", "memory", "torch", "Python"):
        assert word in said
    assert {"train", "generate", "tokens", "counts", "loop", "memory"} <= set(NAMES)
