"""Text that resembles a sample, by how much likelier a model of the sample finds it than a model of text in general
(Moore & Lewis 2010, Intelligent Selection of Language Model Training Data)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance
from foreword.counts.smoothed import SmoothedModel, SmoothedNGram
from foreword.counts.smoothing import WittenBell
from foreword.tokens.kinds import Word
from foreword.tokens.tokenizer import Tokenizer

ORDER = 3


def _model(tokenizer: Tokenizer, texts: Iterable[str]) -> SmoothedModel:
    """A word model; Witten-Bell needs no counts of counts, which a small sample does not have."""
    model = SmoothedNGram(order=ORDER, smoothing=WittenBell()).build(tokenizer.vocabulary())
    end = [tokenizer.special("[end]")]
    model.count(np.concatenate([part for ids in tokenizer.encode_many(list(texts)) for part in (ids, end)]))
    model.estimate()
    return model


def resemblance(sample: Sequence[str], texts: Sequence[str], seed: int = 0) -> np.ndarray:
    """Nats per token by which each text is likelier as a part of the sample than as any text; more is more alike.

    The general model counts as much text as the sample has, drawn at random, and both know the words that the sample has at
    least twice: otherwise the difference would be one of vocabularies.
    """
    if not any(text.split() for text in sample):
        raise Fault("the sample is empty: there is nothing to resemble.")
    tokenizer = Word(minimum=2 if len(sample) > 1 else 1).train(iter(sample))
    wanted, drawn, some = sum(len(text.split()) for text in sample), 0, []
    for place in chance(seed).permutation(len(texts)).tolist():
        if drawn >= wanted:
            break
        some.append(texts[place])
        drawn += len(texts[place].split())
    inside, general = _model(tokenizer, sample), _model(tokenizer, some)
    end = tokenizer.special("[end]")
    rows = [np.array([end, *ids, end]) for ids in tokenizer.encode_many(list(texts))]
    starts = [1] * len(rows)
    return np.array(
        [float((one - other).mean()) for one, other in zip(inside.score(rows, starts), general.score(rows, starts))]
    )
