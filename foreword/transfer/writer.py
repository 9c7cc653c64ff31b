"""Texts to sequences that fit: what is too long is cut so that every special stays, and what was cut is counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from foreword.basics.messages import Fault
from foreword.batches.encoded import Laid
from foreword.batches.examples import Examples
from foreword.tokens.tokenizer import Tokenizer
from foreword.transfer.ways import Way

Pieces = tuple[np.ndarray, np.ndarray]        # ids, and the characters [ids, 2] each stands for


class Writer:
    def __init__(self, way: Way, tokenizer: Tokenizer, cut: Examples):
        self.way, self.tokenizer, self.cut = way, tokenizer, cut
        self.length = cut.length or 0
        if self.room(2) < 2:
            raise Fault(f"a length of {self.length} leaves no room for two texts and the {way.specials(2)} specials around them.",
                        "Give a longer one: --set batches.length=...")
        self.known: dict[str, Pieces] = {}
        self.shortened: dict[str, int] = {}        # texts, and how many tokens of each are not read

    def room(self, texts: int) -> int:
        """Tokens that so many texts may have together."""
        return self.length - self.way.specials(texts)

    def learn(self, texts: Iterable[str]) -> None:
        """Tokenise many texts in one call."""
        new = list(dict.fromkeys(text for text in texts if text not in self.known))
        self.known |= dict(zip(new, self.tokenizer.encode_with_offsets(new))) if new else {}

    def pieces(self, text: str) -> Pieces:
        if text not in self.known:
            self.learn([text])
        return self.known[text]

    def lay(self, texts: Sequence[np.ndarray]) -> Laid:
        return self.way.lay(texts, self.tokenizer)

    def write(self, *texts: str) -> Laid:
        """One or two texts, shortened to fit: of two, the longer first."""
        ids = [self.pieces(text)[0] for text in texts]
        kept = shares([len(one) for one in ids], self.room(len(texts)))
        for text, one, length in zip(texts, ids, kept):
            self.shorten(text, len(one), length)
        return self.lay([self._end(one, length) for one, length in zip(ids, kept)])

    def shorten(self, text: str, tokens: int, kept: int) -> None:
        """Count what is not read of a text; where all of it must be, say so."""
        if tokens > kept and self.cut.keep == "all":
            raise Fault(f"this text has {tokens:,} tokens, of which {kept:,} fit: {text[:60]!r} ...",
                        "--set batches.keep=head or tail reads one end of it; batches.windows=true all of it, part by part.")
        if tokens > kept:
            self.shortened[text] = max(tokens - kept, self.shortened.get(text, 0))

    def _end(self, ids: np.ndarray, length: int) -> np.ndarray:
        return ids[len(ids) - length:] if self.cut.keep == "tail" else ids[:length]

    def windows(self, ids: np.ndarray, size: int, stride: int) -> list[int]:
        """Where windows of this size begin, so that together they hold everything."""
        return [0, *range(stride, max(len(ids) - size + stride, 1), stride)] if len(ids) > size else [0]

    def told(self) -> str:
        """A sentence about what was cut, or nothing."""
        if not self.shortened:
            return ""
        end = "last" if self.cut.keep == "tail" else "first"
        return (f"{len(self.shortened):,} texts did not fit {self.length} tokens: only their {end} part is read, "
                f"{sum(self.shortened.values()):,} tokens are not.")


def shares(lengths: Sequence[int], room: int) -> list[int]:
    """What is left of each when the longest is shortened, a token at a time, until all fit."""
    if sum(lengths) <= room:
        return list(lengths)
    level = next(level for level in range(room, -1, -1) if sum(min(length, level) for length in lengths) <= room)
    kept = [min(length, level) for length in lengths]
    spare = [place for place, length in enumerate(lengths) if length > level]
    for place in spare[: room - sum(kept)]:
        kept[place] += 1
    return kept
