"""Who may look at whom. A pattern knows its definition (`mask`) and its own way of computing it (`attend`).

A pattern that looks back can be narrowed to a band (`within`): that is how one layer sees less than the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, groupby, islice
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import SerializeAsAny
from torch import Tensor

from foreword.basics.numbers import Size
from foreword.basics.registry import Registry
from foreword.basics.spec import Spec
from foreword.kernels import decode
from foreword.kernels.dropout_attention import attention
from foreword.parts import LAYOUTS
from foreword.parts.block_attention import BlockLayout, ByBlocks
from foreword.parts.layouts import LayoutSpec, WattsStrogatz

Window = int | BlockLayout | None  # how far a layer sees


@dataclass(frozen=True)
class FullPattern:
    """Every position looks at every real token."""

    def within(self, window: Window) -> FullPattern | LocalPattern | ByBlocks:
        if isinstance(window, BlockLayout):
            return ByBlocks(window, causal=False)
        return self if window is None else LocalPattern(window // 2)

    def mask(self, queries: int, keys: int, device: torch.device | None = None) -> Tensor:
        """[queries, keys], True where a query may look."""
        return torch.ones(queries, keys, dtype=torch.bool, device=device)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, dropout: float = 0.0) -> Tensor:
        """q [batch, heads, queries, size]; k, v [batch, heads, keys, size]; real [batch, keys], False at padding."""
        seen = None if real is None else real[:, None, None, :]
        return attention(q, k, v, seen, dropout)


@dataclass(frozen=True)
class LocalPattern:
    """Every position looks at the real tokens that stand at most `reach` places away on either side."""

    reach: int

    def mask(self, queries: int, keys: int, device: torch.device | None = None) -> Tensor:
        return FullPattern().mask(queries, keys, device).tril(self.reach).triu(-self.reach)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, dropout: float = 0.0) -> Tensor:
        queries, keys = q.size(-2), k.size(-2)
        if self.reach >= keys - 1:
            return FullPattern().attend(q, k, v, real, dropout)
        return attention(q, k, v, _without_padding(self.mask(queries, keys, q.device), real), dropout)


@dataclass(frozen=True)
class CausalPattern:
    """Every position looks at itself and what came before. The last query stands at the last key (cached reading)."""

    def mask(self, queries: int, keys: int, device: torch.device | None = None) -> Tensor:
        return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)

    def within(self, window: Window) -> CausalPattern | BandedPattern | ByBlocks:
        if isinstance(window, BlockLayout):
            return ByBlocks(window, causal=True)
        return self if window is None else BandedPattern(window)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, dropout: float = 0.0) -> Tensor:
        queries, keys = q.size(-2), k.size(-2)
        if real is None and queries == keys:
            return attention(q, k, v, None, dropout, causal=True)
        if real is None and queries == 1:
            return attention(q, k, v, None, dropout)
        return attention(q, k, v, _without_padding(self.mask(queries, keys, q.device), real), dropout)


@dataclass(frozen=True)
class BandedPattern:
    """Every position looks at itself and the `window` - 1 places before it: the local layers of GPT-3 (Child et al. 2019).

    A block of `window` queries looks at its own block of keys and the one before, which hold all that it may see: time and
    memory grow with the length, not with its square. Places are counted with padding, which stands at the ends of a row.
    """

    window: int

    def mask(self, queries: int, keys: int, device: torch.device | None = None) -> Tensor:
        return CausalPattern().mask(queries, keys, device).triu(keys - queries - self.window + 1)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, dropout: float = 0.0) -> Tensor:
        reach = min(k.size(-2), q.size(-2) + self.window - 1)
        past = reach - q.size(-2)
        k, v = k[:, :, k.size(-2) - reach :], v[:, :, v.size(-2) - reach :]  # what is further back no query sees
        real = None if real is None else real[:, real.size(1) - reach :]
        near = past + self.window
        first = self._together(
            q[:, :, : self.window], k[:, :, :near], v[:, :, :near], None if real is None else real[:, :near], dropout
        )
        if q.size(-2) <= self.window:
            return first
        rest = self._in_blocks(q, k[:, :, past:], v[:, :, past:], None if real is None else real[:, past:], dropout)
        return torch.cat([first, rest], 2)

    def _together(self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, dropout: float) -> Tensor:
        """At most `window` queries: their keys are few."""
        queries, keys = q.size(-2), k.size(-2)
        if keys <= self.window:
            return CausalPattern().attend(q, k, v, real, dropout)
        return attention(q, k, v, _without_padding(self.mask(queries, keys, q.device), real), dropout)

    def _in_blocks(self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, dropout: float) -> Tensor:
        """As many keys as queries; what all blocks but the first see."""
        batch, window = q.size(0), self.window
        short = -q.size(2) % window
        queries, *others = (_padded(x, short).unflatten(2, (-1, window)).transpose(1, 2) for x in (q, k, v))
        # [batch, blocks, heads, window, size] -> [batch x blocks, heads, 2 window, size]
        keys, values = (torch.cat([x[:, :-1], x[:, 1:]], 3).flatten(0, 1) for x in others)
        seen = self.mask(window, 2 * window, q.device)
        if real is not None:
            blocks = F.pad(real, (0, short)).unflatten(1, (-1, window))
            seen = _without_padding(seen, torch.cat([blocks[:, :-1], blocks[:, 1:]], 2).flatten(0, 1))
        mixed = attention(queries[:, 1:].flatten(0, 1), keys, values, seen, dropout)
        return mixed.unflatten(0, (batch, -1)).transpose(1, 2).flatten(2, 3)[:, :, : q.size(2) - window]


def _padded(x: Tensor, places: int) -> Tensor:
    """x [batch, heads, positions, size] with some positions more, which nobody sees."""
    return F.pad(x, (0, 0, 0, places)) if places else x


def _without_padding(seen: Tensor, real: Tensor | None) -> Tensor:
    """seen [..., queries, keys], of real [batch, keys]. A padding query would see nothing, and a softmax over nothing is not a
    number: it may look at itself."""
    if real is None:
        return seen
    queries, keys = seen.shape[-2:]
    itself = torch.ones(queries, keys, dtype=torch.bool, device=seen.device).tril(keys - queries).triu(keys - queries)
    return (seen & real[:, None, None, :]) | itself


def attend_with_bias(
    pattern: Pattern, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, bias: Tensor, dropout: float = 0.0
) -> Tensor:
    """A pattern by its definition, with a bias [..., queries, keys] on the scores."""
    if isinstance(pattern, GivenPattern):
        return pattern.attend(q, k, v, real, dropout, bias)
    seen = _without_padding(pattern.mask(q.size(-2), k.size(-2), q.device), real)
    mask = bias.to(q.dtype).masked_fill(~seen, float("-inf"))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)


def attention_weights(q: Tensor, k: Tensor, pattern: Pattern, real: Tensor | None, bias: Tensor | None) -> Tensor:
    """[batch, heads, queries, keys] how much each query takes of each key: a pattern by its definition."""
    seen = pattern.mask(q.size(-2), k.size(-2), q.device)
    if real is not None:
        seen = seen & real[:, None, None, :]
    scores = q @ k.mT * q.size(-1) ** -0.5
    return (scores if bias is None else scores + bias).masked_fill(~seen, float("-inf")).softmax(-1)


@dataclass(frozen=True)
class CachedPattern:
    """One new token in each row, which looks at itself and what its row has remembered: the first places of a cache."""

    lengths: Tensor  # [batch], of the memory with the new token
    window: int | None = None  # the last of them that are seen; None: all

    def mask(self, queries: int, keys: int, device: torch.device | None = None) -> Tensor:
        """[batch, 1, keys]"""
        behind = self.lengths[:, None] - torch.arange(keys, device=device)  # 1 for the newest, 0 beyond it
        return ((behind > 0) & (behind <= (self.window or keys)))[:, None]

    def within(self, window: Window) -> CachedPattern:
        return replace(self, window=in_a_row(window))

    def attend(self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None = None, dropout: float = 0.0) -> Tensor:
        return decode.attend(q, k, v, self.lengths, self.window or 0)


@dataclass(frozen=True)
class CausalOrFullPattern:
    """Rows that look back and rows that look both ways, side by side (Charpentier & Samuel 2024, GPT-BERT)."""

    causal: Tensor  # [batch], True for rows that look back
    window: Window = None

    def mask(self, queries: int, keys: int, device: torch.device | None = None) -> Tensor:
        """[batch, 1, queries, keys]"""
        back = CausalPattern().within(self.window).mask(queries, keys, device)
        both = FullPattern().within(self.window).mask(queries, keys, device)
        return torch.where(self.causal[:, None, None, None], back, both)

    def within(self, window: Window) -> CausalOrFullPattern:
        return replace(self, window=window)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, dropout: float = 0.0) -> Tensor:
        seen = self.mask(q.size(-2), k.size(-2), q.device)
        return attention(q, k, v, _without_padding(seen, real), dropout)


@dataclass(frozen=True)
class PrefixPattern:
    """The first `length` places are seen by every position, by each other too; the rest is seen from behind (prefix LM)."""

    length: int
    window: Window = None

    def mask(self, queries: int, keys: int, device: torch.device | None = None) -> Tensor:
        back = CausalPattern().within(self.window).mask(queries, keys, device)
        return back | (torch.arange(keys, device=device) < self.length)

    def within(self, window: Window) -> PrefixPattern:
        return replace(self, window=window)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, dropout: float = 0.0) -> Tensor:
        seen = self.mask(q.size(-2), k.size(-2), q.device)
        return attention(q, k, v, _without_padding(seen, real), dropout)


@dataclass(frozen=True)
class Packed:
    """Texts of any length, one behind the other in a batch of one: each looks back within itself, and nothing is padding."""

    lengths: tuple[int, ...]
    window: int | None = None  # how many places back each looks, its own included; None: to the first

    def mask(self, queries: int, keys: int, device: torch.device | None = None) -> Tensor:
        owner = torch.repeat_interleave(torch.arange(len(self.lengths)), torch.tensor(self.lengths)).to(device)
        return (owner[:, None] == owner) & CausalPattern().within(self.window).mask(queries, keys, device)

    def within(self, window: Window) -> Packed:
        return replace(self, window=in_a_row(window))

    def attend(self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None = None, dropout: float = 0.0) -> Tensor:
        runs = [
            (length, len(list(texts))) for length, texts in groupby(self.lengths)
        ]  # those of one length go together
        found = []
        for (length, texts), *parts in zip(runs, *(x[0].split([a * b for a, b in runs], 1) for x in (q, k, v))):
            q, k, v = (
                part.unflatten(1, (texts, length)).transpose(0, 1) for part in parts
            )  # [texts, heads, length, size]
            mixed = CausalPattern().within(self.window).attend(q, k, v, None, dropout)
            found.append(mixed.transpose(0, 1).flatten(1, 2))
        return torch.cat(found, 1)[None]


@dataclass(frozen=True)
class GivenPattern:
    """Who sees whom is given, row by row: an order of its own for each (XLNet). Who sees nobody takes nothing from anybody."""

    seen: Tensor  # [batch, queries, keys]

    def mask(self, queries: int, keys: int, device: torch.device | None = None) -> Tensor:
        """[batch, 1, queries, keys]"""
        return self.seen[:, None]

    def within(self, window: Window) -> GivenPattern:
        return self

    def attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        real: Tensor | None = None,
        dropout: float = 0.0,
        bias: Tensor | None = None,
    ) -> Tensor:
        seen = self.seen[:, None] if real is None else self.seen[:, None] & real[:, None, None, :]
        # a softmax over nothing is not a number, and over very negative ones it is uniform, which leaks what is hidden
        blind = ~seen.any(-1, keepdim=True)
        scores = q.new_zeros(()) if bias is None else bias.to(q.dtype)
        mask = torch.where(seen | blind, scores, float("-inf"))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout).masked_fill(blind, 0.0)


def in_a_row(window: Window) -> int | None:
    if isinstance(window, BlockLayout):
        raise TypeError("a layout of blocks counts places from the start of a row; packed rows have several")
    return window


Whole = (  # patterns that can be narrowed
    FullPattern | CausalPattern | CausalOrFullPattern | PrefixPattern | CachedPattern | Packed | GivenPattern
)
Pattern = Whole | LocalPattern | BandedPattern | ByBlocks


class VisibleSpec(Spec):
    """The settings of what each layer of a stack sees of the past."""

    def windows(self, layers: int, context: int) -> Sequence[Window]:
        """For each layer, how many places it sees, its own included, or which blocks; None: all."""
        raise TypeError(f"{type(self).__name__} has no windows.")


class Dense(VisibleSpec):
    """Every layer sees all that came before."""

    kind: Literal["dense"] = "dense"

    def windows(self, layers: int, context: int) -> Sequence[Window]:
        return [None] * layers


class Alternating(VisibleSpec):
    """Dense layers and banded ones in turn (Brown et al. 2020, section 2.1)."""

    kind: Literal["alternating"] = "alternating"
    window: Size = (
        256  # places a banded layer sees, both sides of its own if it looks both ways; GPT-3's paper does not say
    )
    order: tuple[Literal["dense", "banded"], ...] = ("dense", "banded")  # over and over, up the stack

    def faults(self) -> list[tuple[str, str]]:
        return [] if self.order else [("order", "order must name at least one layer: dense or banded.")]

    def windows(self, layers: int, context: int) -> Sequence[Window]:
        return [self.window if name == "banded" else None for name in islice(cycle(self.order), layers)]


class LayoutPattern(VisibleSpec):
    """Blocks of positions see the blocks that a layout ties them to, and their own; each layer has a layout of its own."""

    kind: Literal["blocks"] = "blocks"
    chosen: ClassVar[Mapping[str, Registry]] = {"layout": LAYOUTS}
    block: Size = 32  # positions
    layout: SerializeAsAny[LayoutSpec] = WattsStrogatz()

    def windows(self, layers: int, context: int) -> Sequence[Window]:
        size, seed = -(-context // self.block), self.layout.seed
        return [
            BlockLayout(torch.from_numpy(self.layout.square(size, seed + one)), self.block) for one in range(layers)
        ]
