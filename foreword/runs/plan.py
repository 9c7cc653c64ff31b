"""A plan: what a training will need and how long it will take here, said before anything starts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from foreword.assembly.recipe import Recipe
from foreword.basics.budget import Budget
from foreword.basics.files import JsonObject
from foreword.basics.messages import duration, thousands
from foreword.runs.distributed import REACHED, Devices, distributed, with_fused_attention
from foreword.runs.needs import Needs, needs
from foreword.runs.pace import pace
from foreword.tokens.vocabulary import Vocabulary
from foreword.training.hardware import Hardware
from foreword.training.memory import free_memory

DAY = 86400.0


def plan(
    recipe: Recipe,
    vocabulary: Vocabulary,
    hardware: Hardware,
    sources: Mapping[str, tuple[int, float]] | None = None,
    timed: bool = True,
    devices: Devices | None = None,
) -> JsonObject:
    """Everything as plain numbers. `sources`: what is trained on, (tokens of an epoch, share of what is read) by name.

    `devices`: several processes, or devices that are not here; the plan is then made for them as well.
    """
    elsewhere = devices is not None and devices.elsewhere
    found = needs(with_fused_attention(recipe) if elsewhere else recipe, vocabulary, hardware)
    spec = recipe.training
    recompute = bool(getattr(spec, "recompute", False))
    free = free_memory(hardware.device)
    rows = {"as_it_is": found.rows_that_fit(free, recompute), "recomputed": found.rows_that_fit(free, True)}
    at_once = max(1, min(getattr(spec, "micro_batch", None) or spec.batch_size, spec.batch_size, rows["as_it_is"]))
    speed = pace(recipe, vocabulary, found, hardware) if timed and not elsewhere else None
    epoch = sum(tokens for tokens, _ in (sources or {}).values())
    return {
        "recipe": recipe.name,
        "size": recipe.size,
        "device": f"other devices, {hardware.precision}" if elsewhere else str(hardware),
        "vocabulary": vocabulary.size,
        "parameters": found.parameters,
        "memory": _memory(found, at_once, recompute, free, rows),
        "flops_per_token": {
            "all": found.flops,
            "attention": found.flops_attention,
            "recomputed": found.flops_recomputed,
        },
        "batch": {
            "rows": spec.batch_size,
            "positions": found.positions,
            "tokens": spec.batch_size * found.positions,
            "rows_at_once": at_once,
            "parts": math.ceil(spec.batch_size / at_once),
        },
        "pace": None
        if speed is None
        else {"tokens_per_second": speed.tokens_a_second, "timed": speed.how, "gflops": speed.products / 1e9},
        "budget": _budget(recipe, found, epoch, speed.tokens_a_second if speed else None, sources or {}),
        "recompute": recompute,
        "distributed": None
        if devices is None
        else _distributed(
            recipe,
            found,
            devices,
            devices.memory or free,
            speed.tokens_a_second if speed else None,
            epoch,
            sources or {},
        ),
    }


def _distributed(
    recipe: Recipe,
    found: Needs,
    devices: Devices,
    memory: float,
    pace: float | None,
    epoch: int,
    sources: Mapping[str, tuple[int, float]],
) -> JsonObject:
    """Every way of sharing, with what the budget takes."""
    spec = recipe.training
    shared = distributed(found, devices, spec.batch_size, bool(getattr(spec, "recompute", False)), memory, pace)
    for strategy in shared["ways"].values():
        ends = [spec.batch_size * found.positions / seconds for seconds in strategy["step_seconds"] or []]
        strategy["budgets"] = [_budget(recipe, found, epoch, tokens_a_second, sources) for tokens_a_second in ends]
    ramp = getattr(spec, "ramp", None)
    first = ramp.growth(spec.batch_size, found.positions).size(0) if ramp else spec.batch_size
    return shared | {"first_batch": first}


def _memory(found: Needs, at_once: int, recompute: bool, free: int, rows: dict[str, int]) -> JsonObject:
    return {
        "weights": found.weights,
        "gradients": found.gradients,
        "optimizer": found.optimizer,
        "logits": found.beside,
        "row": found.row,
        "row_recomputed": found.row_recomputed,
        "peak": found.peak(at_once, recompute),
        "free": free,
        "rows_that_fit": rows["as_it_is"],
        "rows_that_fit_recomputed": rows["recomputed"],
    }


def _budget(
    recipe: Recipe, found: Needs, epoch: int, speed: float | None, sources: Mapping[str, tuple[int, float]]
) -> JsonObject:
    """The recipe's budget in every unit that can be known."""
    budget, step = Budget.parse(recipe.training.budget), recipe.training.batch_size * found.positions
    tokens = {
        "tokens": budget.amount,
        "steps": budget.amount * step - _shorter(recipe, found),
        "epochs": budget.amount * epoch if epoch else None,
        "seconds": budget.amount * speed if speed else None,
    }[budget.unit]
    if budget.unit == "seconds" and tokens and epoch and recipe.training.passes:
        tokens = min(tokens, recipe.training.passes * epoch)
    seconds = tokens / speed if tokens and speed else budget.amount if budget.unit == "seconds" else None
    return {
        "written": budget.written,
        "tokens": tokens,
        "steps": tokens / step if tokens else None,
        "seconds": seconds,
        "flops": tokens * found.flops if tokens else None,
        "tokens_per_epoch": epoch or None,
        "sources": {
            name: {"tokens": size, "epochs": share * tokens / size if tokens else None}
            for name, (size, share) in sources.items()
        },
    }


