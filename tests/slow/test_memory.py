"""Memory over 140 MB of text, with byte-level BPE."""

from __future__ import annotations

import pytest

from tests.cli.memory import peak_of_tokens
from tests.cli.program import run


@pytest.mark.slow
def test_memory_stays_flat_over_a_hundred_megabytes_more(tmp_path, corpus) -> None:
    run("tokens", corpus, "--vocabulary", 500, "--splits", "0.8/0.1/0.1", "--out", tmp_path / "small").right()
    less, more = (
        peak_of_tokens(tmp_path, size, tmp_path / "small") for size in (40, 140)
    )  # both with worker processes
    # units grow with the text and are held as ids: some memory, but not so much more as there is more text
    assert more < less + 150e6, f"{less / 1e6:.0f} MB for 40 MB of text, {more / 1e6:.0f} MB for 140 MB"
