"""Making a store takes no more memory for a large corpus than for a small one."""

from __future__ import annotations

from tests.cli.memory import peak_of_tokens


def test_memory_does_not_grow_with_the_corpus(tmp_path) -> None:
    small, large = (peak_of_tokens(tmp_path, size, "byte") for size in (5, 40))
    # Processes and libraries take some 210 MB. A unit is a sixteenth of the corpus up to 32 MiB, so two workers hold 25 to 40 MB
    # more here (measured); the 35 MB more of text, held as text or as ids, would come on top of that.
    assert large < small + 48e6, f"{small / 1e6:.0f} MB for 5 MB of text, {large / 1e6:.0f} MB for 40 MB"