def _shorter(recipe: Recipe, found: Needs) -> float:
    """Tokens that the first steps read less, where rows are shorter or fewer in them."""
    spec, first, less = recipe.training, 0, 0.0
    for phase, end in zip(getattr(spec, "phases", ()), spec.phase_ends() if hasattr(spec, "phase_ends") else ()):
        read = (phase.batch_size or spec.batch_size) * min(phase.length, found.positions)
        less += (end - first) * (spec.batch_size * found.positions - read)
        first = end
    return less


def lines(found: JsonObject) -> Iterator[str]:
    """A plan as a person reads it."""
    memory, batch, work = found["memory"], found["batch"], found["flops_per_token"]
    name = f"{found['recipe']} {found['size']}".strip()
    yield f"{name}: {found['parameters']:,} parameters, vocabulary {found['vocabulary']:,}, on {found['device']}"
    yield (
        f"memory   weights {_bytes(memory['weights'])}, gradients {_bytes(memory['gradients'])}, optimizer "
        f"{_bytes(memory['optimizer'])}, logits {_bytes(memory['logits'])}"
    )
    again = memory["row_recomputed"] < memory["row"]
    yield (
        f"         a row of {batch['positions']:,} tokens {_bytes(memory['row'])}"
        + f", or {_bytes(memory['row_recomputed'])} with training.recompute=true" * again
    )
    if found["distributed"] is None:
        yield f"fits     {_fits(found)}"
    yield (
        f"work     {_flops(work['all'])} a token, forward and backward, {work['attention'] / work['all']:.0%} of it "
        "attention" + f"; {_flops(work['recomputed'])} with training.recompute=true" * again
    )
    if found["distributed"] is not None:
        yield from _strategies(found["distributed"])
    yield from _times(found)


NAMES = {"alone": "device", "ddp": "DDP", "fsdp": "FSDP"}


def _strategies(shared: JsonObject) -> Iterator[str]:
    """What each process needs, by every way of sharing."""
    count, first = shared["processes"], shared["first_batch"]
    if count > 1:
        linked = f", {_bytes(shared['interconnect'])}/s between them" if shared["interconnect"] else ""
        yield f"shared   by {count:,} processes, {shared['rows']:,} rows each, {_bytes(shared['memory'])} each{linked}"
    if first % count:
        yield f"         a batch that begins with {first:,} rows cannot be: training.ramp.start must be a multiple of {count:,}"
    for name, strategy in shared["ways"].items():
        memory, seconds = strategy["memory"], strategy["seconds"]
        whole = f", whole for a moment {_bytes(memory['passing'])}" if memory["passing"] else ""
        yield (
            f"{NAMES[name]:<8} weights {_bytes(memory['weights'])}, gradients {_bytes(memory['gradients'])}, optimizer "
            f"{_bytes(memory['optimizer'])}{whole}, logits {_bytes(memory['logits'])}, program {_bytes(memory['program'])}"
        )
        yield (
            f"         activations of {shared['rows']:,} rows {_bytes(memory['activations'])}, or "
            f"{_bytes(memory['activations_recomputed'])} with training.recompute=true"
        )
        yield f"         {_fits_there(strategy, shared)}"
        sent = f", {_seconds(seconds['sending'])} at that pace" if seconds["sending"] is not None else ""
        if count > 1:
            row_by_row = "" if strategy["fits"] else "with the memory for it, and a row in each pass, "
            yield f"         {row_by_row}each process sends {_bytes(strategy['sent_each_step'])} a step{sent}"
        if strategy["step_seconds"]:
            yield f"         {_step(strategy, shared)}"


