"""The short form of a corpus card, which goes with the stores and models that are made from it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from foreword.basics.files import JsonObject
from foreword.text.corpus.why import CONTENT, read_corpus


def summaries(paths: Iterable[Path]) -> list[JsonObject]:
    """Of those of these folders that `corpus build` made."""
    return [_summary(path) for path in paths if (Path(path) / CONTENT).is_file()]


def _summary(folder: Path) -> JsonObject:
    content = read_corpus(folder)
    sources = [
        {"name": one["name"], "kind": one["kind"], "licence": one["licence"], "read": one["kept"][0]}
        | {"kept": content["by_source"].get(one["name"], 0)}
        for one in content["sources"]
    ]
    stages = [{"kind": one["kind"], "read": one["read"][0], "kept": one["kept"][0]} for one in content["stages"]]
    return {key: content[key] for key in ("name", "documents", "bytes")} | {"sources": sources, "stages": stages}


def paragraph(summary: JsonObject) -> str:
    """In Markdown, for a model card."""
    sources = "; ".join(
        f"{one['name']} ({one['kind']}, licence {one['licence'] or 'not stated'}): {one['kept']:,} of {one['read']:,} documents"
        for one in summary["sources"]
    )
    stages = ", ".join(f"{one['kind']} ({one['read']:,} to {one['kept']:,})" for one in summary["stages"])
    named = f"Corpus {summary['name']}" if summary["name"] else "Corpus"
    return f"{named}: {summary['documents']:,} documents, {summary['bytes']:,} bytes. Sources: {sources}." + (
        f" Stages, with the documents before and after: {stages}." if stages else ""
    )
