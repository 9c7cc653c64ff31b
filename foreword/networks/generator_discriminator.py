"""GeneratorDiscriminator: a narrow reader drafts hidden tokens, a wide one looks for its drafts. ELECTRA.

The one network made of another: both are bidirectional Transformers over the same embeddings. What is read afterwards, and
transferred, is the wide one.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from torch import Tensor, nn

from foreword.basics.numbers import Positive
from foreword.networks.base import Inputs, Network, Output, State
from foreword.networks.bidirectional import BidirectionalTransformer, BidirectionalTransformerSpec
from foreword.tokens.vocabulary import Vocabulary


class GeneratorDiscriminatorSpec(BidirectionalTransformerSpec):
    again: ClassVar[bool] = False
    kind: Literal["generator_discriminator"] = "generator_discriminator"  # type: ignore[assignment]
    generator: Positive = 0.25  # its width and heads, as a share of the discriminator's
    sharing: Literal["embeddings", "none", "all"] = (
        "embeddings"  # weights that both have ("all": a generator of full size)
    )

    def faults(self) -> list[tuple[str, str]]:
        found = super().faults()
        if not 0 < self.generator <= 1:
            found.append(("generator", f"generator must lie between 0 and 1 (it says {self.generator:g})."))
        if self.sharing == "all" and self.generator != 1:
            found.append(
                ("sharing", f"all is shared only by networks of one size: generator = 1.0, not {self.generator:g}.")
            )
        return found

    def alone(self) -> BidirectionalTransformerSpec:
        """The discriminator's settings."""
        same = {name: getattr(self, name) for name in BidirectionalTransformerSpec.model_fields if name != "kind"}
        return BidirectionalTransformerSpec(**same)

    def narrow(self) -> BidirectionalTransformerSpec:
        heads = max(1, round(self.generator * self.heads))
        width = max(1, round(self.generator * self.width / heads)) * heads
        inner = max(1, round(self.generator * (self.inner or 4 * self.width)))
        size = {"width": width, "heads": heads, "inner": inner, "embedding": self.token_width}
        return self.alone().model_copy(update=size)

    def build(self, vocabulary: Vocabulary) -> GeneratorDiscriminator:  # type: ignore[override]
        return GeneratorDiscriminator(self, vocabulary.size)


class GeneratorDiscriminator(Network):
    reads = frozenset({"ids", "real", "segments", "tasks"})

    def __init__(self, spec: GeneratorDiscriminatorSpec, vocabulary: int):
        super().__init__()
        self.spec, self.width, self.context = spec, spec.width, spec.context
        self.discriminator = BidirectionalTransformer(spec, vocabulary)
        shared = self.discriminator.embeddings if spec.sharing == "embeddings" else None
        self.generator = (
            self.discriminator if spec.sharing == "all" else BidirectionalTransformer(spec.narrow(), vocabulary, shared)
        )

    def forward(self, inputs: Inputs, state: State = None) -> Output:
        return self.discriminator(inputs, state)

    def tables(self) -> dict[str, Tensor]:
        return self.discriminator.tables()

    def levels(self) -> list[list[nn.Parameter]]:
        return self.discriminator.levels()

    def draw(self, module: nn.Module) -> None:
        self.discriminator.draw(module)
