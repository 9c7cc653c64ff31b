"""Compiled loops for other widths of vectors than this processor's own."""

from __future__ import annotations

import ctypes

import pytest

from foreword.kernels import build, elementwise

every_width = pytest.mark.parametrize("flags", [(), ("-DPORTABLE",), ("-mno-avx512f",)], ids=["native", "portable", "avx2"])


def use(flags: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        library = elementwise.typed(ctypes.CDLL(str(build.build(elementwise.SOURCE, (*build.FLAGS, *flags)))))
    except build.FAILURES as error:
        pytest.skip(f"cannot be compiled so: {build.why(error)}")
    monkeypatch.setattr(elementwise, "library", lambda: library)
