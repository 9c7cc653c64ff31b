"""Which of several replies to give: the one from which its source is best recalled (Li et al. 2016; Zhang et al. 2020, 3.3).

A dull reply follows anything, so from it nothing can be recalled. A backward model, which reads the newest turn first, says how
well: P(source | reply). Only tokens of the source are charged. The reply's own would bring back what is to be avoided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foreword.basics.messages import Fault
from foreword.networks.language_model import LanguageModel
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.turns import join_turns


class TextModel(NamedTuple):
    """A language model and the tokenizer whose ids it reads."""

    model: LanguageModel
    tokenizer: Tokenizer

    def encode(self, turns: Sequence[str]) -> list[np.ndarray]:
        return self.tokenizer.encode_many(list(turns))


@dataclass(frozen=True)
class ReplyRanking:
    """balance * log P(reply | source) + (1 - balance) * log P(source | reply) + length_bonus * tokens of the reply."""

    balance: float = 0.0  # 0: the source's recall alone, as in the paper; 1: likelihood alone
    length_bonus: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.balance <= 1:
            raise Fault(f"balance must lie between 0 and 1 (it says {self.balance}).")

    def score(self, forward: float, backward: float, tokens: int) -> float:
        return self.balance * forward + (1 - self.balance) * backward + self.length_bonus * tokens


def last_that_fit(turns: Sequence[np.ndarray], room: int | None) -> list[np.ndarray]:
    """The newest turns whose ids, an [end] each, fit `room`: whole ones, but of a newest that is too long its end."""
    if room is None:
        return list(turns)
    kept: list[np.ndarray] = []
    for turn in reversed(turns):
        room -= len(turn) + 1
        if room < 0:
            break
        kept.insert(0, turn)
    if not kept and len(turns):
        whole = turns[-1]
        return [whole[max(0, len(whole) - max(1, room + len(whole))) :]]  # room + len: what was there, less its [end]
    return kept


def backward_sequence(source: Sequence[np.ndarray], reply: np.ndarray, tokenizer: Tokenizer) -> tuple[np.ndarray, int]:
    """(the reply, then the source from its newest turn to its oldest; where the source begins)."""
    return join_turns([reply, *reversed(source)], tokenizer), len(join_turns([reply], tokenizer))


def backward_scores(backward: TextModel, source: Sequence[str], replies: Sequence[str]) -> list[float]:
    """log P(source | reply) for each reply. What of a long source is left out is left out for all of them."""
    said = backward.encode(replies)
    begin = len(join_turns([], backward.tokenizer))
    limit = backward.model.context
    room = None if limit is None else limit + 1 - begin - max(len(reply) + 1 for reply in said)
    if room is not None and room < 2:
        raise Fault(
            f"the backward model looks back {limit} tokens: a reply of {max(map(len, said))} leaves its source no room.",
            "Give fewer --max-tokens, or a backward model with a longer context.",
        )
    kept = last_that_fit(backward.encode(source), room)
    built = [backward_sequence(kept, reply, backward.tokenizer) for reply in said]
    found = backward.model.score([ids for ids, _ in built], [start for _, start in built])
    return [float(np.sum(one)) for one in found]
