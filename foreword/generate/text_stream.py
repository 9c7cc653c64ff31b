"""From tokens to text as they come: whole characters only, and nothing of a stop string."""

from __future__ import annotations

from collections.abc import Sequence

from foreword.tokens.tokenizer import Tokenizer

BROKEN = "\ufffd"  # what a decoder gives for half a character
NEIGHBOURS, WINDOW = 4, 16  # settled ids that are decoded again with a new one: at least, at most


class TextStream:
    """Tokens in, text out. Holds back half characters and anything that may become a stop string."""

    def __init__(self, tokenizer: Tokenizer, stop: Sequence[str] = ()):
        self.tokenizer, self.stop = tokenizer, [word for word in stop if word]
        self.ids: list[int] = []
        self.decoded = ""  # text of all ids so far
        self.given = 0  # characters of it that were given out
        self.settled = 0  # ids before this one decode the same whatever follows
        self.settled_text = ""
        self.start = 0  # ids from here on are decoded again: some decoders look at a token's neighbour
        self.before = ""  # text of those of them that are settled
        self.stopped = False

    @property
    def text(self) -> str:
        return self.decoded[: self.given]

    def add(self, token: int) -> str:
        """The text that this token completes."""
        self.ids.append(token)
        text = self.tokenizer.decode(self.ids[self.start :])
        piece = text[len(self.before) :]
        self.decoded = self.settled_text + piece
        if not piece.endswith(BROKEN):
            self._settle(len(self.ids), text)
        elif len(self.ids) - self.settled > 8:  # this is no text, but the last three may still begin a character
            self._settle(len(self.ids) - 3, self.tokenizer.decode(self.ids[self.start : -3]))
        stops = [self.decoded.find(word, max(0, self.given - len(word))) for word in self.stop]
        if found := [at for at in stops if at >= 0]:  # one token may complete several: the earliest counts
            self.decoded, self.stopped = self.decoded[: min(found)], True
        safe = len(self.decoded) if self.stopped else self._safe()
        new, self.given = self.decoded[self.given : safe], max(self.given, safe)
        return new

    def _settle(self, settled: int, text: str) -> None:
        """`text`, of the ids from `start` to `settled`, will not change any more."""
        self.settled_text += text[len(self.before) :]
        self.settled, self.before = settled, text
        if settled - self.start > WINDOW:
            self.start = settled - NEIGHBOURS
            self.before = self.tokenizer.decode(self.ids[self.start : settled])

    def _safe(self) -> int:
        """How far the text cannot change any more."""
        text = self.decoded.rstrip(BROKEN) if self.decoded.endswith(BROKEN) else self.decoded
        held = max((n for word in self.stop for n in range(1, len(word)) if text.endswith(word[:n])), default=0)
        return len(text) - held

    def close(self) -> str:
        """What was still held back: nothing more will come."""
        new, self.given = self.decoded[self.given :], len(self.decoded)
        return new
