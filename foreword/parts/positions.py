"""Where a token stands: a vector added to the token's, a rotation of queries and keys, or a bias on their scores."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from foreword.basics.numbers import Positive, Size, Whole
from foreword.basics.spec import Spec
from foreword.kernels.elementwise import Dropout, dropout, rotary

if TYPE_CHECKING:
    from foreword.parts.stack import StackSpec


class Rotation(NamedTuple):
    """The angles of each position: [positions, size/2], or [batch, 1, positions, size/2] to meet the heads."""

    cosine: Tensor
    sine: Tensor

    def of(self, x: Tensor) -> Tensor:
        """x [batch, heads, positions, size], rotated; its first half is paired with its second."""
        return rotary(x, self.cosine, self.sine)


class Bias(NamedTuple):
    """A number added to the score of each query and key, the same in every layer."""

    values: Tensor  # [heads, queries, keys]


class QueryBiases(nn.Module):
    """What every query asks for, whatever it is itself: of content, and of distance (Dai et al. 2019, eq. 5)."""

    def __init__(self, heads: int, size: int, segments: bool = False):
        super().__init__()
        self.content = nn.Parameter(torch.zeros(heads, size))  # u of the paper
        self.place = nn.Parameter(torch.zeros(heads, size))  # v of the paper
        if segments:
            self.segment = nn.Parameter(torch.zeros(heads, size))  # b of XLNet's


class Distances(NamedTuple):
    """Vectors of the distances from queries to keys, and the query biases of all layers."""

    vectors: Tensor  # [distances, width] from the last query to each key, the furthest first; then those ahead, if seen
    biases: QueryBiases | None  # None: each layer has its own
    keys: int
    tables: Tensor | None = None  # [batch] which of several such `vectors` a row has; None: there is one
    places: Tensor | None = None  # [batch, queries] where the queries stand, if they are not all positions in order
    same: Tensor | None = None  # [batch, 1, queries, keys] whether both are of one text; None: all are

    def or_reversed(self, backward: Tensor) -> Distances:
        """The same where some rows [batch] hold a text that runs from its end to its start: what is behind lay ahead."""
        half = self.vectors.size(-1) // 2
        mirrored = torch.cat([-self.vectors[..., :half], self.vectors[..., half:]], -1)  # sines change their sign
        return self._replace(vectors=torch.stack([self.vectors, mirrored]), tables=backward.long())


Where = Rotation | Bias | Distances  # what attention has to know of positions


class PositionScheme(nn.Module):
    """A position scheme, built. Most schemes do one of two things: add to the vectors, or tell attention."""

    def add(self, x: Tensor, positions: Tensor) -> Tensor:
        """x [batch, places, width] at positions [places] or [batch, places]"""
        return x

    def where(self, positions: Tensor, keys: int) -> Where | None:
        """What attention is told of queries at these positions, the last of which stands at the last of the keys."""
        return None

    def where_near(self, positions: Tensor, keys: int) -> Where | None:
        """The same for layers that see a window only."""
        return self.where(positions, keys)


class PositionsSpec(Spec):
    """The settings of a position scheme; `build` makes it for a stack."""

    between: ClassVar[bool] = False  # it tells attention of the distances between queries and keys

    def build(self, stack: StackSpec, both_ways: bool = False) -> PositionScheme:
        raise TypeError(f"{type(self).__name__} has no build.")

    def misfits(self, size: int) -> list[tuple[str, str]]:
        """Settings of the network that this scheme cannot follow."""
        return []


class Learned(PositionsSpec):
    """One learned vector for every position (Gehring et al. 2017; GPT-1, BERT)."""

    kind: Literal["learned"] = "learned"
    offset: Whole | None = None  # rows of the table before that of the first position (RoBERTa: 2); none by default

    def build(self, stack: StackSpec, both_ways: bool = False) -> PositionTable:
        if stack.context is None:
            raise TypeError("a table of positions needs a context")
        return PositionTable(stack.context, stack.token_width, stack.dropout.table, self.offset or 0)


class Sinusoid(PositionsSpec):
    """Sines and cosines of ever longer waves, in two halves: nothing is learned (Vaswani et al. 2017, section 3.5)."""

    kind: Literal["sinusoid"] = "sinusoid"

    def build(self, stack: StackSpec, both_ways: bool = False) -> SinusoidPositions:
        return SinusoidPositions()


class Rotary(PositionsSpec):
    """Queries and keys are rotated by their positions, so that only distances matter (Su et al. 2021)."""

    kind: Literal["rotary"] = "rotary"
    base: Positive = 10000.0  # the slowest pair of numbers turns once in about 2 pi x base positions
    local: Positive | None = None  # another base for layers that see a window only (ModernBERT)

    def build(self, stack: StackSpec, both_ways: bool = False) -> RotaryAngles:
        return RotaryAngles(stack.size, self.base, self.local)

    def misfits(self, size: int) -> list[tuple[str, str]]:
        return [("heads", f"rotary positions pair the numbers of a head; {size} is odd.")] if size % 2 else []


class DistanceBias(PositionsSpec):
    """A learned bias for each head and each bucket of distances (Raffel et al. 2019, section 2.1)."""

    kind: Literal["distance_bias"] = "distance_bias"
    between: ClassVar[bool] = True
    buckets: Size = 32
    furthest: Size = 128  # distances from here on share the last bucket

    def build(self, stack: StackSpec, both_ways: bool = False) -> BiasTable:
        return BiasTable(stack.heads, self.buckets, self.furthest, both_ways)


class Relative(PositionsSpec):
    """Scores of content and of distance, each with its own query bias (Dai et al. 2019, Transformer-XL, section 3.3)."""

    kind: Literal["relative"] = "relative"
    between: ClassVar[bool] = True
    untied: bool = False  # each layer has query biases of its own
    furthest: Size | None = (
        None  # larger distances count as this one; None: every distance counts (clamp_len of the code)
    )

    def build(self, stack: StackSpec, both_ways: bool = False) -> RelativeDistances:
        return RelativeDistances(stack, self.untied, self.furthest, both_ways)


class PositionTable(nn.Embedding, PositionScheme):
    def __init__(self, context: int, width: int, drop: float, offset: int = 0):
        super().__init__(context + offset, width)
        self.drop, self.offset = drop, offset  # drop: of the table's own entries (GPT-1's code)

    def add(self, x: Tensor, positions: Tensor) -> Tensor:
        weight = dropout(self.weight, self.drop) if self.drop and self.training else self.weight
        return x + F.embedding(positions + self.offset if self.offset else positions, weight)


class SinusoidPositions(PositionScheme):
    def add(self, x: Tensor, positions: Tensor) -> Tensor:
        return x + sinusoids(positions, x.size(-1)).to(x.dtype)


class RotaryAngles(PositionScheme):
    def __init__(self, size: int, base: float, local: float | None = None):
        super().__init__()
        self.size, self.base, self.local = size, base, local

    def where(self, positions: Tensor, keys: int) -> Rotation:
        return self._turned(positions, self.base)

    def where_near(self, positions: Tensor, keys: int) -> Rotation:
        return self._turned(positions, self.local or self.base)

    def _turned(self, positions: Tensor, base: float) -> Rotation:
        pairs = torch.arange(0, self.size, 2, device=positions.device, dtype=torch.float32) / self.size
        angles = positions[..., None] * base**-pairs
        if angles.dim() == 3:
            angles = angles[:, None]
        return Rotation(angles.cos(), angles.sin())


class BiasTable(nn.Embedding, PositionScheme):
    def __init__(self, heads: int, buckets: int, furthest: int, both_ways: bool):
        super().__init__(buckets, heads)
        self.furthest, self.both_ways = furthest, both_ways

    def where(self, positions: Tensor, keys: int) -> Bias:
        queries = positions.size(-1)
        ahead = (
            torch.arange(keys, device=positions.device)
            - torch.arange(keys - queries, keys, device=positions.device)[:, None]
        )
        found = bucket(ahead, self.num_embeddings, self.furthest, self.both_ways)
        return Bias(F.embedding(found, self.weight).permute(2, 0, 1))


class RelativeDistances(PositionScheme):
    def __init__(self, stack: StackSpec, untied: bool, furthest: int | None, both_ways: bool = False):
        super().__init__()
        self.width, self.furthest, self.both_ways = stack.width, furthest, both_ways
        self.biases = None if untied else QueryBiases(stack.heads, stack.size)
        self.drop = Dropout(stack.dropout.embeddings)

    def where(self, positions: Tensor, keys: int) -> Distances:
        ahead = positions.size(-1) - 1 if self.both_ways else 0
        far = torch.arange(keys - 1, -ahead - 1, -1, device=positions.device)
        far = far if self.furthest is None else far.clamp(-self.furthest, self.furthest)
        return Distances(self.drop(sinusoids(far, self.width)), self.biases, keys)


def sinusoids(positions: Tensor, width: int) -> Tensor:
    """[...] -> [..., width]: sines in the first half, cosines in the second."""
    half = width // 2
    rates = torch.exp(torch.arange(half, device=positions.device, dtype=torch.float32) * (-math.log(10000.0) / half))
    angles = positions[..., None] * rates
    return F.pad(torch.cat([angles.sin(), angles.cos()], -1), (0, width % 2))


def bucket(ahead: Tensor, buckets: int, furthest: int, both_ways: bool) -> Tensor:
    """The bucket of each distance (key minus query): half of them for single distances, half for ever wider ranges.

    Who looks both ways has half the buckets for each direction; who looks back puts everything ahead into the first.
    """
    first = torch.zeros_like(ahead)
    if both_ways:
        buckets //= 2
        first, away = (ahead > 0) * buckets, ahead.abs()
    else:
        away = (-ahead).clamp(min=0)
    single = buckets // 2
    wide = torch.log(away.clamp(min=1).float() / single) / math.log(furthest / single) * (buckets - single)
    return first + torch.where(away < single, away, (single + wide.to(away.dtype)).clamp(max=buckets - 1))
