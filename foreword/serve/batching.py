"""What is asked of a model's thread: texts to be written token by token, and other work that runs between two tokens."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from foreword.generate.batch import ActiveSequence, PromptIds
from foreword.generate.sample import Sampling
from foreword.tokens.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Event:
    """One token of one of a request's texts."""

    index: int  # of the text
    token: int
    log_prob: float
    text: str  # complete with this token
    alternatives: Sequence[tuple[int, float]]
    reason: str  # why it ended; "": it goes on
    ended: bool  # the token is the end of the document, not part of the text


class TextRequest:
    """The texts of one request: `n` for each prompt, numbered as `generate` numbers them."""

    def __init__(
        self, prompts: Sequence[PromptIds], n: int, sampling: Sampling, tokenizer: Tokenizer, alternatives: int = 0
    ):
        before: Counter[tuple[int, ...]] = Counter()
        self.sequences: list[ActiveSequence] = []
        for prompt in (tuple(map(int, prompt)) for prompt in prompts for _ in range(n)):
            self.sequences.append(ActiveSequence(prompt, sampling, tokenizer, before[prompt], alternatives))
            before[prompt] += 1
        self.asked = time.perf_counter()
        self.first = True  # no token was given out yet
        self.cancelled = False
        self.left = sum(not one.reason for one in self.sequences)
        self.events: asyncio.Queue[list[Event] | BaseException] = asyncio.Queue()

    async def each(self) -> AsyncIterator[list[Event]]:
        """Events as they come, all that are there at once; an exception if the work failed."""
        left = self.left
        while left:
            some = await self.events.get()
            if isinstance(some, BaseException):
                raise some
            while not self.events.empty():
                more = self.events.get_nowait()
                if isinstance(more, BaseException):
                    raise more
                some = [*some, *more]
            left -= sum(bool(one.reason) for one in some)
            yield some


@dataclass
class ModelWork:
    """Work that is done in one go: a score, a vector, a label."""

    work: Callable[[], Any]
    result: Future[Any] = field(default_factory=Future)
