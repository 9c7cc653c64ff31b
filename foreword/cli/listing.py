"""`foreword list`: the recipes, networks, objectives, tokenizers and cuts there are."""

from __future__ import annotations

from typing import Annotated

import typer

from foreword.cli.options import Json


def list_(
    what: Annotated[
        str, typer.Argument(help="recipes, networks, objectives, tokenizers, cuts, tasks or studies.")
    ] = "recipes",
    as_json: Json = False,
) -> None:
    """List what there is. Tasks that can be learned say the kind: (finetune: pair)."""
    import json

    from foreword import batches, counts, networks, objectives, tokens, vectors
    from foreword.assembly.catalogue import entries, studies
    from foreword.basics.messages import Fault, did_you_mean
    from foreword.tasks import task

    if what == "recipes":
        rows = [(entry.name, entry.about, {"sizes": ", ".join(entry.sizes)}) for entry in entries()]
    else:
        tables = {
            "networks": [networks.KINDS, counts.KINDS, vectors.KINDS],
            "objectives": [objectives.KINDS, objectives.LABELLED],
            "tokenizers": [tokens.KINDS],
            "cuts": [batches.CUTS, vectors.CUTS, batches.LABELLED],
        }
        if what == "tasks":
            learned = task.learned()
            rows = [
                ("bits", "Bits per byte of whole held-out documents.", {"variants": "", "finetune": ""}),
                *(
                    (name, about, {"variants": ", ".join(variants), "finetune": learned.get(name, "")})
                    for name, about, variants in task.entries()
                ),
            ]
        elif what == "studies":
            rows = [(name, about, {"sizes": ""}) for name, about in studies()]
        elif what in tables:
            rows = [(name, table.about(name), {"sizes": ""}) for table in tables[what] for name in table.names()]
        else:
            names = ["recipes", "tasks", "studies", *tables]
            raise Fault(f"there is no list of {what!r}.{did_you_mean(what, names)} Lists: {', '.join(names)}.")
    if as_json:
        print(json.dumps([{"name": name, "about": about, **more} for name, about, more in rows]))
        return
    for name, about, more in rows:
        print(f"{name:<26} {about}" + "".join(f"  ({word}: {said})" for word, said in more.items() if said))
