"""What the kernels of training and decoding ask of a tensor."""

from __future__ import annotations

from collections.abc import Callable

import torch  # before any library of ours: both then share one set of threads
from torch import Tensor


def served(x: Tensor) -> bool:
    """Numbers that the kernels read: float32 on a CPU."""
    return x.dtype is torch.float32 and x.device.type == "cpu"


def address(x: Tensor | None) -> int:
    return 0 if x is None else x.data_ptr()


def constant(function: Callable[[], bool]) -> Callable[[], bool]:
    """torch.compile asks it once. Torch's own decorator would import the whole compiler, 0.7 seconds, to say so."""
    function.__dict__["_dynamo_marked_constant"] = True
    return function
