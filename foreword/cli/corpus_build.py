"""`foreword corpus build`: sources through stages, as a TOML file says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreword.cli.options import Cluster, Json, Out, WorkerCount

if TYPE_CHECKING:
    from foreword.basics.files import JsonObject


def build(
    plan: Annotated[Path, typer.Argument(help="A TOML file with sections [[sources]] and [[stages]].")],
    out: Out,
    workers: WorkerCount = None,
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """Make a corpus: read the sources, run the stages in order, and count what each rule removed.

    Writes a folder of jsonl, which `foreword tokens` reads, with corpus.json (counts and samples) and what was removed.
    """
    from foreword.basics.shards import Workers
    from foreword.text.corpus.build import build_corpus
    from foreword.text.corpus.plan import read_plan

    tell(build_corpus(read_plan(plan), out, Workers(workers, cluster)), out, as_json)


def extract(
    data: Annotated[list[Path], typer.Argument(help="Files or folders of one kind.")],
    out: Out,
    kind: Annotated[
        str, typer.Option(help="html, warc, mediawiki, mbox, epub, pdf or text. [default: by the ending]")
    ] = "",
    workers: WorkerCount = None,
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """Take the text out of HTML, WARC and WET, MediaWiki dumps, mailboxes, EPUB or PDF. Nothing is run or fetched."""
    from foreword.basics.shards import Workers
    from foreword.text.corpus.build import build_corpus
    from foreword.text.corpus.plan import extraction

    tell(build_corpus(extraction(data, kind), out, Workers(workers, cluster)), out, as_json)


def tell(content: JsonObject, out: Path, as_json: bool) -> None:
    """What was read, what each rule did, and what is left."""
    if as_json:
        print(json.dumps(content, ensure_ascii=False))
        return
    for source in content["sources"]:
        print(f"{source['kept'][0]:>12,}  documents read from {source['name']}, {source['kept'][1]:,} bytes of text")
        _rules(source)
    for stage in content["stages"]:
        print(f"{stage['kept'][0]:>12,}  after {stage['kind']}, {stage['kept'][1]:,} bytes")
        _rules(stage)
    print(f"{content['documents']:>12,}  documents kept, {content['bytes']:,} bytes, in {out}")


def _rules(one: JsonObject) -> None:
    for what, said in (("removed", "removed"), ("changed", "parts changed")):
        for rule, count in sorted(one[what].items(), key=lambda item: -item[1]):
            print(f"{count:>12,}      {said}: {rule}")
