"""What each token of a text cost, and what else was likely there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from foreword.generate.sample import likeliest
from foreword.model import LoadedModel
from foreword.networks.language_model import LanguageModel

AT_ONCE = 64  # rows of a distribution that are looked at together


@dataclass(frozen=True)
class PromptScores:
    """Of every token: its log-probability (none: nothing stood before it), its rank from 1, the entropy in nats, the others."""

    ids: list[int]
    log_probs: list[float | None]
    ranks: list[int | None]
    entropies: list[float | None]
    likeliest: list[Sequence[tuple[int, float]]]


def prompt_scores(opened: LoadedModel, ids: Sequence[int], alternatives: int) -> PromptScores:
    """A text as it is given, without anything before it: its first token is not guessed."""
    return token_scores(opened.language_model, list(ids), 1, alternatives, list(ids))


def token_scores(
    model: LanguageModel, sequence: Sequence[int], first: int, alternatives: int, shown: Sequence[int]
) -> PromptScores:
    """Scores of the tokens from number `first` on; of `shown`, the last are those that were scored.

    The log-probability of a token is exactly that of `score`. The rest is read off the distributions, if it is wanted.
    """
    ids, scored = np.asarray(sequence, np.int64), max(len(sequence) - first, 0)
    blank = len(shown) - scored
    logs = np.asarray(model.score([ids], [first])[0], np.float64).tolist() if scored else []
    ranks: list[int | None] = [None] * blank
    entropies: list[float | None] = [None] * blank
    likely: list[Sequence[tuple[int, float]]] = [()] * blank
    at = 0
    for rows in model.following(ids[:-1]) if scored else ():
        spread = torch.as_tensor(np.asarray(rows))[max(first - 1 - at, 0) :]
        start, at = max(at, first - 1), at + len(rows)
        for some, place in zip(spread.split(AT_ONCE), range(start, at, AT_ONCE)):
            tokens = torch.from_numpy(ids[place + 1 : place + 1 + len(some)])
            own = some.gather(1, tokens[:, None])
            ranks += ((some > own).sum(1) + 1).tolist()
            shares = some.exp()
            entropies += (-(shares * some.clamp(min=-1e9)).sum(1)).tolist()
            for token, log, found, nats in zip(
                tokens.tolist(), logs[place - first + 1 :], *likeliest(some, alternatives or 1)
            ):
                # the same number here and there, to the last bit: whoever asks which token is the likeliest compares them
                likely.append(
                    [(other, log if other == token else value) for other, value in zip(found.tolist(), nats.tolist())]
                )
    return PromptScores(list(shown), [None] * blank + logs, ranks, entropies, likely)
