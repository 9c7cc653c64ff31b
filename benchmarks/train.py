"""`make bench ARGS=train`: tokens a second of a whole training step, beside others' and the machine's matrix product."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, cast

import torch

from benchmarks import limits, peers
from benchmarks.race import Times, Work, race
from benchmarks.shapes import QUICK, Shape, batch_for, counted, model_of, recipe_for, shape_called
from foreword.basics.progress import say
from foreword.tokens.tokenizer import Tokenizer
from foreword.training.gradient import GradientLearner, GradientTraining
from foreword.training.hardware import Compile, Hardware

GEMM = "matrix product"
OURS = "ours"  # what the names of our own candidates begin with
FORMULA = "MFU = (6 N + 12 L d T) x tokens/s / the best matrix product of this run; N without the table of positions"


def ours(shape: Shape, compile: Compile = "off") -> Work:
    """A step of the learner that `foreword train` uses, on a batch that is always the same."""
    recipe, batch, number = recipe_for(shape), batch_for(shape), count()
    learner = GradientLearner(
        cast(GradientTraining, recipe.training),
        model_of(shape),
        recipe.objective,
        cast(Tokenizer, None),
        Hardware(compile=compile),
    )  # the batch is collated already
    return lambda: learner.step(batch, next(number), 0.0)


def candidates(shape: Shape, compiled: bool = True) -> dict[str, Work]:
    """All who can train this shape here: ours, and others' plain and best manners."""
    found = {f"{OURS}, eager": ours(shape)}
    if compiled:
        found[f"{OURS}, compiled"] = ours(shape, "on")
    manners = {"eager": False} | ({"compiled, fused AdamW": True} if compiled else {})
    for manner, best in manners.items():
        if shape.recipe == "gpt2":
            found[f"nanoGPT, {manner}"] = peers.nanogpt(shape, best)
        if peers.there("transformers"):
            found[f"transformers, {manner}"] = peers.hugging_face(shape, best)
    return found


def measure(
    names: Sequence[str] = QUICK, rounds: int = 5, seconds: float = 1.0, compiled: bool = True
) -> dict[str, Any]:
    """Race all candidates of each shape. Results by shape."""
    return {
        "threads": torch.get_num_threads(),
        "formula": FORMULA,
        "shapes": [_raced(shape_called(name), rounds, seconds, compiled) for name in names],
    }


def _raced(shape: Shape, rounds: int, seconds: float, compiled: bool) -> dict[str, Any]:
    say(f"bench train, {shape}")
    torch.compiler.reset()  # what was compiled for another shape would make this one's code general, and slower
    product, operations = limits.matrix_product()
    peak = limits.gemm_flops()
    times = race({**candidates(shape, compiled), GEMM: product}, rounds, seconds)
    peak = max(peak, operations / times.pop(GEMM).best)
    parameters, head = counted(model_of(shape))
    cost = shape.flops_per_token(parameters, head)
    return {
        "shape": shape.name,
        "what": str(shape),
        "parameters": parameters,
        "flops_per_token": cost,
        "gemm_flops": peak,
        "candidates": {name: _figures(shape, one, cost / peak) for name, one in times.items()},
        "ratios": _ratios(times),
    }


def _figures(shape: Shape, times: Times, share: float) -> dict[str, float]:
    """`share`: of the peak, that a token a second takes."""
    best, middle = shape.tokens / times.best, shape.tokens / times.median
    return {
        "best": best,
        "median": middle,
        "mfu": best * share,
        "mfu_median": middle * share,
        "first_seconds": times.first,
    }


def _ratios(times: dict[str, Times]) -> dict[str, dict[str, float]]:
    """Our quickest manner against each of the others: by best times, and by medians."""
    mine = [one for name, one in times.items() if name.startswith(OURS)]
    return {
        name: {"best": one.best / min(own.best for own in mine), "median": one.median / min(own.median for own in mine)}
        for name, one in times.items()
        if not name.startswith(OURS)
    }


def lines(found: dict[str, Any]) -> Iterator[str]:
    for one in found["shapes"]:
        yield (
            f"{one['what']}; {one['parameters']:,} parameters without positions; "
            f"matrix product {one['gemm_flops'] / 1e9:.0f} GFLOPS with {found['threads']} threads"
        )
        for name, figures in one["candidates"].items():
            yield (
                f"  {name:42} {figures['best']:>9,.0f} tokens/s best {figures['median']:>9,.0f} median   "
                f"MFU {figures['mfu']:.2f} best {figures['mfu_median']:.2f} median   "
                f"first call {figures['first_seconds']:.1f}s"
            )
        for name, ratio in one["ratios"].items():
            yield f"  ours / {name:35} {ratio['best']:.2f}x best {ratio['median']:.2f}x median"
    yield found["formula"]
    if any(one["shape"].endswith("bert") for one in found["shapes"]):
        yield "    (of a masked model, the token head's share of N counts only for the share of positions that are guessed)"
