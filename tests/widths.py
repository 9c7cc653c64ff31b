"""Compiled loops for other widths of vectors than this processor's own."""

from __future__ import annotations

import ctypes

import pytest

from foreword.basics import kernels
from foreword.parts import loops

every_width = pytest.mark.parametrize("flags", [(), ("-DPORTABLE",), ("-mno-avx512f",)], ids=["native", "portable", "avx2"])


def use(flags: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        library = loops.typed(ctypes.CDLL(str(kernels.build(loops.SOURCE, (*kernels.FLAGS, *flags)))))
    except kernels.FAILURES as error:
        pytest.skip(f"cannot be compiled so: {kernels.why(error)}")
    monkeypatch.setattr(loops, "library", lambda: library)
