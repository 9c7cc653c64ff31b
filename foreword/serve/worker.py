"""One thread per model: requests join and leave the running batch between tokens, and other work is done between steps.

Whoever waits is read in when there is room. While texts are being written, reading prompts and other work together take at
most a share of the time: after a pause of so many seconds the running texts get as many, before the next pause.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from foreword.generate.batch import ActiveSequence, GenerationBatch, Step
from foreword.networks.language_model import LanguageModel
from foreword.serve.batching import Event, ModelWork, TextRequest
from foreword.serve.errors import Refused
from foreword.serve.metrics import Metrics
from foreword.tokens.tokenizer import Tokenizer

ROWS = 32  # texts that are written together
PROMPT_TOKENS = 1024  # of several prompts that are read together
SHARE = 0.5  # of the time that running texts may wait for prompts and other work

Place = tuple[TextRequest, int]  # a text of a request


class Worker(threading.Thread):
    """Does all that is asked of one model, in one thread: nothing in a model is made for two."""

    def __init__(self, name: str, metrics: Metrics, most_waiting: int, rows: int = ROWS):
        super().__init__(name=f"model {name}", daemon=True)
        self.label, self.metrics, self.most_waiting, self.rows = name, metrics, most_waiting, rows
        self.batch: GenerationBatch | None = None  # of a model that writes
        self._changed = threading.Condition()
        self._texts: deque[Place] = deque()
        self._jobs: deque[ModelWork] = deque()
        self._running: dict[ActiveSequence, Place] = {}
        self._closed = False
        self._may_pause = 0.0  # when the running texts may be kept waiting again
        self._loop: asyncio.AbstractEventLoop | None = None
        self._out: list[tuple[TextRequest, list[Event] | BaseException]] = []

    def writes(self, model: LanguageModel, tokenizer: Tokenizer) -> None:
        self.batch = GenerationBatch(model, tokenizer)

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.start()

    # ------------------------------------------------------------------------------------- asked from the event loop

    @property
    def waiting(self) -> int:
        return len(self._texts) + len(self._jobs)

    @property
    def busy(self) -> int:
        return self.waiting + len(self._running)

    def submit(self, generation: TextRequest) -> None:
        """Its texts join as soon as there is room."""
        places = [(generation, i) for i, one in enumerate(generation.sequences) if not one.reason]
        with self._changed:
            self._check_room()
            self._texts.extend(places)
            self._changed.notify()

    def run_job(self, work: Callable[[], Any], invited: bool = False) -> Future[Any]:
        """The result of work that needs the model. `invited`: it is part of a request that has found its place."""
        job = ModelWork(work)
        with self._changed:
            self._check_room(invited)
            self._jobs.append(job)
            self._changed.notify()
        return job.result

    def _check_room(self, invited: bool = False) -> None:
        if self._closed:
            raise Refused(503, "the server is stopping.")
        if self.waiting >= self.most_waiting and not invited:
            raise Refused(
                429,
                f"{self.waiting} requests are waiting for {self.label} already. Try again in a second.",
                None,
                "busy",
            )

    def cancel(self, generation: TextRequest) -> None:
        """Its texts leave before the next token."""
        with self._changed:
            generation.cancelled = True
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    # -------------------------------------------------------------------------------------------- done in the thread

    def run(self) -> None:
        while self._wait():
            try:
                self._round()
            except Exception as error:  # noqa: BLE001  whatever a model does, whoever waits for it is told
                self._fail(error)
            self._hand_out()
        self._fail(Refused(503, "the server is stopping."))
        self._hand_out()

    def _wait(self) -> bool:
        """Until there is something to do; False: it is over."""
        with self._changed:
            while not (self._texts or self._jobs or self._running or self._closed):
                self._changed.wait()
            return not self._closed

    def _round(self) -> None:
        self._drop_cancelled()
        now = time.perf_counter()
        if not self._running or now >= self._may_pause:
            self._do_job()
            self._read_prompts()
            paused = time.perf_counter() - now
            self._may_pause = now + paused + paused * (1 - SHARE) / SHARE
        if self._running:
            self._step()
        self.metrics.waiting.labels(self.label).set(self.waiting)
        self.metrics.running.labels(self.label).set(len(self._running))

    def _drop_cancelled(self) -> None:
        for sequence, (generation, _) in list(self._running.items()):
            if generation.cancelled:
                assert self.batch is not None
                self.batch.cancel(sequence)
                del self._running[sequence]
        with self._changed:
            if any(generation.cancelled for generation, _ in self._texts):
                self._texts = deque(place for place in self._texts if not place[0].cancelled)

    def _do_job(self) -> None:
        with self._changed:
            job = self._jobs.popleft() if self._jobs else None
        if job is None or not job.result.set_running_or_notify_cancel():
            return
        try:
            job.result.set_result(job.work())
        except Exception as error:  # noqa: BLE001  it is raised again where the result is waited for
            job.result.set_exception(error)

    def _read_prompts(self) -> None:
        """Prompts that fit into the batch, some at a time: one if it is long."""
        joining: list[Place] = []
        tokens = 0
        with self._changed:
            while self._texts and len(self._running) + len(joining) < self.rows:
                generation, index = self._texts[0]
                tokens += len(generation.sequences[index].prompt)
                if joining and tokens > PROMPT_TOKENS:
                    break
                joining.append(self._texts.popleft())
        if not joining:
            return
        assert self.batch is not None
        sequences = [generation.sequences[index] for generation, index in joining]
        self._running.update(zip(sequences, joining))
        self.batch.read(sequences)
        self.metrics.prompt_tokens.labels(self.label).inc(sum(len(one.prompt) for one in sequences))

    def _step(self) -> None:
        assert self.batch is not None
        began, events = time.perf_counter(), dict[TextRequest, list[Event]]()
        steps = self.batch.step()
        for step in steps:
            generation, index = self._running[step.sequence]
            events.setdefault(generation, []).append(self._event(index, step))
            if step.sequence.reason:
                del self._running[step.sequence]
        now = time.perf_counter()
        for generation in events:
            if generation.first:
                generation.first = False
                self.metrics.first_token.labels(self.label).observe(now - generation.asked)
        self.metrics.token.labels(self.label).observe(now - began)
        self.metrics.batch.labels(self.label).observe(len(steps))
        self.metrics.tokens.labels(self.label).inc(len(steps))
        self._out += events.items()

    def _event(self, index: int, step: Step) -> Event:
        ended = step.sequence.reason == "end"
        return Event(index, step.token, step.log_prob, step.text, step.alternatives, step.sequence.reason, ended)

    def _fail(self, error: Exception) -> None:
        """Everybody whose text is being written is told; whoever waits goes on waiting, unless it is over."""
        with self._changed:
            places = [*self._running.values(), *(self._texts if self._closed else ())]
            jobs = list(self._jobs) if self._closed else []
            if self._closed:
                self._texts.clear()
                self._jobs.clear()
        self._running.clear()
        if self.batch is not None:
            self.batch = GenerationBatch(self.batch.model, self.batch.tokenizer)
        for generation in {id(one): one for one, _ in places}.values():
            self._out.append((generation, error))
        for job in jobs:
            if job.result.set_running_or_notify_cancel():
                job.result.set_exception(error)

    def _hand_out(self) -> None:
        """To the event loop, everything at once."""
        out, self._out = self._out, []
        if out and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_deliver, out)


def _deliver(out: list[tuple[TextRequest, list[Event] | BaseException]]) -> None:
    for generation, events in out:
        generation.events.put_nowait(events)
