"""The settings every Transformer of the lineage shares, and the stack of blocks they describe."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from pydantic import SerializeAsAny
from torch import Tensor, nn

from foreword.basics.numbers import Below1, Layers, NotNegative, Positive, Size
from foreword.basics.registry import Registry
from foreword.basics.spec import Spec
from foreword.kernels.elementwise import rms_norm
from foreword.parts import DEPTHS, FEEDFORWARD, POSITIONS
from foreword.parts.attention import Attention, DotProduct, RelativeScores, StackedLinear
from foreword.parts.block import NORMS, Activation, Block, Blocks, FeedForward, GatedFeedForward, Place
from foreword.parts.depth import DepthSpec, SinglePass
from foreword.parts.positions import Learned, PositionsSpec, QueryBiases, Relative
from foreword.parts.separable import Separable, SeparableBlock


class DropoutRates(Spec):
    """Where dropout falls while training. `table` drops entries of the embedding tables themselves (GPT-1's code)."""

    table: Below1 = 0.0
    embeddings: Below1 = 0.0
    attention: Below1 = 0.0
    residual: Below1 = 0.0
    inner: Below1 | None = None  # inside the feed-forward networks; none by default


class Initial(Spec):
    """How weights are drawn before training."""

    deviation: NotNegative = 0.02  # 0: one over the root of what goes in, so that outputs are as large as inputs
    xavier: bool = False  # linear maps instead uniform, by what goes in and what comes out (Glorot & Bengio 2010)
    tokens: NotNegative | None = None  # another deviation for the table of token vectors
    positions: NotNegative | None = None  # another deviation for the table of positions
    truncated: bool = False  # nothing beyond two deviations
    residuals: Literal["same", "scaled", "zero"] = "same"  # outputs of residual branches: divided by the root of their
    #                                                         number (GPT-2), or zero, so that every block begins as nothing

    def apply(self, module: nn.Module) -> None:
        """Re-initialise every matrix of `module`; biases zero, gains one."""
        for part in module.modules():
            if isinstance(part, (nn.Linear, nn.Embedding)):
                if self.xavier and isinstance(part, nn.Linear):
                    for piece in part.weight.chunk(part.pieces if isinstance(part, StackedLinear) else 1):
                        nn.init.xavier_uniform_(piece)
                else:
                    self.draw(part.weight, self.deviation or part.weight.size(1) ** -0.5)
                if isinstance(part, nn.Linear) and part.bias is not None:
                    nn.init.zeros_(part.bias)
            elif isinstance(part, QueryBiases):
                for bias in part.parameters():
                    self.draw(bias, self.deviation or bias.size(1) ** -0.5)
            elif isinstance(part, (nn.LayerNorm, nn.RMSNorm)) and part.weight is not None:
                nn.init.ones_(part.weight)
                if isinstance(part, nn.LayerNorm) and part.bias is not None:
                    nn.init.zeros_(part.bias)

    def draw(self, weight: Tensor, deviation: float) -> None:
        if self.truncated:
            nn.init.trunc_normal_(weight, 0.0, deviation, -2 * deviation, 2 * deviation)
        else:
            nn.init.normal_(weight, 0.0, deviation)


class RMSNorm(nn.RMSNorm):
    """Root mean square norm without a gain: nothing is learned."""

    def __init__(self, width: int, epsilon: float):
        super().__init__(width, epsilon, elementwise_affine=False)

    def forward(self, x: Tensor) -> Tensor:
        return rms_norm(x, self.epsilon)

    @property
    def epsilon(self) -> float:
        return float(self.eps or 0.0)


class StackSpec(Spec):
    """Depth, width and manner of a stack of Transformer blocks."""

    chosen: ClassVar[Mapping[str, Registry]] = {"positions": POSITIONS, "depth": DEPTHS, "feedforward": FEEDFORWARD}
    again: ClassVar[bool] = False  # its layers can be gone through again, and see neighbours (the networks that say so)
    layers: Layers
    depth: SerializeAsAny[DepthSpec] | None = None  # how the layers are gone through; each once by default
    width: Size
    heads: Size
    context: Size | None
    embedding: Size | None = None  # width of the token vectors; `width` by default
    embedding_scale: bool = False  # token vectors are multiplied by the root of their width (Vaswani et al. 2017, 3.4)
    head_size: Size | None = None  # of queries, keys and values; width / heads by default
    attention_scale: Positive | None = None  # of scores; one over the root of the head's size by default
    norm: Place = "before"
    norm_kind: Literal["layer", "layer_gain", "rms", "rms_gain"] = (
        "layer"  # "rms": root mean square alone, nothing learned
    )
    qk_norm: bool = False  # queries and keys are normalised before they meet
    bias: bool = True  # linear maps inside the blocks have biases
    attention_bias: bool = True  # those of attention too
    qkv_bias: bool = True  # of those, the ones that make queries, keys and values too
    positions: SerializeAsAny[PositionsSpec] = Learned()
    inner: Size | None = None  # width inside the feed-forward network; four times `width` by default
    activation: Activation = "gelu_tanh"
    gated: bool = False  # the feed-forward network is multiplied by a second map of what enters
    feedforward: SerializeAsAny[Spec] | None = None  # sparse, experts, or convolutions, in the place of the dense one
    norm_epsilon: NotNegative = 1e-5
    dropout: DropoutRates = DropoutRates()
    initial: Initial = Initial()

    @property
    def size(self) -> int:
        """Of a head."""
        return self.head_size or self.width // self.heads

    @property
    def token_width(self) -> int:
        return self.embedding or self.width

    def faults(self) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        if not found and not self.head_size and self.width % self.heads:
            small = [n for n in range(1, math.isqrt(self.width) + 1) if self.width % n == 0]
            fitting = sorted(n for n in {*small, *(self.width // n for n in small)} if self.width // n >= 8)
            found.append(
                ("heads", f"width {self.width} does not divide into {self.heads} heads. Heads that do: {fitting}")
            )
        elif not found:
            found += self.positions.misfits(self.size)
        if not found and self.feedforward is not None:
            found += self.feedforward.unfit(self)  # type: ignore[attr-defined]
        if (self.depth or self.convolves) and not self.again:
            name = "depth" if self.depth else "feedforward"
            found.append((name, "the layers of this kind of network are gone through once, each position by itself."))
        if self.depth and self.token_width != self.width:
            found.append(("embedding", "blocks that are gone through again need token vectors as wide as they are."))
        return found

    @property
    def passes(self) -> int:
        """How often the blocks are gone through."""
        return self.depth.passes if self.depth else 1

    @property
    def convolves(self) -> bool:
        """Whether its feed-forward networks see neighbours."""
        return isinstance(self.feedforward, Separable)

    @property
    def plain(self) -> bool:
        """Whether blocks stand one on the other and remember nothing but keys and values."""
        return self.depth is None and not self.convolves

    def goes_through(self) -> nn.Module:
        """How its blocks are gone through."""
        return self.depth.build(self) if self.depth else SinglePass()

    def norm_of(self, width: int) -> nn.Module:
        if self.norm_kind == "rms":
            return RMSNorm(width, self.norm_epsilon)
        if self.norm_kind == "layer_gain":
            return nn.LayerNorm(width, self.norm_epsilon, bias=False)
        return (nn.RMSNorm if self.norm_kind == "rms_gain" else nn.LayerNorm)(width, self.norm_epsilon)

    def last_norm(self) -> nn.Module:
        """After the stack, where blocks normalise only what enters them."""
        return self.norm_of(self.width) if self.norm == "before" else nn.Identity()

    def blocks(self, cross: bool = False) -> Blocks:
        """The stack, drawn as `initial` says. `cross`: every block also looks at another sequence."""
        made = [self._block(cross, number) for number in range(self.layers)]
        blocks = Blocks(made)
        self.initial.apply(blocks)
        for block in made:
            if self.attention_scale and not self.initial.deviation:  # scores are not scaled down: queries begin smaller
                for part in filter(None, [block.attention, block.cross]):
                    with torch.no_grad():
                        part.project.weight[: part.inner] *= self.size**-0.5 / self.attention_scale
            last = getattr(block.feedforward, "out", None)
            branches = [block.attention.out, last, *([block.cross.out] if block.cross else [])]
            for out in branches:
                if not isinstance(out, nn.Linear):
                    continue  # experts and sparse maps draw themselves
                if self.initial.residuals == "scaled":  # by the number of residual additions (GPT-2 paper, section 2.3)
                    self.initial.draw(out.weight, self.initial.deviation / math.sqrt(len(branches) * self.layers))
                elif self.initial.residuals == "zero":
                    nn.init.zeros_(out.weight)
        return blocks

    def _block(self, cross: bool, number: int) -> Block:
        around = [NORMS[self.norm](self.norm_of(self.width), self.dropout.residual) for _ in range(3 if cross else 2)]
        if self.feedforward is not None:
            forward = self.feedforward.feedforward(self, number)  # type: ignore[attr-defined]
        else:
            forward = (GatedFeedForward if self.gated else FeedForward)(
                self.width, self.inner or 4 * self.width, self.activation, self.bias, self.dropout.inner or 0.0
            )
        block = SeparableBlock if self.convolves else Block
        return block(self._attention(), forward, around, self._attention(relative=False) if cross else None)

    def _attention(self, relative: bool = True) -> Attention:
        scores = self.relative_scores(self.positions) if relative and isinstance(self.positions, Relative) else None
        return Attention(
            self.width,
            self.heads,
            self.size,
            self.dropout.attention,
            self.bias and self.attention_bias,
            self.qkv_bias,
            scores or DotProduct(self.size, self.attention_scale),
            self.norm_of(self.size) if self.qk_norm else None,
        )

    def relative_scores(self, positions: Relative) -> nn.Module:
        """How queries meet keys where content and distance are scored apart."""
        return RelativeScores(self.width, self.heads, self.size, positions.untied)


class OwnStack(StackSpec):
    """The settings of one stack of several."""

    kind: Literal["stack"] = "stack"
