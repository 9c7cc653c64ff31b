"""An LSTM from either end: at each position, what was read up to it from the left beside what was read from the right."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class BidirectionalLayers(nn.Module):
    """Layers of `width`, half of it of each direction. Padding, on whichever side, is not read."""

    def __init__(self, inputs: int, width: int, layers: int, dropout: float = 0.0):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            [nn.LSTM(width if n else inputs, width // 2, batch_first=True, bidirectional=True) for n in range(layers)]
        )

    def forward(self, x: Tensor, real: Tensor | None) -> list[Tensor]:
        """x [batch, positions, inputs], real [batch, positions] -> what each layer says [batch, positions, width]"""
        found = []
        for number, layer in enumerate(self.layers):
            x = _read(layer, self.drop(x) if number else x, real)
            found.append(x)
        return found


def _read(layer: nn.Module, x: Tensor, real: Tensor | None) -> Tensor:
    if real is None:
        return layer(x)[0]
    order = real.int().argsort(dim=1, descending=True, stable=True)[..., None]  # tokens first
    lengths = real.sum(1).clamp(min=1).cpu()
    packed = pack_padded_sequence(x.gather(1, order.expand_as(x)), lengths, batch_first=True, enforce_sorted=False)
    made, _ = pad_packed_sequence(layer(packed)[0], batch_first=True, total_length=x.size(1))
    return torch.zeros_like(made).scatter(1, order.expand_as(made), made) * real[..., None]
