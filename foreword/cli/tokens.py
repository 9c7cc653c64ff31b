"""`foreword tokens`: documents -> a tokenizer and a store of ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreword.cli.options import Cluster, Column, Documents, Json, Out, WorkerCount

if TYPE_CHECKING:
    from foreword.tokens.kinds import TokenizerSpec
    from foreword.tokens.tokenizer import Tokenizer

Minimum = Annotated[
    int | None, typer.Option(help="What is seen less often becomes no token: words are unknown, pairs are not merged.")
]
Marks = Annotated[str, typer.Option(help="What to note of each token: sentence_end, word_start; or none.")]


Add = Annotated[
    int, typer.Option(min=0, help="So many new tokens for a tokenizer that is there (--tokenizer RUN), from this text.")
]
Words = Annotated[str, typer.Option(help="Note where words begin: auto, plain, jieba, spaces (`foreword marks`).")]
Data = Annotated[
    list[Path] | None,
    typer.Argument(help="Text to be split: files or folders (txt, md, jsonl, jsonl.gz, jsonl.zst, csv, parquet)."),
]
TokenizerName = Annotated[
    str, typer.Option(help="A kind to train (byte_bpe, wordpiece, ...), or a run or folder that has one.")
]
Splits = Annotated[str, typer.Option(help="Shares of train/valid/test; a document's own text decides where it goes.")]


def tokens(
    out: Out,
    data: Data = None,
    train: Annotated[list[Path] | None, typer.Option("--train", help="Instead: text that is all for training.")] = None,
    valid: Annotated[list[Path] | None, typer.Option("--valid", help="Text for validation, if there is any.")] = None,
    test: Annotated[list[Path] | None, typer.Option("--test", help="Text for the test, if there is any.")] = None,
    tokenizer: TokenizerName = "byte_bpe",
    vocabulary: Annotated[int | None, typer.Option(help="How many tokens a trained tokenizer has at most.")] = None,
    lowercase: Annotated[bool | None, typer.Option(help="Lower-case the text (kinds that can).")] = None,
    minimum: Minimum = None,
    add: Add = 0,
    documents: Documents = "auto",
    column: Column = "text",
    splits: Splits = "0.9/0.05/0.05",
    marks: Marks = "sentence_end,word_start",
    words: Words = "",
    workers: WorkerCount = None,
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """Make a tokenizer and a store of ids from text, split by share, or as it is given for --train, --valid and --test."""
    from foreword.basics.messages import Fault
    from foreword.basics.shards import Workers
    from foreword.cli.preparing import chosen_tokenizer, shares
    from foreword.tokens.build import build_store
    from foreword.tokens.units import UnitsSpec

    wanted = {"vocabulary": vocabulary, "lowercase": lowercase, "minimum": minimum}
    made = chosen_tokenizer(tokenizer, {name: value for name, value in wanted.items() if value is not None})
    names = tuple(name for name in marks.replace(" ", "").split(",") if name and name != "none")
    given = {split: some for split, some in (("train", train), ("valid", valid), ("test", test)) if some}
    if given and data:
        raise Fault(
            f"{data[0]} would be split, and --{next(iter(given))} is already a split.",
            "Give the text to be split alone, or all of it by --train, --valid and --test.",
        )
    if add:
        made = with_more_pieces(
            made, add, (list(data or []) or given.get("train", [])), documents, column, shares(splits)
        )
    facts = build_store(
        data or given,
        out,
        made,
        documents=documents,
        column=column,
        fractions=shares(splits),
        marks=names,
        workers=Workers(workers, cluster),
        units=UnitsSpec(words=words) if words else None,
    )
    if as_json:
        print(json.dumps(facts))
        return
    for split, part in facts["splits"].items():
        if not part["documents"]:
            continue
        size = f"{part['documents']:>9,} documents {part['bytes']:>14,} bytes {part['tokens']:>13,} tokens"
        print(f"{split:6} {size}  {part['bytes'] / max(part['tokens'], 1):.2f} bytes per token")
    print(f"store in {out}")


def with_more_pieces(
    made: Tokenizer | TokenizerSpec,
    pieces: int,
    paths: list[Path],
    documents: str,
    column: str,
    fractions: tuple[float, float, float],
) -> Tokenizer:
    """A tokenizer that is there, extended by what is frequent in the training text."""
    from foreword.basics.messages import Fault
    from foreword.tokens.build import extend_tokenizer
    from foreword.tokens.tokenizer import Tokenizer

    if not isinstance(made, Tokenizer):
        raise Fault("--add gives new tokens to a tokenizer that is there.", "Name it:  --tokenizer RUN, or a folder.")
    before = len(made)
    found = extend_tokenizer(made, pieces, paths, documents, column, fractions)
    print(
        f"{len(found) - before:,} new tokens: {' '.join(found.pieces(range(before, min(before + 12, len(found)))))} ..."
    )
    return found
