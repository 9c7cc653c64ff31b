"""`foreword generate`: continue a text."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from foreword.cli.options import Json

if TYPE_CHECKING:
    from foreword.generate.batch import Continuation


def clamped(text: str) -> tuple[int, float]:
    """'123=+1.0' -> (123, 1.0)"""
    from foreword.basics.messages import Fault

    unit, _, value = text.partition("=")
    try:
        return int(unit), float(value)
    except ValueError as error:
        raise Fault(f"--clamp {text}: write UNIT=VALUE, as --clamp 123=+1.0.") from error


def generate(
    model: Annotated[str, typer.Argument(help="A run or a model folder.")],
    prompts: Annotated[
        list[str] | None, typer.Argument(help="What to continue; nothing: a document from its start.")
    ] = None,
    max_tokens: Annotated[int, typer.Option(help="At most so many tokens.")] = 100,
    min_tokens: Annotated[int, typer.Option(help="At least so many.")] = 0,
    temperature: Annotated[float, typer.Option(help="Below 1 safer, above 1 wilder; 0 always the likeliest.")] = 1.0,
    top_k: Annotated[int, typer.Option(help="Choose among the k likeliest; 0: all.")] = 0,
    top_p: Annotated[float, typer.Option(help="Choose among the likeliest that together have this probability.")] = 1.0,
    repetition_penalty: Annotated[float, typer.Option(help="Above 1: what was said becomes less likely.")] = 1.0,
    stop: Annotated[list[str] | None, typer.Option(help="Stop before this text. May be repeated.")] = None,
    n: Annotated[int, typer.Option("-n", "--n", min=1, max=10_000, help="Samples per prompt.")] = 1,
    seed: Annotated[int, typer.Option(help="The same seed gives the same text.")] = 0,
    clamp: Annotated[
        list[str] | None,
        typer.Option("--clamp", help="Recurrent networks: keep a unit at a value, as 123=+1.0. May be repeated."),
    ] = None,
    precision: Annotated[str, typer.Option(help="float32, or int8: a quarter of the memory, and quicker.")] = "float32",
    as_json: Json = False,
) -> None:
    """Continue a text with any model that reads left to right."""
    from foreword.cli.preparing import models_there

    models_there(model)
    from foreword.model import load

    held = dict(map(clamped, clamp or []))
    opened = load(model, precision)
    opened.need("generate")
    with opened.clamped(held):
        pass  # a unit that is not there is said before anything is written
    given = prompts or [""]
    live = len(given) == 1 and n == 1 and not as_json

    def stream(row: int, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    if live:
        sys.stdout.write(given[0])
    found = opened.continuations(
        given,
        n,
        stream if live else None,
        max_tokens=max_tokens,
        min_tokens=min_tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        repetition_penalty=repetition_penalty,
        stop=tuple(stop or ()),
        seed=seed,
        clamp=held,
    )
    if live:
        print()
        return
    for place, one in enumerate(found):
        show(given[place // n], one, f"{place + 1} of {len(found)}", as_json)


def show(prompt: str, one: Continuation, number: str, as_json: bool) -> None:
    if as_json:
        about = {"reason": one.reason, "tokens": len(one.ids), "log_probability": one.log_probability}
        print(json.dumps({"prompt": prompt, "text": one.text, **about, **asdict(one.pace)}, ensure_ascii=False))
    else:
        print(f"--- {number}\n{prompt}{one.text}")
