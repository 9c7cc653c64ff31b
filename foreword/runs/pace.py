"""How fast a recipe would learn here: timed for a few seconds on the whole model, on a part of it, or on a matrix product."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from foreword.assembly.build import network_for
from foreword.assembly.recipe import Recipe
from foreword.basics.spec import of_kind
from foreword.networks.base import Inputs
from foreword.objectives.base import Batch
from foreword.parts.visible import CausalPattern, FullPattern, Pattern
from foreword.runs.needs import Needs, guessed, scores
from foreword.tokens.vocabulary import Vocabulary
from foreword.training.compiling import products_a_second
from foreword.training.gradient import GradientTraining
from foreword.training.hardware import Hardware
from foreword.training.memory import free_memory
from foreword.training.optimizers import optimizers_for

SECONDS = 3.0  # that one way of timing may take, about
REACHED = (
    0.55  # of the pace of a large matrix product: what training of 10M parameters and more reaches in our benchmarks
)
GUESSES = 256  # with which a head is timed


@dataclass(frozen=True)
class Pace:
    tokens_a_second: float
    how: str  # what was timed
    products: float  # floating-point operations a second in a large matrix product


def pace(recipe: Recipe, vocabulary: Vocabulary, needs: Needs, hardware: Hardware) -> Pace:
    """Timed on as much of the model as fits the memory and a few seconds."""
    products = products_a_second(torch.device(hardware.device))
    free, recompute = free_memory(hardware.device), _recompute(recipe)
    row = (
        needs.positions * (needs.flops_recomputed if recompute else needs.flops) / (REACHED * products)
    )  # seconds, about
    fit = needs.rows_that_fit(free, recompute)
    rows = min(recipe.training.batch_size, fit, int(SECONDS / 3 / max(row, 1e-9)))
    if rows >= 1 and "generate" in recipe.abilities():
        found = _whole(recipe, vocabulary, needs, hardware, rows)
        return Pace(found, f"steps of the model itself, {rows} row{'s' * (rows > 1)} at a time", products)
    spec = recipe.network
    if hasattr(spec, "blocks") and _part_fits(spec, vocabulary, needs, free, products):
        found = _in_parts(recipe, vocabulary, needs, hardware)
        return Pace(found, "one layer of each kind and the head, at full width", products)
    work = needs.flops_recomputed if recompute else needs.flops
    return Pace(
        REACHED * products / work, f"a matrix product, of whose pace training reaches about {REACHED:.0%}", products
    )


def _recompute(recipe: Recipe) -> bool:
    return bool(getattr(recipe.training, "recompute", False))


def _whole(recipe: Recipe, vocabulary: Vocabulary, needs: Needs, hardware: Hardware, rows: int) -> float:
    """Tokens a second of whole steps: passes of `rows` rows, and one step of the optimizer for a batch of them."""
    model = network_for(recipe, vocabulary).to(hardware.device).train()
    optimizers = optimizers_for(of_kind(recipe.training, GradientTraining).optimizer, model)
    ids = torch.randint(vocabulary.size, (rows, needs.positions + 1), device=hardware.device)
    batch = Batch(Inputs(ids[:, :-1].contiguous()), {"tokens": ids[:, 1:].contiguous()})

    def passed() -> None:
        with hardware.autocast():
            loss = recipe.objective.loss(model, batch)
        torch.stack([charge.total for charge in loss.charges.values()]).sum().div(ids.numel()).backward()

    def stepped() -> None:
        for optimizer in optimizers:
            optimizer.step()

    first = _seconds(passed, hardware, 1)
    stepped()  # its memory is made in the first step
    each = first if first > SECONDS / 3 else _seconds(passed, hardware)
    update = _seconds(stepped, hardware)
    passes = recipe.training.batch_size / rows
    return recipe.training.batch_size * needs.positions / (passes * each + update)


def _part_fits(spec: Any, vocabulary: Vocabulary, needs: Needs, free: int, products: float) -> bool:
    """One layer with a row, and then the table of tokens with a few guesses: room for them, and time."""
    width, inner = spec.width, spec.inner or 4 * spec.width
    layer = 4 * width**2 + 2 * width * inner
    kept = needs.row / spec.layers
    work = 6 * layer * needs.positions + 12 * width * scores(needs.positions, None)
    head = vocabulary.size * width
    room = max(2 * 4 * layer + 2 * kept, 2 * 4 * head + 8 * GUESSES * vocabulary.size)
    return room < 0.8 * free and max(work, 6 * head * GUESSES) / (REACHED * products) < SECONDS


def _in_parts(recipe: Recipe, vocabulary: Vocabulary, needs: Needs, hardware: Hardware) -> float:
    """Tokens a second, from the time of one layer of each kind and of the token head. The optimizer's share is left out."""
    spec: Any = recipe.network
    block = spec.model_copy(update={"layers": 1}).blocks()[0].to(hardware.device).train()
    block.recompute = _recompute(recipe)
    x = torch.randn(1, needs.positions, spec.width, device=hardware.device, requires_grad=True)
    placing = spec.positions.build(spec).to(hardware.device)
    places = torch.arange(needs.positions, device=hardware.device)

    def through(pattern: Pattern) -> Callable[[], None]:
        def passed() -> None:
            with hardware.autocast():
                where = placing.where(places, needs.positions)  # each pass: a table of biases has a gradient too
                made: Tensor = block(x, pattern, None, None, where)[0]
            made.sum().backward()

        return passed

    seen: list[Pattern] = [FullPattern()] * spec.layers
    if hasattr(spec, "visible"):
        seen = [CausalPattern().within(window) for window in spec.visible.windows(spec.layers, spec.context)]
    took = {pattern: _seconds(through(pattern), hardware) for pattern in dict.fromkeys(seen)}
    hidden = torch.randn(GUESSES, spec.width, device=hardware.device, requires_grad=True)
    table = torch.randn(vocabulary.size, spec.width, device=hardware.device, requires_grad=True)

    def guessing() -> None:
        with hardware.autocast():
            cost = F.cross_entropy(
                F.linear(hidden, table), torch.zeros(GUESSES, dtype=torch.long, device=hardware.device)
            )
        cost.backward()

    head = _seconds(guessing, hardware) * guessed(recipe) * needs.positions / GUESSES
    return needs.positions / (spec.passes * sum(took[pattern] for pattern in seen) + head)


def _seconds(work: Callable[[], object], hardware: Hardware, calls: int = 6) -> float:
    """The quickest of a few calls: the one that others disturbed least."""
    found: list[float] = []
    began = time.perf_counter()
    while not found or (len(found) < calls and time.perf_counter() - began < SECONDS / 3):
        start = time.perf_counter()
        work()
        if hardware.device.startswith("cuda"):
            torch.cuda.synchronize()
        found.append(time.perf_counter() - start)
    return min(found)
