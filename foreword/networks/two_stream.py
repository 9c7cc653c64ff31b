"""TwoStreamTransformer: one stream reads tokens, another guesses them from where they stand and from what it may see. XLNet."""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

import torch
from pydantic import SerializeAsAny
from torch import Tensor, nn

from foreword.basics.numbers import Whole
from foreword.kernels.elementwise import Dropout
from foreword.networks.base import Inputs, NetworkSpec, Output
from foreword.networks.segment import Memory
from foreword.networks.transformer import Transformer
from foreword.parts.attention import SegmentScores
from foreword.parts.embeddings import Embeddings
from foreword.parts.positions import Distances, PositionsSpec, Relative
from foreword.parts.stack import StackSpec
from foreword.parts.visible import FullPattern, GivenPattern, Pattern
from foreword.tokens.vocabulary import Vocabulary

READS = frozenset({"ids", "real", "segments", "order", "visible", "queries", "backward", "recalls", "remembered"})


class TwoStreamTransformerSpec(StackSpec, NetworkSpec):
    kind: Literal["two_stream_transformer"] = "two_stream_transformer"
    reads: ClassVar[frozenset[str]] = READS
    context: None = None  # a text may have any length
    memory: Whole = 384  # positions that each layer keeps of the rows before; 0: none
    positions: SerializeAsAny[PositionsSpec] = Relative(untied=True)

    def faults(self) -> list[tuple[str, str]]:
        found = super().faults()
        if not isinstance(self.positions, Relative) or not self.positions.untied:
            found.append(("positions", 'this network tells distances by { kind = "relative", untied = true } only.'))
        return found

    def relative_scores(self, positions: Relative) -> SegmentScores:
        return SegmentScores(self.width, self.heads, self.size)

    def build(self, vocabulary: Vocabulary) -> TwoStreamTransformer:
        return TwoStreamTransformer(self, vocabulary.size)


class StreamView(NamedTuple):
    """Who sees whom in one of the streams, and what attention has to know of it."""

    pattern: Pattern
    where: Distances
    real: Tensor | None = None  # [batch, keys], False where there is no token; None: the pattern knows


class TwoStreamTransformer(Transformer):
    """Without `queries` it is one stream, which reads: so it is fine-tuned. `Output.last` is of the queries, if there are any.

    What a position is (h of the paper) sees itself; what guesses it (g) has the same weights, begins as one learned vector,
    and sees only what was read of others. Neither sees what `visible` denies; what is remembered, all of a row may see.
    """

    reads = READS

    def __init__(self, spec: TwoStreamTransformerSpec, vocabulary: int):
        super().__init__(spec, Embeddings(spec, vocabulary, both_ways=True))
        self.spec, self.norm, self.drop = spec, spec.last_norm(), Dropout(spec.dropout.residual)
        self.start = nn.Parameter(
            torch.zeros(1, spec.width)
        )  # w of the paper: what a guess is before it has seen anything
        spec.initial.draw(self.start, spec.initial.deviation or spec.width**-0.5)

    def forward(self, inputs: Inputs, state: Memory | None = None) -> Output:
        h = self.widen(self.embeddings(inputs.ids, torch.arange(inputs.ids.size(1), device=inputs.ids.device)))
        state = state or Memory((h[:, :0],) * len(self.blocks), inputs.ids.new_zeros((len(h), 0), dtype=torch.bool))
        reading, guessing = self._streams(inputs, state)
        g = None
        if inputs.queries is not None:
            g = self.embeddings.drop(self.start.expand(*inputs.queries.shape, -1))
        layers, kept = [h], []
        for block, before in zip(self.blocks, state.layers):
            kept.append(self._remembered(before, h, inputs.remembered).detach())  # no gradient across rows
            past = block.remember(before) if before.size(1) else None
            h, seen = block(h, reading.pattern, past, reading.real, reading.where)
            if g is not None and guessing is not None:
                g = block.look(g, seen, guessing.pattern, guessing.where)
            layers.append(h)
        now = torch.ones_like(inputs.ids, dtype=torch.bool) if inputs.real is None else inputs.real
        memory = Memory(tuple(kept), self._remembered(state.real, now, inputs.remembered))
        content = self.drop(self.norm(h))
        if g is None:
            return Output(content, tuple(layers), memory)
        return Output(self.drop(self.norm(g)), tuple(layers), memory, content=content)

    def _streams(self, inputs: Inputs, state: Memory) -> tuple[StreamView, StreamView | None]:
        """How positions are read, and how guesses are made."""
        positions, before = inputs.ids.size(1), state.real.size(1)
        places = torch.arange(positions, device=inputs.ids.device)
        where = self.embeddings.where(places, before + positions)
        assert isinstance(where, Distances)
        if inputs.backward is not None:
            where = where.or_reversed(inputs.backward)
        if inputs.segments is not None:  # what is remembered came before the first text, and counts as of it
            among = torch.cat([torch.zeros_like(state.real, dtype=inputs.segments.dtype), inputs.segments], 1)
            where = where._replace(same=(inputs.segments[:, :, None] == among[:, None])[:, None])
        real = None
        if inputs.real is not None or (state.real.numel() and not bool(state.real.all())):
            now = torch.ones_like(inputs.ids, dtype=torch.bool) if inputs.real is None else inputs.real
            real = torch.cat([state.real, now], 1)
        if all(given is None for given in (inputs.order, inputs.visible, inputs.queries, inputs.recalls)):
            return StreamView(FullPattern(), where, real), None
        seen = self._table(inputs, before) if real is None else self._table(inputs, before) & real[:, None]
        itself = torch.arange(before + positions, device=seen.device) == places[:, None] + before
        reading = StreamView(GivenPattern(seen | itself), where)
        if inputs.queries is None:
            return reading, None
        rows = inputs.queries[..., None].expand(-1, -1, before + positions)
        same = None if where.same is None else where.same.gather(2, rows[:, None])
        guesses = where._replace(places=inputs.queries, same=same)
        return reading, StreamView(GivenPattern((seen & ~itself).gather(1, rows)), guesses)

    @staticmethod
    def _table(inputs: Inputs, before: int) -> Tensor:
        """[batch, positions, keys] whom each position may see beside itself."""
        recalls = torch.ones_like(inputs.ids, dtype=torch.bool) if inputs.recalls is None else inputs.recalls
        order = torch.zeros_like(inputs.ids) if inputs.order is None else inputs.order
        now = order[:, None] <= order[:, :, None]
        now = now if inputs.visible is None else now & inputs.visible
        return torch.cat([recalls[..., None].expand(-1, -1, before), now], 2)

    def _remembered(self, before: Tensor, now: Tensor, positions: int | None) -> Tensor:
        """The last of what was remembered and of what a row adds to it: its first so many positions, or all."""
        together = torch.cat([before, now[:, :positions]], 1)
        return together[:, max(together.size(1) - self.spec.memory, 0) :]
