"""A served model, borrowed by work that needs several: every question is asked in the model's own thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from starlette.requests import Request

from foreword.networks.language_model import LanguageModel, Logs, State
from foreword.serve.errors import Refused
from foreword.serve.stream import unless_gone
from foreword.serve.worker import Worker


class Borrowed:
    """A language model whose answers come from its worker, until nobody waits for them any more."""

    def __init__(self, model: LanguageModel, worker: Worker, given_up: threading.Event):
        self.model, self.worker, self.given_up = model, worker, given_up
        self.context, self.reach, self.vocabulary = model.context, model.reach, model.vocabulary

    def _ask(self, work: Callable[[], Any]) -> Any:
        if self.given_up.is_set():
            raise Refused(499, "nobody waits for this any more.")
        return self.worker.run_job(work, invited=True).result()

    def begin(self, prompts: Sequence[np.ndarray]) -> tuple[Logs, State]:
        return self._ask(lambda: _numbers(self.model.begin(prompts)))

    def advance(self, tokens: np.ndarray, state: State) -> tuple[Logs, State]:
        return self._ask(lambda: _numbers(self.model.advance(tokens, state)))

    def select(self, state: State, rows: np.ndarray) -> State:
        return self._ask(lambda: self.model.select(state, rows))

    def join(self, state: State, other: State) -> State:
        return self._ask(lambda: self.model.join(state, other))

    def score(self, sequences: Sequence[np.ndarray], starts: Sequence[int]) -> list[np.ndarray]:
        return self._ask(lambda: self.model.score(sequences, starts))

    def following(self, ids: np.ndarray) -> Iterator[Logs]:
        yield from self._ask(lambda: [np.asarray(some) for some in self.model.following(ids)])


def _numbers(answered: tuple[Logs, State]) -> tuple[Logs, State]:
    """Plain tensors: those of inference mode may not be changed outside it."""
    log_probs, state = answered
    return torch.as_tensor(log_probs).clone(), state


async def lent(request: Request, limit: float, work: Callable[[threading.Event], Any]) -> Any:
    """The result of work over borrowed models, in a thread of its own; the event is set when nobody waits any more."""
    given_up = threading.Event()
    try:
        return await unless_gone(request, asyncio.to_thread(work, given_up), limit)
    finally:
        given_up.set()