def _fits_there(strategy: JsonObject, shared: JsonObject) -> str:
    peak, there = _bytes(strategy["memory"]["peak"]), _bytes(shared["memory"])
    if not strategy["fits"]:
        more = strategy["processes_that_fit"]
        count = f"; from {more:,} processes on it fits" if more else ""
        return f"does not fit: one row, recomputed, takes {peak}, and there are {there}{count}"
    again = " with training.recompute=true" if strategy["recompute"] else ""
    if strategy["passes"] == 1:
        return f"all of them at once{again} take {peak} of {there}"
    return (
        f"{strategy['rows_at_once']:,} at once{again} take {peak} of {there}: "
        f"{strategy['passes']:,} passes a step (--auto-batch)"
    )


def _step(strategy: JsonObject, shared: JsonObject) -> str:
    computing = _seconds(strategy["seconds"]["computing"])
    how = f" at {REACHED:.0%} of {_flops(shared['speed']).replace('FLOP', 'FLOPS')}" if shared["speed"] else ""
    quick, slow = ([_seconds(each) for each in strategy["step_seconds"]] + [""])[:2]
    said = f"computing takes {computing} a step{how}"
    if strategy["seconds"]["sending"] is not None:
        said += f"; a step {quick} if all sending is hidden behind it, {slow} if none is"
    times = [_long(one["seconds"]) for one in strategy["budgets"] if one["seconds"] is not None]
    return said + (f". The budget: {' to '.join(dict.fromkeys(times))}" if times else "")


def _seconds(number: float) -> str:
    return duration(number) if number >= 60 else f"{number:.3g} s"


def _fits(found: JsonObject) -> str:
    memory, batch = found["memory"], found["batch"]
    fit, again = memory["rows_that_fit"], memory["rows_that_fit_recomputed"]
    free = f"{_bytes(memory['free'])} are free"
    if fit >= batch["rows"]:
        return f"a batch of {batch['rows']:,} rows takes {_bytes(memory['peak'])}; {free}, room for {fit:,} rows"
    if fit:
        more = f" ({again:,} with training.recompute=true)" if again > fit else ""
        return (
            f"{fit:,} rows at once{more}: {free}. --auto-batch takes a batch of {batch['rows']:,} in "
            f"{batch['parts']:,} parts, {_bytes(memory['peak'])} each"
        )
    least = memory["weights"] + memory["gradients"] + memory["optimizer"] + memory["logits"]
    if again:
        return f"not one row: {free}. With training.recompute=true {again:,} rows do"
    return (
        f"not one row, even with training.recompute=true: {_bytes(least + memory['row_recomputed'])} are needed, {free}"
    )


def _times(found: JsonObject) -> Iterator[str]:
    budget, speed = found["budget"], found["pace"]
    if speed:
        yield (
            f"pace     {_pace(speed['tokens_per_second'])} tokens/s, from {speed['timed']}; matrix product "
            f"{speed['gflops']:.0f} GFLOPS"
        )
    for name, source in budget["sources"].items():
        epochs = f"; the budget reads it {source['epochs']:.3g} times" if source["epochs"] else ""
        yield f"data     {name}: {thousands(source['tokens'])} tokens{epochs}"
    if budget["tokens"] is None:
        yield f"budget   {budget['written']}: --data says how many tokens that is"
        return
    clock = Budget.parse(budget["written"]).unit == "seconds"
    steps = f"{thousands(budget['steps'])} steps of {thousands(found['batch']['tokens'])}"
    yield (
        f"budget   {budget['written']}: {'about ' * clock}{thousands(budget['tokens'])} tokens, {steps}, "
        f"{_flops(budget['flops'])}"
    )
    if budget["seconds"] is not None and not clock and found["distributed"] is None:
        fits = found["memory"]["rows_that_fit"] or found["memory"]["rows_that_fit_recomputed"]
        yield f"time     about {_long(budget['seconds'])}{'' if fits else ', on a machine of this pace with the memory for it'}"


def _bytes(number: float) -> str:
    for size, letters in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if number >= size:
            return f"{number / size:.1f} {letters}"
    return f"{number / 1e3:.0f} kB"


def _flops(number: float) -> str:
    for size, letters in ((1e21, "ZFLOP"), (1e18, "EFLOP"), (1e15, "PFLOP"), (1e12, "TFLOP"), (1e9, "GFLOP")):
        if number >= size:
            return f"{number / size:,.1f} {letters}"
    return f"{number / 1e6:.1f} MFLOP"


def _pace(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def _long(seconds: float) -> str:
    """Hours and minutes; days from two on, years from two on."""
    if seconds >= 2 * 365.25 * DAY:
        return f"{seconds / (365.25 * DAY):,.0f} years"
    return f"{seconds / DAY:.0f} days" if seconds >= 2 * DAY else duration(seconds)
