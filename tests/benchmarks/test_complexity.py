"""Costs by counting, not by the clock: what doubles with the text, what quadruples, and what a memory saves."""

from __future__ import annotations

import pytest

from benchmarks import layers, segments


@pytest.mark.parametrize(
    ("name", "more", "apart"),
    [
        ("full attention", 4.0, 1),
        ("restricted attention", 2.0, 3),  # 63 places back, 31 in each layer
        ("recurrent", 2.0, 1),
        ("convolutional", 2.0, 32),
        ("separable", 2.0, 32),
    ],
)
def test_twice_the_text(name, more, apart):
    layer = layers.made()[name]
    counts = [layers.multiplications(layer, length) for length in (256, 512)]
    assert counts[1] / counts[0] == pytest.approx(more, rel=0.1 if name == "restricted attention" else 1e-9)
    assert layers.layers_between(layer, 64) == apart


def test_a_memory_does_less_than_a_tenth_of_the_work_of_a_window_that_slides():
    """At a segment and an attention length of 128."""
    found = segments.works(attention=128, segment=128, rows=2, layers=2, width=32, heads=2)
    each = {name: segments.multiplications(run, tokens) for name, (run, tokens) in found.items()}
    assert each["with memory"] < each["sliding"] / 10
