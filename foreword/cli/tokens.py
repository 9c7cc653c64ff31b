"""`foreword tokens`: documents -> a tokenizer and a store of ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from foreword.cli.options import Column, Documents, Json, Out


def tokens(
    data: Annotated[list[Path], typer.Argument(
        help="Text: files or folders (txt, md, jsonl, jsonl.gz, jsonl.zst, csv, parquet).")],
    out: Out,
    tokenizer: Annotated[str, typer.Option(
        help="A kind to train (byte_bpe, wordpiece, ...), or a run or folder that has one.")] = "byte_bpe",
    vocabulary: Annotated[int | None, typer.Option(help="How many tokens a trained tokenizer has at most.")] = None,
    lowercase: Annotated[bool | None, typer.Option(help="Lower-case the text (kinds that can).")] = None,
    minimum: Annotated[int | None, typer.Option(
        help="What is seen less often becomes no token: words are unknown, pairs are not merged.")] = None,
    documents: Documents = "auto",
    column: Column = "text",
    splits: Annotated[str, typer.Option(
        help="Shares of train/valid/test; a document's own text decides where it goes.")] = "0.9/0.05/0.05",
    marks: Annotated[str, typer.Option(
        help="What to note of each token: sentence_end, word_start; or none.")] = "sentence_end,word_start",
    workers: Annotated[int | None, typer.Option(help="Processes; all cores if not said.")] = None,
    as_json: Json = False,
) -> None:
    """Make a tokenizer and a store of ids from text."""
    from foreword.cli.preparing import chosen_tokenizer, shares
    from foreword.tokens.build import build_store

    wanted = {"vocabulary": vocabulary, "lowercase": lowercase, "minimum": minimum}
    made = chosen_tokenizer(tokenizer, {name: value for name, value in wanted.items() if value is not None})
    names = tuple(name for name in marks.replace(" ", "").split(",") if name and name != "none")
    facts = build_store(data, out, made, documents=documents, column=column, fractions=shares(splits), marks=names,
                        workers=workers)
    if as_json:
        print(json.dumps(facts))
        return
    for split, part in facts["splits"].items():
        per = part["bytes"] / max(part["tokens"], 1)
        print(f"{split:6} {part['documents']:>9,} documents {part['bytes']:>14,} bytes {part['tokens']:>13,} tokens  "
              f"{per:.2f} bytes per token")
    print(f"store in {out}")
