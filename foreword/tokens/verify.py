"""Every number of a store against what store.json says: what opening it cannot afford, `foreword check STORE` does."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from foreword.basics.messages import Fault, Faults
from foreword.basics.progress import ticking
from foreword.tokens.store import TokenStore, read_content

PIECE = 1 << 22  # tokens that are looked at together


def verify_store(folder: Path) -> str:
    """What was checked, in a sentence; all that is damaged is told together."""
    content = read_content(folder)
    faults: list[Fault] = []
    tokens = documents = 0
    for split in [split for split, found in content["splits"].items() if found["tokens"]]:
        try:
            store = TokenStore.open(folder, split)
            assert store.tokenizer
            faults += _damaged(store)
        except Fault as fault:
            faults.append(fault)
            continue
        tokens, documents = tokens + store.tokens, documents + store.documents
    if faults:
        raise Faults(faults)
    return f"{documents:,} documents, {tokens:,} tokens; all checksums match"


def _damaged(store: TokenStore) -> Iterator[Fault]:
    counts, start = np.zeros_like(store.counts), 0
    with ticking(f"checking {store.split}") as ticker:
        for shard in store.shards:
            path, stop = store.folder / store.split / f"{shard['name']}.ids.npy", start + shard["tokens"]
            digest = hashlib.blake2b(digest_size=16)
            for at in range(start, stop, PIECE):
                ids = store.stored(at, min(at + PIECE, stop))
                digest.update(np.ascontiguousarray(ids).data)
                counts += np.bincount(ids[ids < len(counts)], minlength=len(counts))
            if digest.hexdigest() != shard["checksum"]:
                yield Fault(f"{path} is damaged: its checksum is not that of store.json.", "Make the store again.")
            start = stop
            ticker.update(start / max(store.tokens, 1), "")
    if not np.array_equal(counts, store.counts):
        path = store.folder / store.split / "counts.npy"
        yield Fault(f"{path} is damaged: its counts are not those of the ids.", "Make the store again.")
