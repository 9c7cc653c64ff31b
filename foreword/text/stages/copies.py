"""Leave out documents that repeat an earlier one, exactly or nearly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pydantic import Field

from foreword.basics.files import write_array
from foreword.text.corpus.stage import Documents, Tally, WholeStage
from foreword.text.dedup import HASHES, SignatureFiles, content_key, repeated, signatures
from foreword.text.document import in_batches

EXACT, NEAR = "exact duplicate", "near duplicate"


class Dedup(WholeStage):
    """Of documents that are alike the first is kept. Near: by MinHash signatures over runs of five words, and banding."""

    kind: str = "dedup"
    threshold: float = Field(default=0.7, gt=0, le=1)  # similarity from which on a document is a copy
    near: bool = True

    def sketch(self, documents: Documents, place: Path) -> Documents:
        keys, ids, minima = bytearray(), list[str](), [np.zeros((0, HASHES), np.uint32)]
        for batch in in_batches(documents):
            texts = [document.text for document in batch]
            keys += b"".join(map(content_key, texts))
            if self.near:
                minima.append(signatures(texts))
            for document in batch:
                ids.append(document.id)
                yield document
        write_array(place.with_suffix(".keys.npy"), np.frombuffer(bytes(keys), "S16"))
        write_array(place.with_suffix(".ids.npy"), np.asarray(ids, "S24"))
        write_array(place.with_suffix(".minima.npy"), np.concatenate(minima))

    def compare(self, places: list[Path]) -> None:
        def every(what: str) -> np.ndarray:
            return np.concatenate([np.load(place.with_suffix(f".{what}.npy")) for place in places])

        ids = every("ids")
        minima = SignatureFiles([place.with_suffix(".minima.npy") for place in places]) if self.near else None
        exact, near = repeated(every("keys"), minima, self.threshold)
        at = 0
        for place in places:
            count = len(np.load(place.with_suffix(".ids.npy"), mmap_mode="r"))
            for name, found in (("exact", exact), ("near", near)):
                like = found[at : at + count]
                write_array(place.with_suffix(f".{name}.npy"), np.where(like >= 0, ids[like], np.bytes_(b"")))
            at += count

    def run(self, documents: Documents, tally: Tally, place: Path) -> Documents:
        exact, near = (np.load(place.with_suffix(f".{name}.npy")) for name in ("exact", "near"))
        for document, same, like in zip(documents, exact.tolist(), near.tolist()):
            if same or like:
                tally.remove(EXACT if same else NEAR, document, like=(same or like).decode())
            else:
                yield document
