"""How the weights of networks other than Transformers are drawn."""

from __future__ import annotations

from typing import Any

from torch import nn

from foreword.basics.numbers import NotNegative
from foreword.basics.spec import Spec


class RecurrentInitial(Spec):
    """How weights are drawn: uniformly within `range`, or normally with `deviation`."""

    range: NotNegative | None = None
    deviation: NotNegative = 0.1
    scaled: bool = False  # or uniformly with a deviation of one over the root of what goes in; biases zero

    def draw(self, module: nn.Module) -> None:
        for part in module.modules():
            for name, weight in part.named_parameters(recurse=False):
                span = (3 / weight.size(-1)) ** 0.5 if self.scaled and weight.dim() > 1 else self.range
                if span is not None and not (self.scaled and weight.dim() == 1):
                    nn.init.uniform_(weight, -span, span)
                elif "bias" in name:
                    nn.init.zeros_(weight)
                else:
                    nn.init.normal_(weight, 0.0, self.deviation)
            if isinstance(part, nn.LayerNorm):
                part.reset_parameters()
        for part in module.modules():
            settle: Any = getattr(part, "settle", None)
            if settle is not None:
                settle()
