"""How many rows of a batch the memory can hold: measured on one row and on two, before the first step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from foreword.objectives.base import Batch
    from foreword.training.gradient import GradientLearner

SPARE = 0.9        # of the free memory; the rest is for what the measurement cannot see
ON_THE_WAY_BACK = 1.25       # what the backward pass holds for a moment on top of what was kept for it


def largest(learner: GradientLearner, batch: Batch, free: int) -> int:
    """The most rows like these that one pass can take."""
    if batch.size <= 2:
        return batch.size          # measuring would cost as much as trying
    one, two = kept(learner, batch.rows(0, 1)), kept(learner, batch.rows(0, 2))
    each = max(two - one, 1)
    parameters = list(learner.model.parameters())
    # gradients, and what the optimizers remember (two numbers for each at most), if they are not there yet
    fixed = sum(p.numel() * p.element_size() for p in parameters) * (1 if any(o.state for o in learner.optimizers) else 3)
    left = SPARE * free - fixed - max(one - each, 0)
    return min(batch.size, max(0, int(left / (ON_THE_WAY_BACK * each))))


def kept(learner: GradientLearner, batch: Batch) -> int:
    """Bytes that a forward pass keeps for the backward pass, beside the weights."""
    weights = {p.untyped_storage().data_ptr() for p in learner.model.parameters()}
    seen: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            seen[storage.data_ptr()] = storage.nbytes()
        return tensor

    learner.model.train()
    keeping = torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor)
    with torch.compiler.set_stance("force_eager"), keeping, learner.hardware.autocast():
        loss = learner.objective.loss(learner.model, batch.to(learner.hardware.device))
        total = sum(seen.values())
    del loss
    return total
