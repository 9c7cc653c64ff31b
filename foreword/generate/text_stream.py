"""From tokens to text as they come: whole characters only, and nothing of a stop string."""

from __future__ import annotations

from collections.abc import Sequence

from foreword.tokens.tokenizer import Tokenizer

BROKEN = "\ufffd"  # what a decoder gives for half a character


class TextStream:
    """Tokens in, text out. Holds back half characters and anything that may become a stop string."""

    def __init__(self, tokenizer: Tokenizer, stop: Sequence[str] = ()):
        self.tokenizer, self.stop = tokenizer, [word for word in stop if word]
        self.ids: list[int] = []
        self.decoded = ""  # text of all ids so far
        self.given = 0  # characters of it that were given out
        self.settled = 0  # ids before this one decode the same whatever follows
        self.settled_text = ""
        self.stopped = False

    @property
    def text(self) -> str:
        return self.decoded[: self.given]

    def add(self, token: int) -> str:
        """The text that this token completes."""
        self.ids.append(token)
        context = self.ids[max(0, self.settled - 4) : self.settled]  # some decoders look at a token's neighbour
        before = self.tokenizer.decode(context) if context else ""
        piece = self.tokenizer.decode([*context, *self.ids[self.settled :]])[len(before) :]
        self.decoded = self.settled_text + piece
        if not piece.endswith(BROKEN):
            self.settled, self.settled_text = len(self.ids), self.decoded
        elif len(self.ids) - self.settled > 8:  # this is no text, but the last three may still begin a character
            sure = self.tokenizer.decode([*context, *self.ids[self.settled : -3]])[len(before) :]
            self.settled, self.settled_text = len(self.ids) - 3, self.settled_text + sure
        stops = [self.decoded.find(word, max(0, self.given - len(word))) for word in self.stop]
        if found := [at for at in stops if at >= 0]:  # one token may complete several: the earliest counts
            self.decoded, self.stopped = self.decoded[: min(found)], True
        safe = len(self.decoded) if self.stopped else self._safe()
        new, self.given = self.decoded[self.given : safe], max(self.given, safe)
        return new

    def _safe(self) -> int:
        """How far the text cannot change any more."""
        text = self.decoded.rstrip(BROKEN) if self.decoded.endswith(BROKEN) else self.decoded
        held = max((n for word in self.stop for n in range(1, len(word)) if text.endswith(word[:n])), default=0)
        return len(text) - held

    def close(self) -> str:
        """What was still held back: nothing more will come."""
        new, self.given = self.decoded[self.given :], len(self.decoded)
        return new
