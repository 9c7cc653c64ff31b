"""Generation in steps: a batch of sequences that join, advance by one token, are cancelled and leave."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from foreword.basics.seeds import chance
from foreword.generate.sample import Sampling, likeliest
from foreword.generate.text_stream import TextStream
from foreword.networks.language_model import LanguageModel
from foreword.tokens.tokenizer import Tokenizer

PromptIds = Sequence[int] | np.ndarray


@dataclass(frozen=True)
class GenerationPace:
    """How fast a batch of continuations was made."""

    prefill_seconds: float  # until all prompts had been read
    tokens_per_second: float | None = (
        None  # of all rows together, from the first tokens to the last; None: only one each
    )


@dataclass
class Continuation:
    """What follows a prompt."""

    ids: list[int] = field(default_factory=list)
    text: str = ""
    reason: str = "length"  # "length", "end" (the model ended the document), "stop" (a stop string), "cancelled"
    log_probs: list[float] = field(default_factory=list)  # of each id under the model itself, then of [end] if it ended
    pace: GenerationPace = GenerationPace(0.0)  # of the batch it was made in

    @property
    def log_probability(self) -> float:
        """Of the ids."""
        return sum(self.log_probs[: len(self.ids)])


class ActiveSequence:
    """One sequence of a batch: what it has said so far, and its own random numbers."""

    def __init__(
        self, prompt: PromptIds, sampling: Sampling, tokenizer: Tokenizer, sample: int = 0, alternatives: int = 0
    ):
        self.prompt = tuple(map(int, prompt))
        self.sampling, self.ids, self.log_probs = sampling, list[int](), list[float]()
        # sequences that have the same rule choose together
        self.rule = replace(sampling, max_tokens=0, min_tokens=0, stop=(), seed=0)
        self.alternatives = alternatives  # so many of the likeliest tokens are told at each step
        self.random = chance(sampling.seed, sample)
        self.seen = set(self.prompt)  # ids that a repetition penalty makes less likely
        self.stream = TextStream(tokenizer, sampling.stop)
        self.reason = "" if sampling.max_tokens else "length"  # none while it goes on

    def add(self, token: int, log_prob: float, end: int) -> str:
        """One token more; returns the text that is complete with it, all that is left if it was the last."""
        self.log_probs.append(log_prob)
        if token == end:
            return self.close("end")
        self.ids.append(token)
        self.seen.add(token)
        text = self.stream.add(token)
        if self.stream.stopped:
            return text + self.close("stop")
        return text + self.close("length") if len(self.ids) == self.sampling.max_tokens else text

    def close(self, reason: str) -> str:
        self.reason = reason
        return self.stream.close()

    def continuation(self, pace: GenerationPace) -> Continuation:
        return Continuation(self.ids, self.stream.text, self.reason, self.log_probs, pace)


class Step(NamedTuple):
    """What one step did to one sequence; `sequence.reason` says whether it was the last."""

    sequence: ActiveSequence
    token: int
    log_prob: float
    text: str  # complete with this token: whole characters, nothing of a stop string
    alternatives: Sequence[tuple[int, float]] = ()  # the likeliest tokens here, and their log-probabilities


class GenerationBatch:
    """Sequences that a model continues together, each exactly as it would be alone."""

    def __init__(self, model: LanguageModel, tokenizer: Tokenizer):
        self.model, self.tokenizer = model, tokenizer
        self.end = tokenizer.special("[end]") if tokenizer.has("[end]") else -1
        self._rows: list[ActiveSequence] = []  # of the state and of log_probs; some may have ended since
        self._state: Any = None
        self._log_probs: Tensor = torch.empty(0)  # [rows, vocabulary] of the next token
        self._chosen: np.ndarray | None = None  # the token of each row that the state has not read yet

    @property
    def running(self) -> list[ActiveSequence]:
        return [one for one in self._rows if not one.reason]

    def join(self, prompts: Sequence[PromptIds], sampling: Sampling) -> list[ActiveSequence]:
        """Read prompts; from the next step on they go along. Equal prompts are different samples, numbered from 0."""
        before: Counter[tuple[int, ...]] = Counter()
        joined = []
        for prompt in (tuple(map(int, prompt)) for prompt in prompts):
            joined.append(ActiveSequence(prompt, sampling, self.tokenizer, before[prompt]))
            before[prompt] += 1
        self.read(joined)
        return joined

    def read(self, sequences: Sequence[ActiveSequence]) -> None:
        """Read the prompts of new sequences together; from the next step on they go along."""
        new = [one for one in sequences if not one.reason]
        if not new:
            return
        rules = {one.rule: one.rule for one in reversed([*self._rows, *new])}
        for one in new:
            one.rule = rules[one.rule]
        self._read_on()
        log_probs, state = self.model.begin([np.asarray(one.prompt, np.int64) for one in new])
        if self._rows:
            state = self.model.join(self._state, state)
            log_probs = torch.cat([self._log_probs, torch.as_tensor(log_probs)])
        self._rows, self._state, self._log_probs = [*self._rows, *new], state, torch.as_tensor(log_probs)

    def cancel(self, sequence: ActiveSequence) -> str:
        """It leaves, and takes no further step. Returns the text that was still held back."""
        return "" if sequence.reason else sequence.close("cancelled")

    def step(self) -> list[Step]:
        """One token for every running sequence; those that end leave. Nothing: none is running."""
        self._read_on()
        if not self._rows:
            return []
        self._chosen = self._choose()
        charges = self._log_probs[np.arange(len(self._rows)), self._chosen].tolist()
        alternatives = self._alternatives()
        return [
            Step(one, token, charge, one.add(token, charge, self.end), alternatives.get(row, ()))
            for row, (one, token, charge) in enumerate(zip(self._rows, self._chosen.tolist(), charges))
        ]

    def _alternatives(self) -> dict[int, list[tuple[int, float]]]:
        """The likeliest next tokens of the rows that want to know them."""
        rows = [row for row, one in enumerate(self._rows) if one.alternatives]
        if not rows:
            return {}
        most = min(max(self._rows[row].alternatives for row in rows), self._log_probs.size(-1))
        ids, log_probs = likeliest(self._log_probs[rows], most)
        return {
            row: list(zip(some.tolist(), theirs.tolist()))[: self._rows[row].alternatives]
            for row, some, theirs in zip(rows, ids, log_probs)
        }

    def _choose(self) -> np.ndarray:
        """The next token of each row; rows that choose by one rule do it together."""
        groups: dict[tuple[int, int], list[int]] = {}
        for row, one in enumerate(self._rows):
            without = self.end if len(one.ids) < one.sampling.min_tokens else -1
            groups.setdefault((id(one.rule), without), []).append(row)
        tokens = np.empty(len(self._rows), np.int64)
        for (_, without), rows in groups.items():
            several = [self._rows[row] for row in rows]
            log_probs = self._log_probs if len(groups) == 1 else self._log_probs[rows]
            tokens[rows] = several[0].rule.choose(
                log_probs, [one.random for one in several], [one.seen for one in several], without
            )
        return tokens

    def _read_on(self) -> None:
        """Bring the state up to date: ended sequences leave it, and the others' last tokens are read."""
        stays = [row for row, one in enumerate(self._rows) if not one.reason]
        if not stays:
            self._rows, self._state, self._chosen = [], None, None
            return
        if len(stays) < len(self._rows):
            self._rows = [self._rows[row] for row in stays]
            self._state = self.model.select(self._state, np.asarray(stays))
            if self._chosen is None:
                self._log_probs = self._log_probs[stays]
            else:
                self._chosen = self._chosen[stays]
        if self._chosen is not None:
            log_probs, self._state = self.model.advance(self._chosen, self._state)
            self._log_probs, self._chosen = torch.as_tensor(log_probs), None


def generate(
    model: LanguageModel,
    tokenizer: Tokenizer,
    prompts: Sequence[PromptIds],
    sampling: Sampling,
    stream: Callable[[int, str], None] | None = None,
) -> list[Continuation]:
    """Continue each prompt to its end. `stream` gets (row, new text) as soon as whole characters are there."""
    batch = GenerationBatch(model, tokenizer)
    began = time.perf_counter()
    joined = batch.join(prompts, sampling)
    times, tokens = [time.perf_counter()], 0  # when the prompts were read, and when each step was done
    row_of = {id(one): row for row, one in enumerate(joined)}
    while steps := batch.step():
        for one in steps:
            if stream and one.text:
                stream(row_of[id(one.sequence)], one.text)
        times.append(time.perf_counter())
        tokens += len(steps)
    later = tokens - len(joined)  # tokens after the first of each row
    pace = GenerationPace(times[0] - began, later / (times[-1] - times[1]) if later > 0 else None)
    return [one.continuation(pace) for one in joined]
