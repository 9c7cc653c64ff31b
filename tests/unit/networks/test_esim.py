"""ESIM beside its definition, pair by pair: alignment over the other text alone, padding never read, gradients exact."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from foreword.networks.esim import AlignedReader, Esim, weights


def pairs(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    """Three pairs of unlike length, padded at the right: vectors, what is there, which text it is."""
    torch.manual_seed(0)
    x = torch.randn(3, 8, 5, dtype=dtype)
    real = torch.arange(8) < torch.tensor([8, 6, 3])[:, None]
    segments = (torch.arange(8) >= torch.tensor([5, 2, 2])[:, None]).long()
    return x, real, segments


def made() -> AlignedReader:
    torch.manual_seed(1)
    return Esim(width=4).build(5).double().eval()


def by_hand(network: AlignedReader, one: Tensor, other: Tensor) -> Tensor:
    """One pair, [words, inputs] each, as the paper writes it."""
    a, b = (network.encode.lstm(side[None])[0][0] for side in (one, other))
    scores = a @ b.T
    for_a = torch.stack([sum(p * word for p, word in zip(row.softmax(0), b)) for row in scores])  # type: ignore[misc]
    for_b = torch.stack([sum(p * word for p, word in zip(row.softmax(0), a)) for row in scores.T])  # type: ignore[misc]
    pools = []
    for own, theirs in ((a, for_a), (b, for_b)):
        seen = F.relu(network.compare(torch.cat([own, theirs, own - theirs, own * theirs], -1)))
        composed = network.compose.lstm(seen[None])[0][0]
        pools += [composed.mean(0), composed.max(0).values]
    return network.pooled(torch.cat(pools))


def test_a_batch_is_what_each_pair_is_alone() -> None:
    network, (x, real, segments) = made(), pairs()
    out = network(x, real, segments)
    for row in range(3):
        one, other = (x[row, real[row] & (segments[row] == side)] for side in (0, 1))
        assert torch.allclose(out[row], by_hand(network, one, other).expand(8, -1), atol=1e-12)


def test_weights_add_up_to_one_over_the_other_text() -> None:
    x, real, segments = pairs()
    first, second = real & (segments == 0), real & (segments == 1)
    found = weights(x, first, second)
    assert torch.allclose(found.sum(-1), real.double(), atol=1e-12)
    assert (found[(first[:, :, None] & first[:, None]) | ~real[:, None].expand(3, 8, 8)] == 0).all()


def test_gradients_are_those_of_finite_differences() -> None:
    network, (x, real, segments) = made(), pairs()
    assert torch.autograd.gradcheck(lambda x: network(x, real, segments)[:, 0], x.requires_grad_())
