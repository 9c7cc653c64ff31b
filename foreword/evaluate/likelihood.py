"""Requests for likelihoods: how probable a continuation is after its context, or a whole text, token by token.

The border between context and continuation is where lm-evaluation-harness puts it, so that numbers can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from foreword.basics.messages import Fault
from foreword.batches.by_length import by_length
from foreword.evaluate import bits_per_byte as bits
from foreword.evaluate.requests import ROWS, PromptedModel
from foreword.networks.language_model import LanguageModel
from foreword.tasks.prompted.request import Likelihood, LikelihoodRequest
from foreword.tasks.prompted.whole_text import RollingRequest
from foreword.tokens.tokenizer import Tokenizer


class Pair(NamedTuple):
    """What a model has read, and what it is asked to go on with."""

    context: np.ndarray  # int64, never empty
    continuation: np.ndarray  # int64


def encode_pair(tokenizer: Tokenizer, context: str, continuation: str) -> Pair:
    """(ids of the context, ids of the continuation), the border where lm-evaluation-harness puts it."""
    return encode_pairs(tokenizer, [(context, continuation)])[0]


def encode_pairs(tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> list[Pair]:
    """`encode_pair` of many, in two calls to the tokenizer.

    White space that ends the context belongs to the continuation: to a byte-level tokenizer " Paris" is one token, a
    lone " " before "Paris" is text it has hardly ever seen. Both are then encoded as one text, and what comes after as
    many tokens as the context alone has is the continuation; so a merge across the border counts as the continuation's.
    An empty context is the start of a document, which the end of another marks.
    """
    moved = [_border(context, continuation) for context, continuation in pairs]
    distinct = list(dict.fromkeys(context for context, _ in moved))  # the choices of a question share theirs
    contexts = dict(zip(distinct, tokenizer.encode_many(distinct)))
    wholes = tokenizer.encode_many([context + continuation for context, continuation in moved])
    found = []
    for (context, continuation), whole in zip(moved, wholes):
        before = contexts[context]
        after = whole[len(before) :]
        if not len(after) and continuation:  # the border was swallowed: each by itself
            after = tokenizer.encode_many([continuation])[0]
        found.append(Pair(before if len(before) else document_start(tokenizer), after))
    return found


def _border(context: str, continuation: str) -> tuple[str, str]:
    kept = context.rstrip()
    return kept, context[len(kept) :] + continuation


def document_start(tokenizer: Tokenizer) -> np.ndarray:
    """What stands before the first token of a document."""
    if not tokenizer.has("[end]"):
        raise Fault(
            f"an empty context needs an end-of-document token, which the tokenizer {tokenizer.name} does not have.",
            "Give the task a context, or train with a tokenizer that has one.",
        )
    return np.asarray([tokenizer.special("[end]")], np.int64)


def fit(pair: Pair, context: int | None) -> Pair:
    """The pair within a model's context: the oldest tokens are dropped, as in lm-evaluation-harness."""
    if context is None or len(pair.context) + len(pair.continuation) <= context + 1:
        return pair
    return Pair(pair.context[-max(1, context + 1 - len(pair.continuation)) :], pair.continuation)


# --- what a model says of them ------------------------------------------------------------------------------


def score_continuations(asked: PromptedModel, requests: Sequence[LikelihoodRequest]) -> list[Likelihood]:
    """The log-probability of each continuation, token by token."""
    whole = encode_pairs(asked.tokenizer, [(request.query, request.continuation) for request in requests])
    pairs = [fit(pair, asked.context) for pair in whole]
    cut = sum(len(pair.context) < len(given.context) for pair, given in zip(pairs, whole))
    asked.count([np.concatenate(pair) for pair in pairs], cut)
    found: list[Likelihood] = [Likelihood(np.zeros(0))] * len(pairs)
    walked = [place for place, request in enumerate(requests) if request.greedy]
    scored = [place for place, request in enumerate(requests) if not request.greedy]
    for place, logs in zip(scored, log_probs(asked.model, [pairs[place] for place in scored])):
        found[place] = Likelihood(logs, unigram=asked.unigram(pairs[place].continuation))
    banned = {words: _single(asked.tokenizer, words) for words in {requests[place].without for place in walked}}
    without = [banned[requests[place].without] for place in walked]
    for place, likelihood in zip(walked, follow_greedily(asked.model, [pairs[place] for place in walked], without)):
        found[place] = likelihood
    return found


