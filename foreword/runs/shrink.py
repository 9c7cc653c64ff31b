"""A recipe's smaller twin: the same proportions with a share of the parameters, to try things on before the large run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foreword.assembly import loader
from foreword.assembly.build import shape_of
from foreword.assembly.recipe import Recipe
from foreword.basics.messages import Fault, thousands
from foreword.tokens.vocabulary import Vocabulary


@dataclass(frozen=True)
class Twin:
    """`settings` as --set takes them."""

    recipe: Recipe
    settings: tuple[str, ...]
    parameters: int
    whole: int  # parameters of the other

    def line(self) -> str:
        said = " ".join(f"--set {one}" for one in self.settings)
        share = self.whole / self.parameters
        return f"twin: {thousands(self.parameters)} parameters, {share:.1f} times fewer than {thousands(self.whole)}: {said}"


def shrunk(name: str, size: str, given: list[str], vocabulary: Vocabulary, factor: float) -> Twin:
    """Layers, heads and width by the same share; the width then so that the parameters fit best."""
    recipe = loader.load(name, size, given)
    network: Any = recipe.network
    if factor <= 1:
        raise Fault(f"--shrink {factor:g}: the twin would not be smaller.", "Give a number above 1: --shrink 10")
    if not all(hasattr(network, one) for one in ("layers", "width", "heads")):
        raise Fault(f"--shrink: {recipe.name} has no layers, width and heads to be fewer of.")
    whole = _parameters(recipe, vocabulary)
    share = factor ** (-1 / 3)  # a Transformer's parameters grow with layers x width x width
    layers, heads = (max(1, round(getattr(network, one) * share)) for one in ("layers", "heads"))
    step = 2 * heads  # rotary turns pairs

    def twin(steps: int) -> Twin:
        width = steps * step
        settings = [f"network.layers={layers}", f"network.width={width}", f"network.heads={heads}"]
        if inner := getattr(network, "inner", None):
            settings.append(f"network.inner={max(1, round(inner * width / network.width))}")
        smaller = loader.load(name, size, [*given, *settings])
        return Twin(smaller, tuple(settings), _parameters(smaller, vocabulary), whole)

    low, high = 1, max(1, network.width // step)
    while high - low > 1:  # parameters grow with the width
        middle = (low + high) // 2
        low, high = (middle, high) if twin(middle).parameters <= whole / factor else (low, middle)
    found = min((twin(low), twin(high)), key=lambda one: abs(one.parameters - whole / factor))
    if found.parameters > 1.5 * whole / factor:
        raise Fault(
            f"--shrink {factor:g}: the narrowest twin still has {thousands(found.parameters)} of {thousands(whole)} parameters.",
            "Most are in the table of tokens: a smaller one too, --set tokenizer.vocabulary=4096",
        )
    return found


def _parameters(recipe: Recipe, vocabulary: Vocabulary) -> int:
    return shape_of(recipe, vocabulary).parameter_count()
