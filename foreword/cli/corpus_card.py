"""`foreword corpus card`, `why` and `diff`: what a corpus holds, why a document is in it or not, how two differ."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foreword.cli.options import Json

Corpus = Annotated[Path, typer.Argument(help="A folder that `foreword corpus build` made.")]
MATCHES = 5


def card(corpus: Corpus, as_json: Json = False) -> None:
    """Say what a corpus holds and what each stage removed, and write the page report.html into its folder."""
    from foreword.basics.progress import say
    from foreword.cli.corpus_report import report
    from foreword.text.corpus.why import read_corpus

    content = read_corpus(corpus)
    made = report(content, corpus.name)
    made.show(as_json)
    say(f"page: {made.save(corpus)}")


def why(
    corpus: Corpus,
    document: Annotated[str, typer.Argument(help="Its id, its address, its file, or some of its words.")],
    as_json: Json = False,
) -> None:
    """Say why a document was kept or removed."""
    import json

    from foreword.text.corpus.why import find, sentence

    found = find(corpus, document)
    if as_json:
        print(json.dumps([{"kept": kept, **row} for kept, row in found], ensure_ascii=False))
        return
    for kept, row in found[:MATCHES]:
        print(sentence(kept, row))
        text = row.get("text") or row.get("begins") or " ".join(row.get("turns", ()))
        print(f"    {' '.join(text.split())[:160]}")
    if len(found) > MATCHES:
        print(f"... and {len(found) - MATCHES:,} more")


def diff(first: Corpus, second: Corpus, as_json: Json = False) -> None:
    """Say how two corpora differ: sizes, documents in both, and the words that tell them apart."""
    from foreword.report import Report, Section, Table
    from foreword.text.corpus.compare import difference
    from foreword.text.corpus.why import read_corpus

    contents, found = [read_corpus(folder) for folder in (first, second)], difference(first, second)
    rows: list[tuple[str, ...]] = [("", str(first), str(second))]
    rows += [(what, *(f"{one[what]:,}" for one in contents)) for what in ("documents", "bytes", "words")]
    for what in ("by_source", "languages"):
        for name in sorted({name for one in contents for name in one[what]}):
            label = name if what == "languages" else f"from {name}"
            rows.append((label, *(f"{one[what].get(name, 0):,}" for one in contents)))
    rows.append(("stages", *(", ".join(stage["kind"] for stage in one["stages"]) or "none" for one in contents)))
    notes = [f"{found.shared:,} documents are in both, to the letter."]
    notes += [
        f"{folder} has more of: {', '.join(some)}"
        for folder, some in ((first, found.first), (second, found.second))
        if some
    ]
    values = {"shared": found.shared, "words": {"first": found.first, "second": found.second}, "rows": rows}
    Report("Two corpora", notes, [Section("Sizes", Table(rows))], values).show(as_json)
