"""`foreword plan`: what a training will need and how long it will take, before anything starts."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from foreword.cli.options import Budget, Device, Json, Precision, Set, Size

if TYPE_CHECKING:
    from foreword.assembly.recipe import Recipe
    from foreword.tokens.vocabulary import Vocabulary
    from foreword.vectors.table import VectorTableSpec

Stores = Annotated[
    list[str] | None,
    typer.Option(
        "--data", help="A store to train on, for epochs and its vocabulary. Several: --data web=0.6 --data books=0.4."
    ),
]
PlannedProcesses = Annotated[
    int | None, typer.Option(min=1, help="Plan for so many processes, one to a device, with DDP and with FSDP.")
]


def plan(
    recipe: Annotated[str, typer.Argument(help="A recipe's name or file.")],
    data: Stores = None,
    size: Size = "",
    budget: Budget = None,
    settings: Set = None,
    device: Device = "auto",
    precision: Precision = "auto",
    processes: PlannedProcesses = None,
    device_memory: Annotated[str | None, typer.Option(help="What a device has, if not this machine: 80GB.")] = None,
    device_speed: Annotated[str | None, typer.Option(help="Its peak in that precision: 312TFLOPS.")] = None,
    interconnect: Annotated[str | None, typer.Option(help="What it can send: 100GB/s or 400Gbit/s.")] = None,
    shrink: Annotated[float | None, typer.Option(help="Plan a twin with so many times fewer parameters: 10.")] = None,
    probe: Annotated[bool, typer.Option("--probe/--no-probe", help="Time a few seconds of work here.")] = True,
    as_json: Json = False,
) -> None:
    """Say what a recipe needs: parameters, memory, work for a token, what fits, and how long its budget would take."""
    from foreword.basics.units import parse_bandwidth, parse_memory, parse_speed
    from foreword.cli.preparing import check_text, recipe_for, settings_with

    given = settings_with(settings, budget)
    chosen = recipe_for(recipe, size, given)  # first: a mistyped name need not wait for the rest to be imported
    check_text(chosen)
    memory = parse_memory(device_memory, "--device-memory") if device_memory else None
    speed = parse_speed(device_speed, "--device-speed") if device_speed else None
    linked = parse_bandwidth(interconnect, "--interconnect") if interconnect else None
    from foreword.runs.distributed import Devices, hardware_elsewhere
    from foreword.runs.plan import lines
    from foreword.runs.plan import plan as planned
    from foreword.training.hardware import Hardware
    from foreword.vectors.table import VectorTableSpec

    devices = Devices(processes or 1, memory, speed, linked)
    hardware = hardware_elsewhere(precision) if devices.elsewhere else Hardware.choose(device, precision, "off")
    vocabulary, sources, documents = stores_there(chosen, data or [])
    if isinstance(chosen.network, VectorTableSpec):
        said = table_size(chosen, chosen.network, vocabulary.size if sources else None, documents)
        print(json.dumps(said) if as_json else size_line(said))
        return
    if shrink is not None:
        from foreword.runs.shrink import shrunk

        twin = shrunk(recipe, size, given, vocabulary, shrink)
        chosen = twin.recipe
        if not as_json:
            print(twin.line())
    found = planned(
        chosen, vocabulary, hardware, sources, probe, devices if devices != Devices() or processes else None
    )
    if as_json:
        print(json.dumps(found))
        return
    for line in lines(found):
        print(line)


def stores_there(recipe: Recipe, data: list[str]) -> tuple[Vocabulary, dict[str, tuple[int, float]], int]:
    """Their vocabulary (without any, as large as the recipe makes it), tokens and weight by path, and documents in all."""
    from foreword.basics.messages import Fault
    from foreword.cli.preparing import weighed
    from foreword.tokens.store import TokenStore, is_store
    from foreword.tokens.vocabulary import Vocabulary

    vocabulary = Vocabulary(getattr(recipe.tokenizer, "vocabulary", 256), -1, ())
    sources: dict[str, tuple[int, float]] = {}
    parts, documents = weighed(data), 0
    for path, weight in parts:
        if not is_store(path):
            raise Fault(
                f"{path} is not a store: how many tokens it has is not known.",
                f"Make one:  foreword tokens {path} --out STORE",
            )
        store = TokenStore.open(path, "train")
        vocabulary, documents = store.tokenizer.vocabulary(), documents + store.documents
        sources[str(path)] = store.tokens, weight / sum(other for _, other in parts)
    return vocabulary, sources, documents


def table_size(
    recipe: Recipe, table: VectorTableSpec, words: int | None, documents: int
) -> dict[str, str | int | None]:
    """The parameters of a table of vectors: of each word, of each document, and together if their numbers are known."""
    count = partial(table.parameters, joined=getattr(recipe.objective, "joined", 1))
    return {
        "recipe": recipe.name,
        "size": recipe.size,
        "parameters": None if words is None else count(words, documents),
        "parameters_per_word": count(1, 0),
        "parameters_per_document": count(0, 1),
    }


def size_line(said: dict[str, str | int | None]) -> str:
    each, own, total = (said[f"parameters{of}"] for of in ("_per_word", "_per_document", ""))
    words = f"{each:,} parameters a word" + f" and {own:,} a document" * bool(own)
    return f"{said['recipe']}: {f'{total:,} parameters' if total else words}, 4 bytes each"
