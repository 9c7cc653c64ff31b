"""Did more pieces help? Held-out text before and after training further with an extended vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foreword.basics.files import JsonObject
from foreword.evaluate import bits_per_byte as bits
from foreword.evaluate.score import Score
from foreword.runs.opening import TrainedModel
from foreword.tasks.confidence import bootstrap
from foreword.tokens.store import TokenStore

MOST = 16_384  # bytes of held-out text


def compared(before: TrainedModel, after: TrainedModel, held_out: TokenStore) -> JsonObject:
    """Tokens per word and nats per byte of both on the same text, and how the latter differ, in pairs of documents."""
    texts, size = list[str](), 0
    for number in range(held_out.documents):
        text = after.tokenizer.decode(held_out.document(number))[: MOST // 4]
        if text.strip():
            texts.append(text)
            size += len(text.encode())
        if size >= MOST:
            break
    scores = [_scores(model, texts) for model in (before, after)]
    nats = np.array([[one.nats, other.nats, one.bytes] for one, other in zip(*scores)])
    low, high = bootstrap(nats, lambda sums, _: (sums[:, 1] - sums[:, 0]) / sums[:, 2])
    named: JsonObject = {}
    for name, mine in zip(("before", "after"), scores):
        words, bytes = sum(one.words for one in mine), sum(one.bytes for one in mine)
        named[name] = {
            "tokens_per_word": sum(one.tokens for one in mine) / words,
            "nats_per_byte": sum(one.nats for one in mine) / bytes,
        }
    pseudo = "pseudo-nats" if after.only_fills else "nats"
    return {**named, "unit": f"{pseudo} per byte", "bytes": size, "documents": len(texts), "interval": [low, high]}


def _scores(model: TrainedModel, texts: Sequence[str]) -> list[Score]:
    there = [bits.text_of(text, model.tokenizer) for text in texts]
    if model.only_fills:
        return [bits.pseudo_score(model.with_heads, model.tokenizer, [one]) for one in there]
    logs = bits.log_probs(model.language_model, model.tokenizer, there)
    return [bits.cost(one, found, model.tokenizer, "") for one, found in zip(there, logs)]


def said(found: JsonObject, new: int) -> str:
    (words, nats), (words_now, nats_now) = (found[one].values() for one in ("before", "after"))
    low, high = found["interval"]
    verdict = "it helped" if high < 0 else "it hurt" if low > 0 else "too little text to tell whether it helped"
    return (
        f"{new:,} new tokens, and trained further: {words:.2f} -> {words_now:.2f} tokens per word, {nats:.3f} -> {nats_now:.3f} "
        f"{found['unit']} of held-out text (change {low:+.3f} to {high:+.3f}, 95%): {verdict}. What training further alone does, "
        "the same command on a store without --add shows."
    )
