"""Memory: how much is free, how much a pass of the network keeps, and how many rows therefore fit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from foreword.training.ranks import local

if TYPE_CHECKING:
    from foreword.objectives.base import Batch
    from foreword.training.gradient import GradientLearner

SPARE = 0.9  # of the free memory; the rest is for what cannot be measured
BACKWARD = 1.25  # what the backward pass holds for a moment, beside what was kept for it, is a quarter more
PROCESS = 2**30  # bytes of a training process beside its model: libraries, examples, a batch on its way
WEIGHT = 16  # bytes of a weight that learns: itself, its gradient, and AdamW's two moments


def rows_that_fit(free: int, fixed: float, row: int) -> int:
    """How many rows one pass can take; bytes that are free, that are needed whatever the rows, and that each row keeps."""
    return max(0, int((SPARE * free - fixed) / (BACKWARD * max(row, 1))))


def processes_that_fit(parameters: int) -> int:
    """How many small models of so many parameters can train side by side, each in a process of its own, on the CPU."""
    return free_memory("cpu") // (PROCESS + WEIGHT * parameters)


@dataclass
class SavedForBackward:
    """Storages that a forward pass keeps for the backward pass, beside the weights."""

    weights: set[int]
    storages: dict[int, Any] = field(default_factory=dict)  # held, so that no other takes its number

    def note(self, tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in self.weights:
            self.storages[storage._cdata] = storage
        return tensor

    @property
    def bytes(self) -> int:
        return sum(storage.nbytes() for storage in self.storages.values())


@contextmanager
def kept_for_backward(parameters: Iterable[Tensor]) -> Iterator[SavedForBackward]:
    """Counts what passes inside keep. Works on tensors without numbers too."""
    kept = SavedForBackward({parameter.untyped_storage()._cdata for parameter in parameters})
    with torch.autograd.graph.saved_tensors_hooks(kept.note, lambda tensor: tensor):
        yield kept


def largest_part(learner: GradientLearner, batch: Batch, free: int) -> int:
    """The most rows like these that one pass can take: measured on one row and on two."""
    one, two = kept_by(learner, batch.rows(0, 1)), kept_by(learner, batch.rows(0, 2))
    each = max(two - one, 1)
    # gradients, and what the optimizers remember (two numbers for each at most), if they are not there yet
    copies = 1 if any(optimizer.state for optimizer in learner.optimizers) else 3
    fixed = copies * sum(local(p).numel() * p.element_size() for p in learner.model.parameters())
    return min(batch.size, rows_that_fit(free, fixed + max(one - each, 0), each))


def kept_by(learner: GradientLearner, batch: Batch) -> int:
    """Bytes that a forward pass over this batch keeps."""
    learner.model.train()
    with (
        torch.compiler.set_stance("force_eager"),
        kept_for_backward(learner.model.parameters()) as kept,
        learner.hardware.autocast(),
    ):
        loss = learner.passes(batch.to(learner.hardware.device))
    found = kept.bytes
    del loss
    return found


def free_memory(device: str) -> int:
    """Bytes that a run may still take."""
    if device.startswith("cuda"):
        return torch.cuda.mem_get_info(torch.device(device))[0]
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) * 1024
    except (OSError, StopIteration):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            free = min(free, int(Path(limit).read_text()) - int(Path(used).read_text()))
        except (OSError, ValueError):  # no limit ("max"), or no such file
            continue
    return free
