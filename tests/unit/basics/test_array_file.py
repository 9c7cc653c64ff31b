"""Arrays written by us, read by safetensors."""

from __future__ import annotations

import numpy as np
from safetensors.numpy import load_file

from foreword.basics.array_file import NAMES, write_safetensors


def test_safetensors_reads_every_type_and_shape(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {name: (rng.random((3, number)) * 100).astype(name) for number, name in enumerate(NAMES)} | {
        "scalar": np.array(3.5),
        "strided": np.arange(20)[::3],
    }
    mapped = np.memmap(tmp_path / "mapped", np.int64, "w+", shape=(1000,))
    mapped[:] = rng.integers(0, 1 << 40, 1000)
    mapped.flush()
    arrays |= {"mapped": mapped, "part of it": mapped[10:20]}
    write_safetensors(tmp_path / "x.safetensors", arrays)
    found = load_file(tmp_path / "x.safetensors")
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array, err_msg=name)
