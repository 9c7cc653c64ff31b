"""The settings every Transformer of the lineage shares, and the stack of blocks they describe."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import SerializeAsAny
from torch import Tensor, nn

from foreword.basics.registry import Table
from foreword.basics.spec import Spec
from foreword.parts import POSITIONS
from foreword.parts.attention import Attention
from foreword.parts.block import NORMS, Activation, Block, FeedForward, NormAfter, NormBefore, Place
from foreword.parts.loops import rms_norm
from foreword.parts.positions import Learned, PositionsSpec


class Dropout(Spec):
    """Where dropout falls while training. `table` drops entries of the embedding tables themselves (GPT-1's code)."""

    table: float = 0.0
    embeddings: float = 0.0
    attention: float = 0.0
    residual: float = 0.0


class Initial(Spec):
    """How weights are drawn before training."""

    deviation: float = 0.02             # 0: one over the root of what goes in, so that outputs are as large as inputs
    positions: float | None = None      # another deviation for the table of positions
    truncated: bool = False             # nothing beyond two deviations
    residuals: Literal["same", "scaled", "zero"] = "same"   # outputs of residual branches: divided by the root of their
    #                                                         number (GPT-2), or zero, so that every block begins as nothing

    def apply(self, module: nn.Module) -> None:
        """Draw every matrix of `module` anew; biases zero, gains one."""
        for part in module.modules():
            if isinstance(part, (nn.Linear, nn.Embedding)):
                self.draw(part.weight, self.deviation or part.weight.size(1) ** -0.5)
                if isinstance(part, nn.Linear) and part.bias is not None:
                    nn.init.zeros_(part.bias)
            elif isinstance(part, nn.LayerNorm):
                nn.init.ones_(part.weight)
                nn.init.zeros_(part.bias)

    def draw(self, weight: Tensor, deviation: float) -> None:
        if self.truncated:
            nn.init.trunc_normal_(weight, 0.0, deviation, -2 * deviation, 2 * deviation)
        else:
            nn.init.normal_(weight, 0.0, deviation)


class RMSNorm(nn.RMSNorm):
    """Nothing learned: rows are brought to one length."""

    def __init__(self, width: int, epsilon: float):
        super().__init__(width, epsilon, elementwise_affine=False)

    def forward(self, x: Tensor) -> Tensor:
        return rms_norm(x, self.epsilon)

    @property
    def epsilon(self) -> float:
        return float(self.eps or 0.0)


class StackSpec(Spec):
    """Depth, width and manner of a stack of Transformer blocks."""

    chosen: ClassVar[Mapping[str, Table]] = {"positions": POSITIONS}
    layers: int
    width: int
    heads: int
    context: int
    norm: Place = "before"
    norm_kind: Literal["layer", "rms"] = "layer"            # "rms": root mean square alone, nothing learned
    qk_norm: bool = False               # queries and keys are brought to one length before they meet
    bias: bool = True                   # linear maps inside the blocks have biases
    qkv_bias: bool = True               # those that make queries, keys and values too
    positions: SerializeAsAny[PositionsSpec] = Learned()
    inner: int | None = None            # width inside the feed-forward network; four times `width` if not said
    activation: Activation = "gelu_tanh"
    norm_epsilon: float = 1e-5
    dropout: Dropout = Dropout()
    initial: Initial = Initial()

    def faults(self) -> list[tuple[str, str]]:
        found = [(name, f"{name} must be at least 1 (it says {getattr(self, name)}).")
                 for name in ("layers", "width", "heads", "context") if getattr(self, name) < 1]
        if not found and self.width % self.heads:
            fitting = [n for n in range(1, self.width + 1) if self.width % n == 0 and self.width // n >= 8]
            found.append(("heads", f"width {self.width} does not divide into {self.heads} heads. "
                                   f"Heads that do: {fitting}"))
        elif not found:
            found += self.positions.misfits(self.width // self.heads)
        return found

    def norm_of(self, width: int) -> nn.Module:
        if self.norm_kind == "rms":
            return RMSNorm(width, self.norm_epsilon)
        return nn.LayerNorm(width, self.norm_epsilon)

    def blocks(self) -> nn.ModuleList:
        """The stack, drawn as `initial` says."""
        made = [self._block() for _ in range(self.layers)]
        blocks = nn.ModuleList(made)
        self.initial.apply(blocks)
        for out in (out for block in made for out in (block.attention.out, block.feedforward.out)):
            if self.initial.residuals == "scaled":        # two residual additions per layer (GPT-2 paper, section 2.3)
                self.initial.draw(out.weight, self.initial.deviation / math.sqrt(2 * self.layers))
            elif self.initial.residuals == "zero":
                nn.init.zeros_(out.weight)
        return blocks

    def _block(self) -> Block:
        def around() -> NormBefore | NormAfter:
            return NORMS[self.norm](self.norm_of(self.width), self.dropout.residual)

        even = self.norm_of(self.width // self.heads) if self.qk_norm else None
        return Block(Attention(self.width, self.heads, self.dropout.attention, self.bias, even, self.qkv_bias),
                     FeedForward(self.width, self.inner or 4 * self.width, self.activation, self.bias), (around(), around()))
