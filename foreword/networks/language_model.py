"""LanguageModel: anything that can say how likely each next token is; and how a network becomes one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from foreword.batches.by_length import POSITIONS, by_length
from foreword.tokens.vocabulary import Vocabulary

if TYPE_CHECKING:
    from foreword.networks.base import Network


State = Any  # made and read only by the model it belongs to; None means "nothing remembered".
#                Every tensor in it has the batch as its first dimension.
Logs = Any  # log-probabilities: numpy of count models, torch of networks


class LanguageModel(Protocol):
    """What generation, evaluation and mixtures ask. Count models answer in numpy, networks in torch."""

    context: int | None  # the most tokens it can read at once; None: no limit
    reach: int | None  # how far back it can see; None: no limit
    vocabulary: Vocabulary

    def begin(self, prompts: Sequence[np.ndarray]) -> tuple[Logs, State]:
        """Log-probabilities of the next token [batch, vocabulary] and a state. Prompts may differ in length."""

    def advance(self, tokens: np.ndarray, state: State) -> tuple[Logs, State]:
        """The same, one token later. tokens [batch]"""

    def select(self, state: State, rows: np.ndarray) -> State:
        """The state of some of the rows, in that order."""

    def join(self, state: State, other: State) -> State:
        """One state of the rows of both, the other's behind."""

    def score(self, sequences: Sequence[np.ndarray], starts: Sequence[int]) -> list[np.ndarray]:
        """Log-probability of every token from `start` on, each given all of its sequence before it."""

    def following(self, ids: np.ndarray) -> Iterator[Logs]:
        """Of the token after each token of a text, some places at a time: [places, vocabulary]."""


def first_tokens(prompts: Sequence[np.ndarray], vocabulary: Vocabulary) -> list[np.ndarray]:
    """What to read first: an empty prompt is the start of a document, which the end of another marks."""
    if any(len(prompt) == 0 for prompt in prompts) and vocabulary.end < 0:
        raise ValueError("an empty prompt needs a tokenizer with an end-of-document token")
    return [np.asarray(prompt if len(prompt) else [vocabulary.end], np.int64) for prompt in prompts]


@dataclass
class _Reading:
    """Where a NeuralReader stands: what the network remembers, and, if its context is limited, the ids of each row."""

    state: State
    rows: list[np.ndarray]


