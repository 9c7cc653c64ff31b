"""`foreword corpus links`: the addresses that WebText's rules choose from Reddit's submissions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from foreword.cli.options import Cluster, Json, Out, WorkerCount


def links(
    files: Annotated[list[Path], typer.Argument(help="Files of submissions (RS_...): plain, .zst or .gz.")],
    out: Out,
    karma: Annotated[int, typer.Option(help="The least score.")] = 3,
    before: Annotated[str, typer.Option(help="A date: later submissions are left out.")] = "2017-12-01",
    without: Annotated[
        list[str] | None, typer.Option(help="A host to leave out, and all below it. [default: wikipedia.org]")
    ] = None,
    workers: WorkerCount = None,
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """Write the addresses that submissions link to, one to a line. Nothing is downloaded.

    Give the list to a source of pages:  addresses = "links.txt"
    """
    from foreword.basics.shards import Workers
    from foreword.text.links import LinkRules, collect_links

    rules = LinkRules(karma, before, tuple(without or ("wikipedia.org",)))
    found = collect_links(files, out, rules, Workers(workers, cluster))
    if as_json:
        print(json.dumps(found, ensure_ascii=False))
        return
    print(f"{found['submissions']:>12,}  submissions read")
    for rule, count in found["removed"].items():
        print(f"{count:>12,}      removed: {rule}")
    print(f"{found['links']:>12,}  addresses in {out}")
