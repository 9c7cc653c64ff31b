"""The block-sparse LSTM: several sparse steps inside each time step let everything meet (Gray, Radford & Kingma 2017)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from pydantic import SerializeAsAny
from torch import Tensor, nn

from foreword.basics.numbers import Size
from foreword.basics.registry import Registry
from foreword.parts import LINEAR
from foreword.parts.cells import CellSpec, Hold, State, held
from foreword.parts.linear import BlockSparseLinear, BlockSparseSpec, LinearSpec


class BlockSparseLstmCell(CellSpec):
    """h = LN(S0 h) * m, then h = relu(LN(S1 h) + a), then relu(LN(S h)) as often as `steps` says; m and a are of the word.

    The four gates read the last h, through maps of one layout.
    """

    kind: Literal["block_sparse_lstm"] = "block_sparse_lstm"
    chosen: ClassVar[Mapping[str, Registry]] = {"linear": LINEAR}
    steps: Size = 5
    linear: SerializeAsAny[LinearSpec] = BlockSparseSpec()
    forget_bias: float = 1.0

    def faults(self) -> list[tuple[str, str]]:
        return [] if self.steps >= 2 else [("steps", f"steps must be at least 2 (it says {self.steps}).")]

    def layer(self, inputs: int, width: int) -> BlockSparseLstm:
        return BlockSparseLstm(self, inputs, width)

    def misfits(self, width: int, inputs: int, layers: int) -> list[tuple[str, str]]:
        return [("cell", what) for _, what in self.linear.misfits(width, width)]


class BlockSparseLstm(nn.Module):
    hold: Hold | None = None

    def __init__(self, spec: BlockSparseLstmCell, inputs: int, width: int):
        super().__init__()
        self.width, self.forget_bias = width, spec.forget_bias
        self.words = nn.ModuleList([nn.Linear(inputs, width, bias=False) for _ in range(2)])
        self.steps = nn.ModuleList([spec.linear.build(width, width, False, number) for number in range(spec.steps)])
        self.gates = nn.ModuleList([spec.linear.build(width, width, False, spec.steps) for _ in range(4)])
        self.word_norms, self.step_norms, self.gate_norms = (
            nn.ModuleList([nn.LayerNorm(width) for _ in range(count)]) for count in (2, spec.steps, 4)
        )

    def start(self, batch: int, like: Tensor) -> State:
        return like.new_zeros(batch, self.width), like.new_zeros(batch, self.width)

    @torch.no_grad()
    def settle(self) -> None:
        """Inner steps at first pass on what they read, beside what was drawn; the forget gate is open."""
        for step in self.steps:
            if isinstance(step, BlockSparseLinear):
                step.settle()
                own = (step.rows == step.owners).to(step.weight)[:, None, None]
                step.weight.add_(own * torch.eye(step.block, dtype=step.weight.dtype))
            else:
                step.weight.add_(torch.eye(self.width))  # type: ignore[operator]
        self.gate_norms[1].bias.fill_(self.forget_bias)  # type: ignore[operator]

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, State]:
        hidden, cell = state
        outputs = []
        m, a = (norm(word(x)) for word, norm in zip(self.words, self.word_norms))
        for times, plus in zip(m.unbind(0), a.unbind(0)):
            for number, (step, norm) in enumerate(zip(self.steps, self.step_norms)):
                hidden = norm(step(hidden))
                hidden = hidden * times if number == 0 else (hidden + plus if number == 1 else hidden).relu()
            i, f, o, u = (norm(gate(hidden)) for gate, norm in zip(self.gates, self.gate_norms))
            cell = held(self.hold, f.sigmoid() * cell + i.sigmoid() * u.tanh())
            hidden = o.sigmoid() * cell.tanh()
            outputs.append(hidden)
        return torch.stack(outputs), (hidden, cell)