class NeuralReader:
    """A network that reads left to right, asked one token at a time or a whole text at once."""

    tokens_at_once = POSITIONS  # that one call of the network takes

    def __init__(self, network: Network, head: Any, vocabulary: Vocabulary, inputs: Callable[..., Any]):
        self.network, self.head, self.vocabulary, self.inputs = network, head, vocabulary, inputs
        self.context, self.reach = network.context, network.reach

    @property
    def device(self) -> torch.device:
        return next(self.network.parameters()).device

    @torch.inference_mode()
    def begin(self, prompts: Sequence[np.ndarray]) -> tuple[Tensor, State]:
        rows = first_tokens(prompts, self.vocabulary)
        kept = [row if self.context is None else row[-self.context :] for row in rows]
        longest = max(len(row) for row in kept)
        ids = np.zeros((len(kept), longest), np.int64)
        real = np.zeros((len(kept), longest), bool)
        for row, out, there in zip(kept, ids, real):  # the newest token of every row stands last
            out[longest - len(row) :], there[longest - len(row) :] = row, True
        padding = None if real.all() else torch.from_numpy(real).to(self.device)
        output = self.network(self.inputs(torch.from_numpy(ids).to(self.device), real=padding))
        return self.head.log_probs(output.last[:, -1]), _Reading(output.state, kept)

    @torch.inference_mode()
    def advance(self, tokens: np.ndarray, state: State) -> tuple[Tensor, State]:
        rows = state.rows
        if self.context is not None:
            rows = [np.append(row, token) for row, token in zip(rows, np.asarray(tokens, np.int64))]
            if max(map(len, rows)) > self.context:
                # the positions are used up: a row that is full reads its later half again and goes on from there
                return self.begin(
                    [row if len(row) <= self.context else row[-(self.context // 2 + 1) :] for row in rows]
                )
        ids = torch.as_tensor(np.asarray(tokens, np.int64)[:, None], device=self.device)
        output = self.network(self.inputs(ids), state.state)
        return self.head.log_probs(output.last[:, -1]), _Reading(output.state, rows)

    def select(self, state: State, rows: np.ndarray) -> State:
        index = torch.as_tensor(np.asarray(rows, np.int64), device=self.device)
        chosen = tree_map(lambda x: x[index] if isinstance(x, Tensor) else x, state.state)
        return _Reading(chosen, [state.rows[i] for i in rows])

    def join(self, state: State, other: State) -> State:
        rows = [*state.rows, *other.rows]
        (mine, form), (theirs, other_form) = tree_flatten(state.state), tree_flatten(other.state)
        if form == other_form and all(one.shape[1:] == two.shape[1:] for one, two in zip(mine, theirs)):
            return _Reading(tree_unflatten([torch.cat(both) for both in zip(mine, theirs)], form), rows)
        if self.context is None:
            raise TypeError(f"what {type(self.network).__name__} remembers of texts of unequal length cannot be joined")
        return self.begin(rows)[1]  # what is remembered differs in length: the texts are read again

    @torch.inference_mode()
    def score(self, sequences: Sequence[np.ndarray], starts: Sequence[int]) -> list[np.ndarray]:
        found: list[np.ndarray] = [np.zeros(0)] * len(sequences)
        for chosen in by_length([len(sequence) for sequence in sequences], self.tokens_at_once):
            for i, row in zip(chosen, self._score([sequences[i] for i in chosen], [starts[i] for i in chosen])):
                found[i] = row
        return found

    @torch.inference_mode()
    def following(self, ids: np.ndarray) -> Iterator[Tensor]:
        if self.context is not None and len(ids) > self.context:
            raise ValueError(f"a window of {len(ids)} tokens is longer than the context of {self.context}")
        placed, state = torch.from_numpy(np.asarray(ids, np.int64)).to(self.device), None
        for piece in placed.split(self.context or 1024):
            output = self.network(self.inputs(piece[None]), state)
            state = output.state
            for some in output.last[0].split(64):  # a row is as long as the vocabulary
                yield self.head.log_probs(some).cpu()

    def _score(self, sequences: list[np.ndarray], starts: list[int]) -> list[np.ndarray]:
        longest = max(map(len, sequences)) - 1
        if self.context is not None and longest > self.context:
            raise ValueError(f"a window of {longest} tokens is longer than the context of {self.context}")
        ids = np.zeros((len(sequences), longest + 1), np.int64)
        wanted = np.zeros((len(sequences), longest), bool)
        for i, (sequence, start) in enumerate(zip(sequences, starts)):
            ids[i, : len(sequence)] = sequence
            wanted[i, max(start, 1) - 1 : len(sequence) - 1] = True  # a first token has nothing before it
        placed = torch.from_numpy(ids).to(self.device)
        nats = np.zeros(wanted.shape)
        state = None
        piece = self.context or 1024
        for at in range(0, longest, piece):  # a network without a limit carries its state from piece to piece
            stop = min(at + piece, longest)
            output = self.network(self.inputs(placed[:, at:stop]), state)
            state = output.state
            here = torch.from_numpy(wanted[:, at:stop]).to(self.device)
            if bool(here.any()):
                hidden, targets = output.last[here], placed[:, at + 1 : stop + 1][here]
                parts = [self.head.nll(h, t) for h, t in zip(hidden.split(1024), targets.split(1024))]
                nats[:, at:stop][wanted[:, at:stop]] = torch.cat(parts).double().cpu().numpy()
        return [-row[keep] for row, keep in zip(nats, wanted)]
