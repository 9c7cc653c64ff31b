"""`foreword corpus clean`, `language`, `quality`, `private` and `dedup`: single stages, without a file that names them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreword.cli.corpus_build import tell
from foreword.cli.options import Cluster, Column, Documents, Json, Out, WorkerCount

if TYPE_CHECKING:
    from foreword.basics.files import JsonObject
    from foreword.text.corpus.stage import Stage

Data = Annotated[list[Path], typer.Argument(help="Files or folders, as `foreword tokens` reads them.")]


def clean(
    data: Data,
    out: Out,
    rules: Annotated[
        list[str] | None,
        typer.Option("--rule", help="A rule, or a set: c4, gpt3, gopher, gopher_repetition. May be repeated."),
    ] = None,
    bad_words: Annotated[Path | None, typer.Option(help="Words, one to a line: a document with one goes.")] = None,
    documents: Documents = "auto",
    column: Column = "text",
    workers: WorkerCount = None,
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """Leave out lines and documents that rules call no text, and count each rule."""
    from foreword.text.stages.clean import Clean

    stage = _stage(Clean, "--rule", rules=rules or ["c4"], bad_words=str(bad_words or ""))
    tell(_built(data, out, stage, documents, column, workers, cluster), out, as_json)


def language(
    data: Data,
    out: Out,
    keep: Annotated[list[str] | None, typer.Option(help="A language wanted: en, zh, de, ... May be repeated.")] = None,
    least: Annotated[float, typer.Option(min=0.0, max=1.0, help="How sure it has to be.")] = 0.0,
    documents: Documents = "auto",
    column: Column = "text",
    workers: WorkerCount = None,
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """Note the language of every document, and keep those wanted (all, if none is named)."""
    from foreword.text.stages.language import Language

    stage = _stage(Language, "--keep", keep=keep or [], least=least)
    tell(_built(data, out, stage, documents, column, workers, cluster), out, as_json)


def quality(
    data: Data,
    out: Out,
    good: Annotated[list[Path], typer.Option(help="Text like that wanted: files or folders. May be repeated.")],
    bad: Annotated[list[Path], typer.Option(help="Text in general. May be repeated.")],
    seed: Annotated[int, typer.Option(help="Of the draw that each document is compared with.")] = 0,
    documents: Documents = "auto",
    column: Column = "text",
    workers: WorkerCount = None,
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """Keep what resembles good samples more than bad ones, as GPT-3's filter did: the higher the score, the likelier."""
    from foreword.text.stages.quality import Quality

    stage = Quality(good=list(map(str, good)), bad=list(map(str, bad)), seed=seed)
    tell(_built(data, out, stage, documents, column, workers, cluster), out, as_json)


def private(
    data: Data,
    out: Out,
    documents: Documents = "auto",
    column: Column = "text",
    workers: WorkerCount = None,
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """Put marks in the place of e-mail addresses, telephone, card, account and identity numbers, and IP addresses."""
    from foreword.text.stages.private import Private

    tell(_built(data, out, Private(), documents, column, workers, cluster), out, as_json)


def dedup(
    data: Data,
    out: Out,
    by: Annotated[
        str, typer.Option(help="What may not stand twice: documents, lines, or sentences (three in a row, as in C4).")
    ] = "documents",
    threshold: Annotated[
        float,
        typer.Option(help="From which similarity on (shared runs of five words) a text is a copy; 1: the same runs."),
    ] = 0.7,
    documents: Documents = "auto",
    column: Column = "text",
    workers: WorkerCount = None,
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """Leave out what repeats something earlier: documents, exactly or nearly, or else lines or sentences.

    Writes a folder of jsonl, which `foreword tokens` reads, and corpus.json with counts and samples.
    """
    from foreword.basics.messages import Fault, did_you_mean
    from foreword.text.dedup import check_threshold
    from foreword.text.stages.copies import Dedup
    from foreword.text.stages.repeats import Repeats

    check_threshold(threshold)
    units = ("documents", "lines", "sentences")
    if by not in units:
        raise Fault(f"--by {by}: it is one of {', '.join(units)}.{did_you_mean(by, units)}")
    stage = Dedup(threshold=threshold) if by == "documents" else Repeats(of=by)  # type: ignore[arg-type]
    tell(_built(data, out, stage, documents, column, workers, cluster), out, as_json)


def _stage(kind: type[Stage], option: str, **settings: object) -> Stage:
    from foreword.basics.messages import Fault

    made = kind(**settings)  # type: ignore[arg-type]
    for _, what in made.faults():
        raise Fault(f"{option}: {what}")
    return made


def _built(
    data: list[Path], out: Path, stage: Stage, documents: str, column: str, workers: int | None, cluster: str
) -> JsonObject:
    from foreword.basics.shards import Workers
    from foreword.text.corpus.build import build_corpus
    from foreword.text.corpus.plan import plan_for

    return build_corpus(plan_for(data, [stage], documents, column), out, Workers(workers, cluster))
