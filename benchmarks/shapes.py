"""The shapes that are raced: which model, how large, on which batch, and how many operations one token costs."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from foreword.assembly import loader
from foreword.assembly.build import network_for
from foreword.assembly.recipe import Recipe
from foreword.basics.messages import Fault, did_you_mean
from foreword.networks.base import Inputs, Model
from foreword.objectives.base import NOTHING, Batch
from foreword.tokens.vocabulary import Vocabulary

RATE = 1e-5  # so small that step 100 costs what step 1 does: a batch learned by heart has gradients near zero


@dataclass(frozen=True)
class Shape:
    name: str
    recipe: str
    layers: int
    width: int
    heads: int
    positions: int
    batch: int
    vocabulary: int
    rate: float = 1.0  # share of positions that are guessed

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.recipe}, {self.layers} layers x {self.width}, {self.positions} positions, "
            f"batch {self.batch}, vocabulary {self.vocabulary:,}"
        )

    @property
    def tokens(self) -> int:
        return self.batch * self.positions

    @property
    def guesses(self) -> int:
        """In one row."""
        return max(1, round(self.rate * self.positions))

    def flops_per_token(self, parameters: int, head: int) -> float:
        """6 N + 12 L d T: what a token costs forward and backward, if nothing is computed that need not be.

        `parameters` are all but the table of positions; the `head` of them (the shared table and what stands before it)
        count only for the share of positions that are guessed.
        """
        needed = parameters - head * (1 - self.guesses / self.positions)
        return 6 * needed + 12 * self.layers * self.width * self.positions


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("tiny", "gpt2", 2, 32, 2, 16, 2, 300),
        Shape("tiny-bert", "bert", 2, 32, 2, 16, 2, 300, 0.15),
        Shape("char", "gpt2", 4, 128, 4, 64, 12, 65),
        Shape("10m", "gpt2", 6, 384, 6, 256, 8, 8192),
        Shape("10m-50k", "gpt2", 6, 384, 6, 256, 8, 50304),
        Shape("124m", "gpt2", 12, 768, 12, 512, 2, 50257),
        Shape("bert", "bert", 6, 384, 6, 128, 32, 30522, 0.15),
    )
}
QUICK = ("char", "10m")
ALL = tuple(name for name in SHAPES if not name.startswith("tiny"))  # those say only that everything works


def shape_called(name: str) -> Shape:
    if name not in SHAPES:
        raise Fault(f"no shape is called {name!r}.{did_you_mean(name, SHAPES)}", f"Shapes: {', '.join(SHAPES)}.")
    return SHAPES[name]


def recipe_for(shape: Shape, context: int | None = None) -> Recipe:
    """The published recipe in this shape, without dropout, at a rate that leaves the weights where they are."""
    settings = [
        f"network.layers={shape.layers}",
        f"network.width={shape.width}",
        f"network.heads={shape.heads}",
        f"network.context={context or shape.positions}",
        f"tokenizer.vocabulary={max(shape.vocabulary, 257)}",
        "network.dropout={ table = 0.0, embeddings = 0.0, attention = 0.0, residual = 0.0 }",
        f"training.batch_size={shape.batch}",
        f"training.optimizer.learning_rate={RATE}",
        'training.schedule={ kind = "constant" }',
    ]
    if shape.recipe == "bert":
        settings += ['objective={ kind = "masked" }']
    return loader.load(shape.recipe, "", settings)


def model_of(shape: Shape, context: int | None = None) -> Model:
    torch.manual_seed(0)
    return network_for(recipe_for(shape, context), Vocabulary(shape.vocabulary, -1, ()))


def counted(model: Model) -> tuple[int, int]:
    """(parameters without the table of positions, those of them in the token head with the table it shares)"""
    positions = model.network.get_parameter("embeddings.positions.weight").numel()
    return model.parameter_count() - positions, sum(
        parameter.numel() for parameter in model.heads["tokens"].parameters()
    )


def batch_for(shape: Shape) -> Batch:
    """Random ids, the same at every call. A causal network guesses the next one everywhere, a masked one some of them."""
    draw = torch.Generator().manual_seed(0)
    ids = torch.randint(shape.vocabulary, (shape.batch, shape.positions + 1), generator=draw)
    if shape.rate == 1.0:
        return Batch(Inputs(ids[:, :-1].contiguous()), {"tokens": ids[:, 1:].contiguous()})
    ids = ids[:, :-1].contiguous()
    targets = torch.full_like(ids, NOTHING)
    for row, target in zip(ids, targets):
        places = torch.randperm(shape.positions, generator=draw)[: shape.guesses]
        target[places] = row[places]
    return Batch(Inputs(ids, segments=torch.zeros_like(ids)), {"tokens": targets})
