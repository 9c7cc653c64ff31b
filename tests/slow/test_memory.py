"""Memory over 100 MB of text, with byte-level BPE."""

from __future__ import annotations

import pytest

from tests.cli.memory import peak_of_tokens
from tests.cli.program import run


@pytest.mark.slow
def test_memory_stays_flat_over_a_hundred_megabytes(tmp_path, corpus) -> None:
    run("tokens", corpus, "--vocabulary", 500, "--splits", "0.8/0.1/0.1", "--out", tmp_path / "small").right()
    ten, hundred = (peak_of_tokens(tmp_path, size, tmp_path / "small") for size in (10, 100))
    # units grow from 1 MB to 6 MB of text and are held as ids: some memory, but not ten times the text
    assert hundred < ten + 150e6, f"{ten / 1e6:.0f} MB for 10 MB of text, {hundred / 1e6:.0f} MB for 100 MB"
