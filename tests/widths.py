"""Kernels compiled for other widths of vectors than this processor's own."""

from __future__ import annotations

import ctypes
import shutil
from types import ModuleType

import pytest
import torch

from foreword.kernels import build

needs_compiler = pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="NO C COMPILER IS HERE")
needs_kernels = pytest.mark.skipif(build.off(), reason="FOREWORD_KERNELS=off")
torch_compiles = pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() == "DEFAULT", reason="torch.compile needs the CPU's vectors"
)
every_width = pytest.mark.parametrize(
    "flags", [(), ("-DPORTABLE",), ("-mno-avx512f",)], ids=["native", "portable", "avx2"]
)


def compiled_with(module: ModuleType, flags: tuple[str, ...]) -> ctypes.CDLL:
    return build.typed(ctypes.CDLL(str(build.build(module.SOURCE, (*build.FLAGS, *flags)))), module.SIGNATURES)


def use(flags: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> None:
    """The kernels of these modules, compiled so."""
    for module in modules:
        try:
            library = compiled_with(module, flags)
        except build.FAILURES as error:
            pytest.skip(f"cannot be compiled so: {build.why(error)}")
        monkeypatch.setattr(module, "library", lambda library=library: library)