def score_whole_texts(asked: PromptedModel, requests: Sequence[RollingRequest]) -> list[Likelihood]:
    """The log-probability of every token of each text, in windows that overlap by half."""
    if not asked.tokenizer.lossless:  # what is dropped is never paid for: a cost per byte would be too low
        raise Fault(
            f"{asked.name} reads with {asked.tokenizer.name}, which does not keep the whole text: it has no bits per "
            "byte of the original.",
            "Ask a model with a lossless tokenizer (byte_bpe, byte).",
        )
    texts = [bits.text_of(request.text, asked.tokenizer) for request in requests]
    asked.count([text.ids for text in texts], 0)
    return [Likelihood(logs) for logs in bits.log_probs(asked.model, asked.tokenizer, texts)]


def log_probs(model: LanguageModel, pairs: Sequence[Pair]) -> list[np.ndarray]:
    """The log-probability of every token of each continuation; the same pair is asked once."""
    asked = {_key(pair): pair for pair in pairs}
    sequences, firsts = [np.concatenate(pair) for pair in asked.values()], [len(one.context) for one in asked.values()]
    found = dict(zip(asked, bits.score_in_windows(model, sequences, firsts)))
    return [found[_key(pair)] for pair in pairs]


def _key(pair: Pair) -> tuple[bytes, bytes]:
    return pair.context.tobytes(), pair.continuation.tobytes()


def follow_greedily(model: LanguageModel, pairs: Sequence[Pair], banned: Sequence[np.ndarray]) -> list[Likelihood]:
    """Walk along each continuation: what every token costs, and whether the model would have gone the same way.

    `banned` are tokens that may not come first when the way is judged a second time.
    """
    found: list[Likelihood] = [Likelihood(np.zeros(0))] * len(pairs)
    for some in by_length([len(pair.context) for pair in pairs], rows=ROWS):
        going = np.asarray([place for place in some if len(pairs[place].continuation)], np.int64)
        if not len(going):
            continue
        logs: dict[int, list[float]] = {int(place): [] for place in going}
        same = dict.fromkeys(logs, True)
        allowed = dict.fromkeys(logs, True)
        log_probs, state = model.begin([pairs[place].context for place in going])
        while True:
            log_probs = torch.as_tensor(log_probs)
            targets = np.asarray([pairs[place].continuation[len(logs[place])] for place in going.tolist()], np.int64)
            charges, likely = log_probs[np.arange(len(going)), targets].tolist(), log_probs.argmax(-1).tolist()
            for row, place in enumerate(going.tolist()):
                first, right = not logs[place], likely[row] == int(targets[row])
                same[place] &= right
                allowed[place] &= (
                    _likeliest_without(log_probs[row], banned[place]) == int(targets[row]) if first else right
                )
                logs[place].append(charges[row])
            left = [len(pairs[place].continuation) - len(logs[place]) for place in going.tolist()]
            stays = np.flatnonzero(left).tolist()
            if not stays:
                break
            if len(stays) < len(going):
                state, going, targets = model.select(state, np.asarray(stays)), going[stays], targets[stays]
            log_probs, state = model.advance(targets, state)
        for place, costs in logs.items():
            found[place] = Likelihood(np.asarray(costs, np.float64), same[place], allowed[place])
    return found


def _likeliest_without(log_probs: torch.Tensor, banned: np.ndarray) -> int:
    if not len(banned):
        return int(log_probs.argmax())
    left = log_probs.clone()
    left[torch.as_tensor(banned, device=left.device)] = -torch.inf
    return int(left.argmax())


def _single(tokenizer: Tokenizer, words: Sequence[str]) -> np.ndarray:
    """The ids of words that are one token, as they stand behind a space."""
    ids = tokenizer.encode_many([f" {word}" for word in words]) if words else []
    return np.unique([int(one[0]) for one in ids if len(one) == 1]).astype(np.int64)
