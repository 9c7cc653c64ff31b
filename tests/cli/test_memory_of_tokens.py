"""Making a store takes no more memory for a large corpus than for a small one."""

from __future__ import annotations

from tests.cli.memory import peak_of_tokens


def test_memory_does_not_grow_with_the_corpus(tmp_path) -> None:
    small, large = (
        peak_of_tokens(tmp_path, size, "byte") for size in (40, 75)
    )  # both large enough for a second process
    # processes and libraries take some 235 MB; the 35 MB more of text must not be held, as text or as ids
    assert large < small + 32e6, f"{small / 1e6:.0f} MB for 40 MB of text, {large / 1e6:.0f} MB for 75 MB"
