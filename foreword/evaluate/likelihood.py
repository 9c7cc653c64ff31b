"""Answers of a language model to the requests of tasks: how likely a continuation is, and what it writes itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from foreword.basics.registry import Table
from foreword.evaluate.bits_per_byte import windows
from foreword.evaluate.pairs import Pair, document_start, encode_pairs, fit
from foreword.generate.batch import generate
from foreword.generate.sample import Sampling
from foreword.networks.language_model import LanguageModel
from foreword.tasks.prompted.request import Continue, Continued, Weigh, Weighed
from foreword.tokens.tokenizer import Tokenizer

# who answers: (respondent, requests of that sort) -> an answer for each, in order
ANSWERS = Table("answer", {
    "weigh": "foreword.evaluate.likelihood:weigh",
    "write": "foreword.evaluate.likelihood:write",
    "roll": "foreword.evaluate.rolling:roll",
})
ROWS, TOKENS = 64, 8192          # at most so many at once


@dataclass
class Tally:
    """What happened to requests on their way, for the report."""

    requests: int = 0
    cut: int = 0                 # lost the beginning of their context
    tokens: int = 0              # asked about or read
    unknown: int = 0


@dataclass
class Respondent:
    """A language model that is asked, and what there is to say about how it was."""

    name: str
    model: LanguageModel
    tokenizer: Tokenizer
    tally: Tally = field(default_factory=Tally)

    @property
    def context(self) -> int | None:
        return self.model.context

    def count(self, ids: Sequence[np.ndarray], cut: int) -> None:
        unknown = self.tokenizer.special("[unknown]") if self.tokenizer.has("[unknown]") else -1
        self.tally.requests += len(ids)
        self.tally.cut += cut
        self.tally.tokens += sum(map(len, ids))
        self.tally.unknown += sum(int((one == unknown).sum()) for one in ids)


def answer(respondent: Respondent, requests: Sequence[Any]) -> list[Any]:
    """An answer for each request; those of one sort are asked together."""
    found: list[Any] = [None] * len(requests)
    for sort in dict.fromkeys(request.answered_by for request in requests):
        places = [place for place, request in enumerate(requests) if request.answered_by == sort]
        answered: Callable[..., list[Any]] = ANSWERS.find(sort)
        for place, one in zip(places, answered(respondent, [requests[place] for place in places])):
            found[place] = one
    return found


def weigh(respondent: Respondent, requests: Sequence[Weigh]) -> list[Weighed]:
    """The log-probability of each continuation, token by token."""
    whole = encode_pairs(respondent.tokenizer, [(request.query, request.continuation) for request in requests])
    pairs = [fit(pair, respondent.context) for pair in whole]
    cut = sum(len(pair.context) < len(given.context) for pair, given in zip(pairs, whole))
    respondent.count([np.concatenate(pair) for pair in pairs], cut)
    found: list[Weighed] = [Weighed(np.zeros(0))] * len(pairs)
    walked = [place for place, request in enumerate(requests) if request.greedy]
    scored = [place for place, request in enumerate(requests) if not request.greedy]
    for place, logs in zip(scored, log_probs(respondent.model, [pairs[place] for place in scored])):
        found[place] = Weighed(logs)
    banned = {words: _single(respondent.tokenizer, words) for words in {requests[place].without for place in walked}}
    for place, told in zip(walked, follow(respondent.model, [pairs[place] for place in walked],
                                          [banned[requests[place].without] for place in walked])):
        found[place] = told
    return found


def log_probs(model: LanguageModel, pairs: Sequence[Pair]) -> list[np.ndarray]:
    """The log-probability of every token of each continuation; the same pair is asked once."""
    asked: dict[tuple[bytes, bytes], int] = {}
    sequences: list[np.ndarray] = []
    starts: list[int] = []
    owners: list[int] = []
    places = []
    for pair in pairs:
        key = (pair.context.tobytes(), pair.continuation.tobytes())
        if key not in asked:
            asked[key] = len(asked)
            sequence = np.concatenate(pair)
            if len(pair.continuation):
                # a continuation longer than the context is read in windows, all others in one
                for window in windows(len(sequence), model.context) if _long(pair, model.context) else [None]:
                    sequences.append(sequence if window is None else sequence[window.start: window.stop])
                    starts.append(len(pair.context) if window is None else window.scored - window.start)
                    owners.append(asked[key])
        places.append(asked[key])
    found: list[list[np.ndarray]] = [[] for _ in asked]
    for owner, logs in zip(owners, model.score(sequences, starts) if sequences else []):
        found[owner].append(np.asarray(logs, np.float64))
    each = [np.concatenate(parts) if parts else np.zeros(0) for parts in found]
    return [each[place] for place in places]


def _long(pair: Pair, context: int | None) -> bool:
    return context is not None and len(pair.context) + len(pair.continuation) > context + 1


def follow(model: LanguageModel, pairs: Sequence[Pair], banned: Sequence[np.ndarray]) -> list[Weighed]:
    """Walk along each continuation: what every token costs, and whether the model would have gone the same way.

    `banned` are tokens that may not come first when the way is judged a second time.
    """
    found: list[Weighed] = [Weighed(np.zeros(0))] * len(pairs)
    for some in _batches([len(pair.context) for pair in pairs]):
        going = np.asarray([place for place in some if len(pairs[place].continuation)], np.int64)
        if not len(going):
            continue
        logs: dict[int, list[float]] = {int(place): [] for place in going}
        same = dict.fromkeys(logs, True)
        allowed = dict.fromkeys(logs, True)
        told, state = model.begin([pairs[place].context for place in going])
        while True:
            told = torch.as_tensor(told)
            targets = np.asarray([pairs[place].continuation[len(logs[place])] for place in going.tolist()], np.int64)
            charges, likely = told[np.arange(len(going)), targets].tolist(), told.argmax(-1).tolist()
            for row, place in enumerate(going.tolist()):
                first, right = not logs[place], likely[row] == int(targets[row])
                same[place] &= right
                allowed[place] &= _likeliest_but(told[row], banned[place]) == int(targets[row]) if first else right
                logs[place].append(charges[row])
            stays = [row for row, place in enumerate(going.tolist()) if len(logs[place]) < len(pairs[place].continuation)]
            if not stays:
                break
            if len(stays) < len(going):
                state, going, targets = model.select(state, np.asarray(stays)), going[stays], targets[stays]
            told, state = model.advance(targets, state)
        for place, costs in logs.items():
            found[place] = Weighed(np.asarray(costs, np.float64), same[place], allowed[place])
    return found


def _likeliest_but(told: torch.Tensor, banned: np.ndarray) -> int:
    if not len(banned):
        return int(told.argmax())
    left = told.clone()
    left[torch.as_tensor(banned, device=left.device)] = -torch.inf
    return int(left.argmax())


def _single(tokenizer: Tokenizer, words: Sequence[str]) -> np.ndarray:
    """The ids of words that are one token, as they stand behind a space."""
    ids = tokenizer.encode_many([f" {word}" for word in words]) if words else []
    return np.unique([int(one[0]) for one in ids if len(one) == 1]).astype(np.int64)


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places of like length together, longest first."""
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    while order:
        size = min(ROWS, max(1, TOKENS // max(lengths[order[0]], 1)))
        yield order[:size]
        order = order[size:]


def write(respondent: Respondent, requests: Sequence[Continue]) -> list[Continued]:
    """What the model writes after each query, up to a stop string."""
    prompts, cut = [], 0
    for request, ids in zip(requests, respondent.tokenizer.encode_many([request.query for request in requests])):
        room = len(ids) if respondent.context is None else request.room(respondent.context)
        cut += len(ids) > room
        prompts.append(ids[max(0, len(ids) - room):] if len(ids) else document_start(respondent.tokenizer))
    respondent.count(prompts, cut)
    found: list[Continued] = [Continued("")] * len(requests)
    for how in dict.fromkeys((request.most, request.stop, request.top_k) for request in requests):
        most, stop, top_k = how
        sampling = Sampling(max_tokens=most, stop=stop, temperature=0.0 if top_k == 1 else 1.0, top_k=top_k)
        mine = [place for place, request in enumerate(requests) if (request.most, request.stop, request.top_k) == how]
        for some in _batches([len(prompts[place]) for place in mine]):
            chosen = [mine[place] for place in some]
            written = generate(respondent.model, respondent.tokenizer, [prompts[place].tolist() for place in chosen], sampling)
            for place, one in zip(chosen, written):
                found[place] = Continued(one.text)
    return found
