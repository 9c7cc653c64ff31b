"""`foreword attention`: where a model looks while it reads a text, as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foreword.cli.options import Json


def attention(
    model: Annotated[str, typer.Argument(help="A run or model folder of a network with attention.")],
    text: Annotated[str, typer.Argument(help="What it reads: a text, or a source.")],
    target: Annotated[
        str, typer.Option(help="What it writes from a source. [default: what it would write]", show_default=False)
    ] = "",
    layers: Annotated[
        list[int] | None, typer.Option("--layer", help="Only this layer, from 1. May be repeated.")
    ] = None,
    heads: Annotated[
        list[int] | None, typer.Option("--head", help="This head alone, from 1; the mean of all by default.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write report.html and a picture each here.")] = None,
    as_json: Json = False,
) -> None:
    """Draw where the heads of each layer look; of a Universal Transformer also how many steps each token took."""
    from foreword.basics.files import write_text
    from foreword.basics.messages import Fault
    from foreword.cli.preparing import models_there

    models_there(model)
    from foreword.evaluate.attention_maps import pictures, report
    from foreword.model import load

    found = load(model).attention(text, target)
    most_heads, most_layers = max(len(one.weights) for one in found.maps), max(one.layer for one in found.maps)
    for name, given, most in (("layer", layers, most_layers), ("head", heads, most_heads)):
        if wrong := [number for number in given or () if not 1 <= number <= most]:
            raise Fault(f"--{name} {wrong[0]}: {model} has {name}s 1 to {most}.")
    drawn = pictures(found, layers or (), heads or ())
    made = report(model, found, drawn)
    if out:
        made.save(out)
        for name, plot in drawn.items():
            write_text(out / f"{name}.svg", plot.svg())
    made.show(as_json)
    if out and not as_json:
        print(f"{out / 'report.html'}, and {len(drawn)} pictures beside it")
