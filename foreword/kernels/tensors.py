"""What the kernels of training and decoding ask of a tensor."""

from __future__ import annotations

import torch  # before any library of ours: both then share one set of threads
from torch import Tensor


def served(x: Tensor) -> bool:
    """Numbers that the kernels read: float32 on a CPU."""
    return x.dtype is torch.float32 and x.device.type == "cpu"


def address(x: Tensor | None) -> int:
    return 0 if x is None else x.data_ptr()
