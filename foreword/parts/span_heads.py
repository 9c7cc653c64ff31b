"""A head for answers in a text: a start, an end that depends on it, and whether there is an answer (XLNet, SQuAD 2.0)."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class EndGivenStart(nn.Module):
    """Two vectors together, through a dense layer and tanh, to one score."""

    def __init__(self, width: int, norm: bool, bias: bool):
        super().__init__()
        self.inner = nn.Linear(2 * width, width)
        self.norm = nn.LayerNorm(width, 1e-12) if norm else nn.Identity()
        self.out = nn.Linear(width, 1, bias=bias)

    def forward(self, vectors: Tensor, others: Tensor) -> Tensor:
        """[..., width] twice -> [...]"""
        return self.out(self.norm(self.inner(torch.cat([vectors, others], -1)).tanh()))[..., 0]


class AnswerableHead(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.start = nn.Linear(width, 1)
        self.end = EndGivenStart(width, norm=True, bias=True)
        self.answer = EndGivenStart(width, norm=False, bias=False)

    def starts(self, hidden: Tensor) -> Tensor:
        """hidden [sequences, positions, width] -> [sequences, positions]"""
        return self.start(hidden)[..., 0]

    def ends(self, hidden: Tensor, starts: Tensor) -> Tensor:
        """starts [sequences, places] -> [sequences, places, positions]: every position as the end of what starts there."""
        sequences = torch.arange(len(hidden), device=hidden.device)[:, None]
        begun = hidden[sequences, starts][:, :, None].expand(-1, -1, hidden.size(1), -1)
        return self.end(hidden[:, None].expand_as(begun), begun)

    def unanswerable(self, hidden: Tensor, starts: Tensor, place: Tensor) -> Tensor:
        """[sequences]: from where it is likely to start, in the mean, and from the vector of [cls]."""
        likely = torch.einsum("spw,sp->sw", hidden, starts.softmax(-1))
        return self.answer(likely, hidden[torch.arange(len(hidden), device=hidden.device), place])
