"""Relative effective context length: how far back a model still gains on tokens that are hard for all (Dai et al. 2019, C)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from foreword.basics.messages import Fault
from foreword.evaluate.held_out import Corpus
from foreword.networks.language_model import LanguageModel
from foreword.report import Report, Section, Table, Text
from foreword.runs.opening import TrainedModel

STEP, HARDEST, GAIN = 32, 0.1, 0.01  # positions; the share of tokens that counts; the relative gain that is one
SAMPLE = 200  # tokens, each scored anew with every context


class ContextGain(NamedTuple):
    context: int  # positions before a token, now
    gain: float  # of what the group's best lost with a step less


def losses(model: LanguageModel, ids: np.ndarray, places: Sequence[int], context: int) -> np.ndarray:
    """Nats of the tokens at these places, each given exactly so many before it; as many as it can read, if that is less."""
    most = context if model.context is None else min(context, model.context)
    windows = [ids[place - most : place + 1] for place in places]
    return np.array([-float(logs[-1]) for logs in model.score(windows, [most] * len(windows))])


def context_gains(
    models: Mapping[str, LanguageModel],
    ids: np.ndarray,
    longest: int,
    step: int = STEP,
    share: float = HARDEST,
    sample: int = SAMPLE,
) -> dict[str, list[ContextGain]]:
    """What each model gains by every step of context, over the best of the group without it, on the hardest tokens."""
    places = np.linspace(longest, len(ids) - 1, min(sample, len(ids) - longest)).astype(int).tolist()
    lengths = range(step, longest + 1, step)
    by_context = {name: [losses(model, ids, places, length) for length in lengths] for name, model in models.items()}
    found: dict[str, list[ContextGain]] = {name: [] for name in models}
    for number, length in enumerate(lengths[1:], 1):
        best = np.min([each[number - 1] for each in by_context.values()], axis=0)
        hard = np.argsort(-best, kind="stable")[: max(1, round(share * len(best)))]
        for name, each in by_context.items():
            # the paper's relative loss with the same context is the baseline's; nothing is lost by knowing more
            now = np.minimum(best[hard], each[number][hard]).mean()
            found[name].append(ContextGain(length, float((best[hard].mean() - now) / max(best[hard].mean(), 1e-12))))
    return found


def effective_length(gains: Sequence[ContextGain], threshold: float = GAIN, step: int = STEP) -> int:
    """The context up to which every step more was a gain."""
    length = step
    for one in gains:
        if one.gain <= threshold:
            break
        length = one.context
    return length


def ids_of(models: Mapping[str, TrainedModel], corpus: Corpus, longest: int) -> np.ndarray:
    """The text as one stretch of the tokens that all models share."""
    (name, first), *others = models.items()
    if other := next((name for name, one in others if one.tokenizer.fingerprint != first.tokenizer.fingerprint), None):
        raise Fault(f"{other} has other tokens than {name}: what they gain cannot be compared.")
    if longest < 2 * STEP:
        raise Fault(f"--context {longest}: give at least {2 * STEP}, two steps of {STEP}.")
    ids = np.concatenate([text.ids for text in corpus.texts(first.tokenizer, name)] or [np.zeros(0, np.int64)])
    if len(ids) < longest + 10:
        raise Fault(f"{corpus.name} has {len(ids):,} tokens, too few for a context of {longest:,}.", "Give more text.")
    return ids


def report(models: Mapping[str, LanguageModel], ids: np.ndarray, longest: int, step: int = STEP) -> Report:
    gains = context_gains(models, ids, longest, step)
    lengths = {name: effective_length(each, GAIN, step) for name, each in gains.items()}
    records = [
        {"model": name, "effective context": f"{lengths[name]:,}"}
        | {f"to {one.context}": f"{one.gain:.1%}" for one in each}
        for name, each in gains.items()
    ]
    note = (
        f"Gain of each step of {step} positions over the best of these models without it, on the hardest {HARDEST:.0%} of "
        f"{min(SAMPLE, len(ids) - longest)} tokens; effective as long as it is more than {GAIN:.0%}. Lengths compare within "
        "one such group only."
    )
    return Report(
        "Relative effective context length", [], [Section("Context", Table.of(records), Text([note], note=True))]
    )
