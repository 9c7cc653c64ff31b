"""A context and a continuation as ids: where the border falls, what an empty context is, and what of a long one stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from foreword.basics.messages import Fault
from foreword.tokens.tokenizer import Tokenizer


class Pair(NamedTuple):
    """What a model has read, and what it is asked to go on with."""

    context: np.ndarray           # int64, never empty
    continuation: np.ndarray      # int64


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
    distinct = list(dict.fromkeys(context for context, _ in moved))        # the choices of a question share theirs
    contexts = dict(zip(distinct, tokenizer.encode_many(distinct)))
    wholes = tokenizer.encode_many([context + continuation for context, continuation in moved])
    found = []
    for (context, continuation), whole in zip(moved, wholes):
        before = contexts[context]
        after = whole[len(before):]
        if not len(after) and continuation:        # the border was swallowed: each by itself
            after = tokenizer.encode_many([continuation])[0]
        found.append(Pair(before if len(before) else document_start(tokenizer), after))
    return found


def _border(context: str, continuation: str) -> tuple[str, str]:
    kept = context.rstrip()
    return kept, context[len(kept):] + continuation


def document_start(tokenizer: Tokenizer) -> np.ndarray:
    """What stands before the first token of a document."""
    if not tokenizer.has("[end]"):
        raise Fault(f"an empty context needs an end-of-document token, which the tokenizer {tokenizer.name} does not have.",
                    "Give the task a context, or train with a tokenizer that has one.")
    return np.asarray([tokenizer.special("[end]")], np.int64)


def fit(pair: Pair, context: int | None) -> Pair:
    """The pair within a model's context: the oldest tokens go first, as in lm-evaluation-harness; the continuation stays."""
    if context is None or len(pair.context) + len(pair.continuation) <= context + 1:
        return pair
    return Pair(pair.context[-max(1, context + 1 - len(pair.continuation)):], pair.continuation)
