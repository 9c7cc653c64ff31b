"""What a recipe needs before anything is built: parameters, memory and work, for any size, without allocating it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn

from foreword.assembly.build import allotted, shape_of
from foreword.assembly.recipe import Recipe
from foreword.basics.messages import Fault
from foreword.basics.spec import of_kind
from foreword.networks.base import Inputs, Model
from foreword.parts.block import layers
from foreword.parts.block_attention import BlockLayout
from foreword.parts.ngrams import numbers_by_rows, row_tables
from foreword.parts.visible import Window
from foreword.tokens.vocabulary import Vocabulary
from foreword.training.gradient import GradientTraining
from foreword.training.hardware import Hardware
from foreword.training.memory import BACKWARD, kept_for_backward, rows_that_fit

LOGITS = 256  # guesses whose logits exist at one time, about (parts/cross_entropy.py)


@dataclass(frozen=True)
class Layout:
    """What sharing a model out has to know of it. A share is cut along the first dimension of every parameter."""

    parameters: tuple[tuple[int, int], ...]  # of each: its first dimension, and the bytes of one entry of that
    block: int  # bytes of the largest block
    outside: int  # of all that is in no block: tables, heads, the last norm
    stepping: tuple[int, ...]  # of each group of parameters that the optimizer takes whole

    @property
    def largest(self) -> int:
        """Bytes of the largest parameter."""
        return max(length * each for length, each in self.parameters)

    def shard(self, processes: int, rank: int = 0) -> int:
        """Bytes of the weights that a rank holds: as torch cuts them, and so rank 0 has the most."""
        parts = ((length, -(-length // processes), each) for length, each in self.parameters)
        return sum(max(0, min(part, length - rank * part)) * each for length, part, each in parts)


@dataclass(frozen=True)
class Needs:
    """Bytes, and floating-point operations. A row is what the network reads at once; a batch has many."""

    parameters: int
    positions: int  # in a row
    weights: int
    gradients: int
    optimizer: int
    row: int  # kept of one row on the way forward, for the way back
    row_recomputed: int  # the same, if blocks are computed again (training.recompute)
    beside: int  # held whatever the number of rows: the logits of a piece of the guesses
    flops: float  # for a token, forward and backward
    flops_attention: float  # that part of it which is queries meeting keys and values
    flops_recomputed: float  # all of it, if blocks are computed again
    layout: Layout

    @property
    def fixed(self) -> int:
        return self.weights + self.gradients + self.optimizer + self.beside

    def rows_that_fit(self, free: int, recompute: bool) -> int:
        """As the learner will find, before the weights are there."""
        return rows_that_fit(free, self.fixed, self.row_recomputed if recompute else self.row)

    def peak(self, rows: int, recompute: bool) -> int:
        """Bytes at the fullest moment of a step that takes so many rows at once, beside what the program itself takes."""
        return self.fixed + int(BACKWARD * rows * (self.row_recomputed if recompute else self.row))


def needs(recipe: Recipe, vocabulary: Vocabulary, hardware: Hardware) -> Needs:
    """Counted on tensors that have shapes and no numbers: 175 billion parameters take a second."""
    if recipe.head is None:
        raise Fault(
            f"{recipe.name} counts; it has nothing to plan.", "It reads the text once, and takes no longer than that."
        )
    shape = shape_of(recipe, vocabulary)
    with _shapes_only():
        model = allotted(shape, hardware.device).train()
        one, two = (_kept(model, recipe, rows, hardware) for rows in (1, 2))
        count = model.parameter_count()
        size = next(model.parameters()).element_size()
        blocks, positions = layers(model), positions_in(recipe)
        row = two - one
        entering = positions * model.network.width * size
        flops, attention = flops_of(recipe, model)
        return Needs(
            parameters=count,
            positions=positions,
            weights=count * size,
            gradients=(count - numbers_by_rows(model)) * size,  # of tables that learn by rows, those of a row are in it
            optimizer=remembered(recipe, model, vocabulary) * size,
            row=row,
            row_recomputed=len(blocks) * entering + row // max(len(blocks), 1) if blocks else row,
            beside=LOGITS * vocabulary.size * size,
            flops=flops,
            flops_attention=attention,
            flops_recomputed=flops + (attention + 6 * matrices(model.network)) / 3 if blocks else flops,
            layout=layout_of(recipe, model),
        )


def remembered(recipe: Recipe, model: Model, vocabulary: Vocabulary) -> int:
    """Numbers that the optimizers keep: of a table that learns by rows, one for each."""
    optimizer, tables = recipe.training.optimizer, row_tables(model)  # type: ignore[attr-defined]
    if not tables:
        return optimizer.remembers(model)
    without = recipe.model_copy(update={"network": recipe.network.model_copy(update={"ngrams": None})})
    return optimizer.remembers(shape_of(without, vocabulary)) + sum(table.num_embeddings for table in tables)


def layout_of(recipe: Recipe, model: Model) -> Layout:
    size = next(model.parameters()).element_size()
    blocks = [{p: p.numel() * size for p in block.parameters()} for block in layers(model)]
    inside = sum({parameter: number for block in blocks for parameter, number in block.items()}.values())
    spec = of_kind(recipe.training, GradientTraining)
    return Layout(
        tuple((len(torch.atleast_1d(p)), p.numel() // len(torch.atleast_1d(p)) * size) for p in model.parameters()),
        max((sum(block.values()) for block in blocks), default=0),
        model.parameter_count() * size - inside,
        tuple(numbers * size for numbers in spec.optimizer.needs_whole(model)),
    )


def positions_in(recipe: Recipe) -> int:
    """What the network reads of one row."""
    return recipe.batches.length or 0


def flops_of(recipe: Recipe, model: Model) -> tuple[float, float]:
    """(all, attention's part) of what one token costs, forward and backward.

    Six for every number of a matrix that meets a token: two forward, four back. The token head meets only what is guessed.
    And 12 x width for each key that a query meets, seen or not: a mask hides scores that are computed all the same.
    """
    positions = positions_in(recipe)
    table = sum(p.numel() for p in model.heads["tokens"].parameters() if p.dim() > 1)
    if blocks := layers(model):
        windows = getattr(model.network, "windows", [None] * len(blocks))
        attention = 12 * model.network.width * sum(scores(positions, window) for window in windows) / positions
        again = getattr(recipe.network, "passes", 1) - 1  # blocks that are gone through once more each time
        attention *= again + 1
        inside = again * sum(matrices(block) for block in blocks)
        return 6 * (matrices(model.network) + inside + guessed(recipe) * table) + attention, attention
    return 6 * (matrices(model.network) + guessed(recipe) * table), 0.0


def matrices(network: nn.Module) -> int:
    """Numbers in all matrices that multiply; a table is looked up."""
    tables = {id(part.weight) for part in network.modules() if isinstance(part, nn.Embedding)}
    return sum(p.numel() for p in network.parameters() if p.dim() > 1 and id(p) not in tables)


def scores(positions: int, window: Window) -> int:
    """Pairs of a query and a key whose score is computed in a row: all, or block by block in a band (parts/visible.py)."""
    if isinstance(window, BlockLayout):
        return int(window.tied.sum()) * window.block**2
    if window is None or window >= positions:
        return positions**2
    return window**2 + 2 * window**2 * -(-(positions - window) // window)


def guessed(recipe: Recipe) -> float:
    """The share of positions that are guessed."""
    parts: list[object] = getattr(recipe.objective, "parts", [recipe.objective])
    return next((part.rate for part in parts if hasattr(part, "rate")), 1.0)


@contextmanager
def _shapes_only() -> Iterator[None]:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode(allow_non_fake_inputs=True):
        yield


def _kept(model: Model, recipe: Recipe, rows: int, hardware: Hardware) -> int:
    """Bytes that a forward pass of the network keeps for the way back, beside the weights."""
    ids = torch.zeros(rows, positions_in(recipe), dtype=torch.long, device=hardware.device)
    with kept_for_backward(model.parameters()) as kept, hardware.autocast():
        last = model.network(Inputs(ids, source=ids if "source" in model.network.reads else None)).last
    # the head reads the last vectors, and makes their slopes on the way
    return kept.bytes + 2 * last.untyped_storage().nbytes()
