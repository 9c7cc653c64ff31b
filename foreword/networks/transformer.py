"""What every Transformer of one stack shares: embeddings, blocks, and the names of its layers and tables."""

from __future__ import annotations

from torch import Tensor, nn

from foreword.networks.base import Network
from foreword.parts.embeddings import Embeddings, widening
from foreword.parts.positions import PositionTable
from foreword.parts.stack import StackSpec


class Transformer(Network):
    def __init__(self, spec: StackSpec, embeddings: Embeddings):
        super().__init__()
        self.stack, self.width, self.context = spec, spec.width, spec.context
        self.embeddings, self.widen, self.blocks = embeddings, widening(spec), spec.blocks()
        self.depth = spec.goes_through()

    def tables(self) -> dict[str, Tensor]:
        tokens, positions = self.embeddings.tokens, self.embeddings.positions
        found = {"positions": positions.weight} if isinstance(positions, PositionTable) else {}
        return {"tokens": tokens.weight, **found}

    def levels(self) -> list[list[nn.Parameter]]:
        below = [*self.embeddings.parameters(), *self.widen.parameters()]
        layers = [list(block.parameters()) for block in self.blocks]
        layers[-1] += self.depth.parameters()
        return [below, *layers]

    def draw(self, module: nn.Module) -> None:
        self.stack.initial.apply(module)
