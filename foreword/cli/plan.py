"""`foreword plan`: what a training will need and how long it will take, before anything starts."""

from __future__ import annotations

from typing import Annotated

import typer

from foreword.cli.options import Device, Json, Set, Size


def plan(
    recipe: Annotated[str, typer.Argument(help="A recipe's name or file.")],
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            help="A store to train on, for epochs and its vocabulary. Several: --data web=0.6 --data books=0.4.",
        ),
    ] = None,
    size: Size = "",
    budget: Annotated[
        str | None, typer.Option(help="Steps (500), tokens (2Mtok), epochs (3epochs) or wall clock (10m).")
    ] = None,
    settings: Set = None,
    device: Device = "auto",
    precision: Annotated[
        str, typer.Option(help="auto, float32, bfloat16 or float16: in what the network multiplies.")
    ] = "auto",
    probe: Annotated[
        bool, typer.Option("--probe/--no-probe", help="Time a few seconds of work on this machine.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Say what a recipe needs: parameters, memory, work for a token, what fits, and how long its budget would take."""
    import json

    from foreword.basics.messages import Fault
    from foreword.cli.preparing import check_text, recipe_for, settings_with, weighed

    given = settings_with(settings, budget)
    chosen = recipe_for(recipe, size, given)  # first: a mistyped name need not wait for the rest to be imported
    check_text(chosen)
    from foreword.runs.plan import lines
    from foreword.runs.plan import plan as planned
    from foreword.tokens.store import TokenStore
    from foreword.tokens.vocabulary import Vocabulary
    from foreword.training.hardware import Hardware

    hardware = Hardware.choose(device, precision, "off")
    vocabulary = Vocabulary(getattr(chosen.tokenizer, "vocabulary", 256), -1, ())
    sources: dict[str, tuple[int, float]] = {}
    parts = weighed(data or [])
    for path, weight in parts:
        if not (path / "store.json").is_file():
            raise Fault(
                f"{path} is not a store: how many tokens it has is not known.",
                f"Make one:  foreword tokens {path} --out STORE",
            )
        store = TokenStore.open(path, "train")
        vocabulary = store.tokenizer.vocabulary()
        sources[str(path)] = store.tokens, weight / sum(other for _, other in parts)
    found = planned(chosen, vocabulary, hardware, sources, probe)
    if as_json:
        print(json.dumps(found))
        return
    for line in lines(found):
        print(line)
