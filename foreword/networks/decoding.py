"""Reading on, token by token, with a cache: what a causal Transformer remembers has its place and is never moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from foreword.kernels import decode
from foreword.kernels.decode import Program
from foreword.networks.language_model import NeuralReader, first_tokens
from foreword.parts.attention import KeyValues
from foreword.parts.decode_program import program_for
from foreword.parts.visible import CachedPattern, Packed

if TYPE_CHECKING:
    from foreword.networks.causal import CausalTransformer

SPARE = 64  # places for new tokens that a cache begins with


@dataclass
class Layer:
    """One layer of a cache while one token per row is read: the token takes the place after what its row remembers."""

    keys: Tensor  # [batch, heads, room, size]
    values: Tensor
    lengths: Tensor  # [batch], without the new token

    def then(self, later: KeyValues) -> KeyValues:
        rows = torch.arange(len(self.lengths), device=self.lengths.device)
        self.keys[rows, :, self.lengths], self.values[rows, :, self.lengths] = (
            later.keys[:, :, 0],
            later.values[:, :, 0],
        )
        return KeyValues(self.keys, self.values)


class Cache:
    """Keys and values of all layers, and the ids they stand for; grown by doubling, up to the context.

    What lies beyond a row's length means nothing, so a state and those that follow it share one cache. Every token read is
    one more `step`: a state that stands at an earlier step has been read on from, and to do so again takes a copy.
    """

    def __init__(self, kept: Tensor, ids: np.ndarray):
        self.kept = kept  # [layers, 2, batch, heads, room, size]
        self.ids = ids  # [batch, room]
        self.step = 0

    @staticmethod
    def empty(like: Tensor, rows: int, room: int) -> Cache:
        """Room for `rows` of what `like`, keys or values of all layers, is for one. Zeros: no place may hold a NaN."""
        layers, two, _, heads, _, size = like.shape
        return Cache(like.new_zeros(layers, two, rows, heads, room, size), np.zeros((rows, room), np.int64))

    @property
    def room(self) -> int:
        return self.kept.size(4)

    def grow(self, room: int) -> None:
        larger = Cache.empty(self.kept, len(self.ids), room)
        larger.put(slice(None), self)
        self.kept, self.ids = larger.kept, larger.ids

    def put(self, rows: slice, source: Cache) -> None:
        """The rows of another cache that has no more room than this one take these places."""
        self.kept[:, :, rows, :, : source.room], self.ids[rows, : source.room] = source.kept, source.ids

    def rows(self, rows: np.ndarray) -> Cache:
        """A copy of some rows."""
        return Cache(self.kept.index_select(2, torch.from_numpy(rows).to(self.kept.device)), self.ids[rows])

    def layers(self, lengths: Tensor) -> list[Layer]:
        return [Layer(both[0], both[1], lengths) for both in self.kept.unbind()]


@dataclass
class DecodingState:
    """Where a Decoder stands. One may read on from it as often as one likes; from the second time on it takes a copy."""

    cache: Cache
    lengths: np.ndarray  # [batch] how much each row remembers
    step: int = 0  # of the cache, where this reading stands


class Decoder(NeuralReader):
    """A causal Transformer, asked for one token after the other."""

    network: CausalTransformer

    @property
    def limit(self) -> int:
        return self.network.spec.context

    @torch.inference_mode()
    def begin(self, prompts: Sequence[np.ndarray]) -> tuple[Tensor, DecodingState]:
        texts = [row[-self.limit :] for row in first_tokens(prompts, self.vocabulary)]
        lengths = np.array([len(text) for text in texts])
        spec, longest = self.network.spec, int(lengths.max())
        like = self.network.table().new_empty(spec.layers, 2, 0, spec.heads, 0, spec.width // spec.heads)
        cache = Cache.empty(like, len(texts), min(longest + SPARE, self.limit))
        last = like.new_empty(len(texts), spec.width)
        for some in self._groups(texts):
            hidden, seen = self._read([texts[rows[0]] for rows in some])
            ends = np.cumsum([lengths[rows[0]] for rows in some])
            for end, rows in zip(ends.tolist(), some):
                length = len(texts[rows[0]])
                last[rows], cache.ids[rows, :length] = hidden[end - 1], texts[rows[0]]
                for layer, (keys, values) in zip(cache.kept, seen):
                    layer[0, rows, :, :length], layer[1, rows, :, :length] = (
                        x[0, :, end - length : end] for x in (keys, values)
                    )
        return self.head.log_probs(last), DecodingState(cache, lengths)

    def _groups(self, texts: list[np.ndarray]) -> Iterator[list[list[int]]]:
        """Rows to be read in one pass, rows with the same text together: it is read once. Texts of one length are neighbours."""
        same: dict[bytes, list[int]] = {}
        for row, text in enumerate(texts):
            same.setdefault(text.tobytes(), []).append(row)
        some: list[list[int]] = []
        for rows in sorted(same.values(), key=lambda rows: len(texts[rows[0]])):
            if some and sum(len(texts[other[0]]) for other in [*some, rows]) > self.tokens_at_once:
                yield some
                some = []
            some.append(rows)
        yield some

    def _read(self, texts: list[np.ndarray]) -> tuple[Tensor, list[KeyValues]]:
        """Texts one behind the other, in one pass: vectors [tokens, width], and keys and values of every layer."""
        ids, positions = (
            torch.from_numpy(np.concatenate(parts))[None].to(self.device)
            for parts in (texts, [np.arange(len(text)) for text in texts])
        )
        passed = self.network.through(ids, positions, Packed(tuple(map(len, texts))))
        return self.network.norm(passed.layers[-1])[0], passed.seen

    @torch.inference_mode()
    def advance(self, tokens: np.ndarray, state: DecodingState) -> tuple[Tensor, DecodingState]:
        tokens, lengths, cache = np.ascontiguousarray(tokens, np.int64), state.lengths, state.cache
        longest, rows = int(lengths.max()), np.arange(len(lengths))
        if longest == self.limit:
            return self._advance_full(tokens, state)
        if cache.step != state.step:
            cache = cache.rows(rows)
        if longest == cache.room:
            cache.grow(min(2 * longest, self.limit))
        cache.step += 1
        cache.ids[rows, lengths] = tokens
        return self.head.log_probs(self._step(tokens, lengths, cache)), DecodingState(cache, lengths + 1, cache.step)

    def _step(self, tokens: np.ndarray, lengths: np.ndarray, cache: Cache) -> Tensor:
        """One token per row, each at its own position -> [batch, width]."""
        if self._program is not None and len(tokens) <= decode.ROWS:
            return self._program.run(tokens, lengths, cache.kept)
        places, ids = (torch.from_numpy(numbers).to(self.device) for numbers in (lengths, tokens))
        passed = self.network.through(ids[:, None], places[:, None], CachedPattern(places + 1), cache.layers(places))
        return self.network.norm(passed.layers[-1])[:, -1]

    @cached_property
    def _program(self) -> Program | None:
        """The same in one call, if the network is frozen and there is a compiler."""
        network = self.network
        bands = [window for window in network.windows if window is None or isinstance(window, int)]
        if len(bands) < len(network.windows):  # a layout of blocks is not served
            return None
        return program_for(network.embeddings, network.blocks, network.norm, self.limit, bands)

    def _advance_full(self, tokens: np.ndarray, state: DecodingState) -> tuple[Tensor, DecodingState]:
        """The positions are used up: a row that is full reads its later half again and goes on from there."""
        full, rest = (np.flatnonzero(which) for which in (state.lengths == self.limit, state.lengths < self.limit))
        half = state.cache.ids[full, self.limit - self.limit // 2 : self.limit]
        log_probs, fresh = self.begin(list(np.concatenate([half, tokens[full, None]], 1)))
        if not len(rest):
            return log_probs, fresh
        others, old = self.advance(tokens[rest], self.select(state, rest))
        back = np.concatenate([full, rest]).argsort()
        return torch.cat([log_probs, others])[back], self.select(self.join(fresh, old), back)

    def select(self, state: DecodingState, rows: np.ndarray) -> DecodingState:
        rows = np.asarray(rows, np.int64)
        return DecodingState(state.cache.rows(rows), state.lengths[rows])

    def join(self, state: DecodingState, other: DecodingState) -> DecodingState:
        first, second = state.cache, other.cache
        cache = Cache.empty(first.kept, len(first.ids) + len(second.ids), max(first.room, second.room))
        cache.put(slice(len(first.ids)), first)
        cache.put(slice(len(first.ids), None), second)
        return DecodingState(cache, np.concatenate([state.lengths, other.lengths]))
