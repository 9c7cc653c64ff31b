"""`make bench ARGS=processes`: one process with all threads, one process to a core, and the same with the weights shared out.

The limit is what two processes read that train a model each, with half of the batch and one thread, and never speak to each
other. All take turns in the same processes. Goal: 0.9 of that limit for every shape; the messages of a step, sent alone, say what
bounds it otherwise.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from statistics import median
from typing import Any, cast

import torch

from benchmarks.shapes import batch_for, model_of, recipe_for, shape_called
from foreword.basics.progress import say, silence
from foreword.runs.distributed import sharded
from foreword.runs.needs import needs
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.vocabulary import Vocabulary
from foreword.training.gradient import GradientLearner, GradientTraining
from foreword.training.hardware import Hardware
from foreword.training.processes import call_on_ranks, join
from foreword.training.ranks import Ranks, Replicas, Shards

SHAPES = ("char", "10m", "124m")
PROCESSES = 2
ALONE, LIMIT, REPLICAS, SHARDS = (
    "1 process x 2 threads",
    "2 runs x 1 thread, no word",
    "2 processes x 1",
    "2 x 1, sharded",
)
MESSAGES, SMALL = "messages", 2  # small ones in a step: the guesses, the losses


def step_of(name: str, ranks: Ranks, share: int) -> Callable[[], object]:
    """A step on this rank's share of the batch; `share`: of so many."""
    shape = shape_called(name)
    recipe, batch, number = recipe_for(shape), batch_for(shape), count()
    rows = max(1, shape.batch // share)
    learner = GradientLearner(
        cast(GradientTraining, recipe.training),
        model_of(shape),
        recipe.objective,
        cast(Tokenizer, None),
        Hardware(ranks=ranks),
    )
    part = batch.rows(ranks.rank * rows, (ranks.rank + 1) * rows) if ranks.world > 1 else batch.rows(0, rows)
    return lambda: learner.step(part, next(number), 0.0)


def messages(name: str, ranks: Replicas) -> Callable[[], object]:
    """What two processes say to each other in a step, without the step: a few numbers, and all gradients at once."""
    gradients = torch.zeros(model_of(shape_called(name)).parameter_count())

    def send() -> None:
        for _ in range(SMALL):
            ranks.sum(torch.zeros(2))
        ranks.dist.all_reduce(gradients)

    return send


def on_rank(name: str, rounds: int, seconds: float) -> dict[str, list[float]]:
    """Seconds of a step in each round, by candidate; the slowest rank counts."""
    silence()
    ranks = cast(Replicas, join())
    shards = Shards(ranks.rank, ranks.world, ranks.neighbours)
    candidates = {
        ALONE: (step_of(name, Ranks(), 1), PROCESSES),
        LIMIT: (step_of(name, Ranks(), PROCESSES), 1),
        REPLICAS: (step_of(name, ranks, PROCESSES), 1),
        SHARDS: (step_of(name, shards, PROCESSES), 1),
        MESSAGES: (messages(name, ranks), 1),
    }
    found: dict[str, list[float]] = {one: [] for one in candidates}
    steps = 1
    for turn in range(rounds + 1):
        for one, (step, threads) in candidates.items():
            torch.set_num_threads(threads)
            ranks.least(0)  # all begin at once
            took = timed(step, steps) if one != ALONE or ranks.rank == 0 else 0.0
            found[one].append(-ranks.least(-round(took * 1e9)) / 1e9)
        if turn == 0:  # it warms up, and says how many steps a turn takes
            steps, found = max(2, round(seconds / found[ALONE][0])), {one: [] for one in candidates}
    return found


def timed(step: Callable[[], object], steps: int) -> float:
    """Seconds of a step, the mean of so many."""
    step()
    began = time.perf_counter()
    for _ in range(steps):
        step()
    return (time.perf_counter() - began) / steps


def sharded_memory(name: str) -> int:
    """Bytes that a process of two has needed at most, when it has taken a few sharded steps."""
    silence()
    ranks = join()
    step = step_of(name, Shards(ranks.rank, ranks.world, ranks.neighbours), PROCESSES)
    for _ in range(3):
        step()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(names: Sequence[str] = SHAPES, rounds: int = 5, seconds: float = 2.0) -> dict[str, Any]:
    found = []
    for name in names:
        say(f"bench processes, {shape_called(name)}")
        times = call_on_ranks(PROCESSES, on_rank, name, rounds, seconds)[0]
        memory = max(call_on_ranks(PROCESSES, sharded_memory, name))
        found.append({"shape": name, "times": times, "memory": memory, "predicted": predicted(name)})
    return {"shapes": found}


def predicted(name: str) -> float:
    """The peak of a sharded process, as `foreword plan --processes 2` has it."""
    shape = shape_called(name)
    found = needs(recipe_for(shape), Vocabulary(shape.vocabulary, -1, ()), Hardware())
    return sharded(found, PROCESSES).peak(max(1, shape.batch // PROCESSES), found.row)


def lines(found: dict[str, Any]) -> Iterator[str]:
    for one in found["shapes"]:
        shape, times = shape_called(one["shape"]), one["times"]
        yield str(shape)
        sending = median(times.pop(MESSAGES))
        rates = {name: (shape.tokens / min(all_), shape.tokens / median(all_)) for name, all_ in times.items()}
        for name, (best, middle) in rates.items():
            limit, middle_limit = rates[LIMIT]
            silent = "" if name in (ALONE, LIMIT) else f"; {1 - best / limit:4.0%} of the time in communication"
            yield (
                f"  {name:28} {best:9,.0f} tokens/s best, {middle:9,.0f} median; "
                f"{best / limit:.2f}, {middle / middle_limit:.2f} of the limit{silent}"
            )
        yield (
            f"  messages of a step, alone    {1e3 * sending:9,.1f} ms, {sending / median(times[REPLICAS]):4.0%} of a step of "
            f"{1e3 * median(times[REPLICAS]):,.1f} ms: {SMALL} small ones, and all gradients at once"
        )
        yield f"  memory of a sharded process   {one['memory'] / 1e6:9,.0f} MB, planned {one['predicted'] / 1e6:,.0f} MB"


def report() -> str:
    return "\n".join(lines(measure()))
