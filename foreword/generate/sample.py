"""Sampling: temperature, top-k, nucleus, repetition penalty. The same seed gives the same text, alone or in a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance
from foreword.generate.stop import Teller
from foreword.networks.language_model import LanguageModel
from foreword.tokens.tokenizer import Tokenizer


@dataclass(frozen=True)
class Sampling:
    """How to choose the next token. Temperature 0 always takes the likeliest."""

    max_tokens: int = 100
    min_tokens: int = 0                 # the text does not end before
    temperature: float = 1.0
    top_k: int = 0                      # 0: no limit
    top_p: float = 1.0                  # smallest set of tokens that holds this much probability
    repetition_penalty: float = 1.0     # above 1: what was said becomes less likely (Keskar et al. 2019)
    stop: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        rules = (("max_tokens", self.max_tokens >= 0, "at least 0"), ("temperature", self.temperature >= 0, "at least 0"),
                 ("top_k", self.top_k >= 0, "at least 0"), ("top_p", 0 < self.top_p <= 1, "more than 0 and at most 1"),
                 ("repetition_penalty", self.repetition_penalty > 0, "more than 0"))
        for name, holds, rule in rules:
            if not holds:
                raise Fault(f"{name} must be {rule} (it says {getattr(self, name)}).")

    def scores(self, log_probs: Tensor, said: Sequence[np.ndarray]) -> Tensor:
        """log_probs [rows, vocabulary] -> the same with everything that may not be chosen at minus infinity."""
        scores = log_probs.double().clone()
        if self.repetition_penalty != 1.0:
            for row, ids in zip(scores, said):
                seen = torch.as_tensor(np.unique(ids), device=row.device)
                row[seen] *= self.repetition_penalty       # log-probabilities are negative: more than 1 pushes down
        if self.temperature not in (0.0, 1.0):
            scores /= self.temperature
        if self.top_k and self.top_k < scores.size(-1):
            # of equally likely tokens the first ones are kept, never more than k
            scores.scatter_(-1, scores.argsort(dim=-1, descending=True, stable=True)[:, self.top_k:], -torch.inf)
        if self.top_p < 1.0:
            ordered, index = scores.sort(dim=-1, descending=True, stable=True)
            before = ordered.softmax(-1).cumsum(-1) - ordered.softmax(-1)
            drop = torch.zeros_like(scores, dtype=torch.bool).scatter(-1, index, before >= self.top_p)
            scores[drop] = -torch.inf
        return scores

    def choose(self, scores: Tensor, draws: Sequence[np.random.Generator]) -> np.ndarray:
        """One token for each row: the likeliest, or where a number drawn from 0 to 1 falls among the probabilities."""
        if self.temperature == 0.0:
            return scores.argmax(-1).cpu().numpy()
        summed = scores.softmax(-1).cumsum(-1).cpu().numpy()
        points = np.array([draw.random() for draw in draws]) * summed[:, -1]
        chosen = [int(np.searchsorted(row, point, side="right")) for row, point in zip(summed, points)]
        return np.minimum(np.array(chosen), scores.size(-1) - 1)


@dataclass
class Continuation:
    ids: list[int] = field(default_factory=list)
    text: str = ""
    reason: str = "length"              # "length", "end" (the model ended the document) or "stop" (a stop string)
    log_probability: float = 0.0        # of what was chosen, under the model itself


def generate(model: LanguageModel, tokenizer: Tokenizer, prompts: Sequence[Sequence[int]], how: Sampling,
             stream: Callable[[int, str], None] | None = None) -> list[Continuation]:
    """Continue each prompt. `stream` is told (row, new text) as soon as whole characters are there."""
    found = [Continuation() for _ in prompts]
    tellers = [Teller(tokenizer, how.stop) for _ in prompts]
    asked = [tuple(map(int, prompt)) for prompt in prompts]
    # the n-th sample of a prompt is the same whatever stands beside it
    draws = [chance(how.seed, asked[:row].count(prompt)) for row, prompt in enumerate(asked)]
    end = tokenizer.special("[end]") if tokenizer.has("[end]") else -1
    going = np.arange(len(prompts))
    if how.max_tokens == 0 or not len(going):
        return found
    log_probs, state = model.begin([np.asarray(prompt, np.int64) for prompt in prompts])
    for step in range(how.max_tokens):
        rows = going.tolist()
        log_probs = torch.as_tensor(log_probs)
        said = [np.asarray([*prompts[row], *found[row].ids], np.int64) for row in rows]
        allowed = log_probs.clone()
        if step < how.min_tokens and end >= 0:
            allowed[:, end] = -torch.inf
        tokens = how.choose(how.scores(allowed, said), [draws[row] for row in rows])
        stays = []
        for place, (row, token) in enumerate(zip(rows, tokens.tolist())):
            one = found[row]
            if token == end:
                one.reason = "end"
                continue
            one.ids.append(token)
            one.log_probability += float(log_probs[place, token])
            new = tellers[row].add(token)
            if stream and new:
                stream(row, new)
            if tellers[row].stopped:
                one.reason = "stop"
            else:
                stays.append(place)
        if step + 1 == how.max_tokens or not stays:
            break
        if len(stays) < len(going):
            state = model.select(state, np.asarray(stays))
            going, tokens = going[stays], tokens[stays]
        log_probs, state = model.advance(tokens, state)
    for place, (one, teller) in enumerate(zip(found, tellers)):
        rest = teller.close()
        if stream and rest:
            stream(place, rest)
        one.text = teller.text
    return found
