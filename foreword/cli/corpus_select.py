"""`foreword corpus select`: of much text, that which resembles a sample."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foreword.cli.options import Column, Documents, Json, Out


def select(
    data: Annotated[list[Path], typer.Argument(help="Text to choose from: files or folders.")],
    like: Annotated[list[Path], typer.Option("--like", help="A sample of the text wanted. May be repeated.")],
    out: Out,
    keep: Annotated[float, typer.Option(min=0.0, max=1.0, help="The share of the text's words to keep.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Draws the text in general that the sample is compared with.")] = 0,
    documents: Documents = "auto",
    column: Column = "text",
    as_json: Json = False,
) -> None:
    """Write the documents that resemble a sample most, as jsonl: the likelier ones under a model of the sample than under one
    of text in general, word for word (Moore and Lewis 2010)."""
    import json

    import numpy as np

    from foreword.basics.files import write_text
    from foreword.counts.selection import resemblance
    from foreword.report import Report, Section, Table
    from foreword.text import reading

    texts = [one.text for one in reading.documents(data, documents=documents, column=column)]
    sample = [one.text for one in reading.documents(like, documents=documents, column=column)]
    scores = resemblance(sample, texts, seed)
    order = np.argsort(-scores, kind="stable")
    words = np.array([len(text.split()) for text in texts])
    kept = order[np.cumsum(words[order]) <= keep * words.sum()]
    chosen = np.sort(kept)  # in the order of the text
    lines = [
        json.dumps({"text": texts[at], "resemblance": round(float(scores[at]), 4)}, ensure_ascii=False) + "\n"
        for at in chosen
    ]
    write_text(out, "".join(lines))
    least = float(scores[kept[-1]]) if len(kept) else None
    head = ("", "documents", "words", "resemblance")
    rows = [
        ("all", f"{len(texts):,}", f"{words.sum():,}", f"{scores.mean():.3f}"),
        ("kept", f"{len(kept):,}", f"{words[kept].sum():,}", f"{scores[kept].mean():.3f}" if len(kept) else ""),
    ]
    found = {
        "documents": len(texts),
        "kept": len(kept),
        "words": int(words[kept].sum()),
        "least": least,
        "out": str(out),
    }
    table = Table([head, *rows], caption="nats per word by which a text is likelier as part of the sample")
    Report("Selection", [], [Section("Selection", table)], found).show(as_json)
