"""A network's token table that begins with word vectors: `network.tokens_from`. Tokens without a vector stay as drawn."""

from __future__ import annotations

import numpy as np
import torch

from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault
from foreword.networks.base import Network
from foreword.tokens.tokenizer import Tokenizer
from foreword.vectors.words import WordVectors

INSIDE = "##"  # WordPiece's mark of a piece that does not begin a word


def rows_of(vectors: WordVectors, tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
    """(tokens that have a vector, its row in the table of vectors), by what each token is written as."""
    vocabulary = tokenizer.vocabulary()
    words = np.setdiff1d(np.arange(len(tokenizer)), [*vocabulary.silent, vocabulary.end, vocabulary.unknown])
    if tokenizer.fingerprint == vectors.tokenizer.fingerprint:
        known = words[vectors.known[words]]
        return known, known
    written = [tokenizer.decode([token]).strip() for token in words]
    pieces = tokenizer.pieces(words)
    found = [
        (token, row)
        for token, word, piece in zip(words.tolist(), written, pieces)
        if word and not piece.startswith(INSIDE) and (row := vectors.find(word)) is not None
    ]
    return np.array([token for token, _ in found], np.int64), np.array([row for _, row in found], np.int64)


@torch.no_grad()
def start_tokens(network: Network, tokenizer: Tokenizer, path: str) -> JsonObject:
    """Give the table the vectors at `path`, a run or a file: how many tokens have one, and how many were drawn."""
    vectors, table = WordVectors.opened(path), network.table()
    if vectors.width != table.size(1):
        raise Fault(
            f"network.tokens_from: the vectors of {path} have {vectors.width} numbers, those of the network's tokens "
            f"{table.size(1)}.",
            f"--set network.embedding={vectors.width} makes room for them (or network.width, where tokens are as wide).",
        )
    tokens, rows = rows_of(vectors, tokenizer)
    if not len(tokens):
        raise Fault(
            f"network.tokens_from: no token of {tokenizer.name} has a vector in {path}.",
            "Learn the vectors from a store with the same tokenizer, or train on a store of words.",
        )
    table[torch.from_numpy(tokens)] = torch.from_numpy(np.ascontiguousarray(vectors.table.vectors[rows])).to(table)
    return {"path": str(path), "found": len(tokens), "drawn": len(tokenizer) - len(tokens)}


def said(start: JsonObject) -> str:
    return (
        f"token vectors of {start['path']}: {start['found']:,} tokens have one, the other {start['drawn']:,} are drawn."
    )
