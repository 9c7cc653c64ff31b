"""`foreword list`: the recipes, networks, objectives, tokenizers and cuts there are."""

from __future__ import annotations

from typing import Annotated

import typer

from foreword.cli.options import Json


def list_(
    what: Annotated[str, typer.Argument(help="recipes, networks, objectives, tokenizers, cuts or tasks.")] = "recipes",
    as_json: Json = False,
) -> None:
    """List what there is."""
    import json

    from foreword import batches, counts, networks, objectives, tokens
    from foreword.assembly.catalogue import entries
    from foreword.basics.messages import Fault, did_you_mean
    from foreword.tasks import task

    if what == "recipes":
        rows = [(entry.name, entry.about, ", ".join(entry.sizes)) for entry in entries()]
    else:
        tables = {"networks": [networks.KINDS, counts.KINDS], "objectives": [objectives.KINDS, objectives.LABELLED],
                  "tokenizers": [tokens.KINDS], "cuts": [batches.CUTS, batches.LABELLED]}
        if what == "tasks":
            rows = [("bits", "Bits per byte of whole held-out documents.", ""),
                    *((name, about, ", ".join(variants)) for name, about, variants in task.entries())]
        elif what in tables:
            rows = [(name, table.about(name), "") for table in tables[what] for name in table.names()]
        else:
            names = ["recipes", "tasks", *tables]
            raise Fault(f"there is no list of {what!r}.{did_you_mean(what, names)} Lists: {', '.join(names)}.")
    more = "variants" if what == "tasks" else "sizes"
    if as_json:
        print(json.dumps([{"name": name, "about": about, more: sizes} for name, about, sizes in rows]))
        return
    for name, about, sizes in rows:
        print(f"{name:<26} {about}{f'  ({more}: {sizes})' if sizes else ''}")
