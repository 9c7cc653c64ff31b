"""Dynamic evaluation: a network goes on learning from the text that it scores (Mikolov et al. 2010, section 2)."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch

from foreword.basics.messages import Fault
from foreword.networks.base import Inputs, Model
from foreword.networks.language_model import NeuralReader
from foreword.tokens.vocabulary import Vocabulary

PIECE = 20  # tokens between two updates


class DynamicReader(NeuralReader):
    """A copy that learns: texts are read one after the other, and what was learned from one is there for the next.

    A piece costs what the weights before it say, so nothing is charged that was already seen.
    """

    def __init__(self, model: Model, vocabulary: Vocabulary, rate: float):
        own = copy.deepcopy(model).eval()  # no dropout: what is charged is what a reader would say
        super().__init__(own.network, own.heads["tokens"], vocabulary, Inputs)
        if self.context is not None:
            raise Fault(
                f"{type(own.network).__name__} reads at most {self.context} tokens at once and carries nothing on.",
                "Dynamic evaluation is for recurrent networks; leave out --dynamic.",
            )
        self.rate, self.weights = rate, list(own.parameters())

    def score(self, sequences: Sequence[np.ndarray], starts: Sequence[int]) -> list[np.ndarray]:
        return [self._read(np.asarray(ids, np.int64), max(start, 1)) for ids, start in zip(sequences, starts)]

    @torch.enable_grad()
    def _read(self, ids: np.ndarray, start: int) -> np.ndarray:
        placed, state, found = torch.from_numpy(ids).to(self.device), None, []
        for at in range(0, len(ids) - 1, PIECE):
            stop = min(at + PIECE, len(ids) - 1)
            output = self.network(self.inputs(placed[None, at:stop]), state)
            nats = self.head.nll(output.last[0], placed[at + 1 : stop + 1])
            state = output.state
            found.append(-nats.detach().double().cpu().numpy())
            slopes = torch.autograd.grad(nats.sum(), self.weights, allow_unused=True)
            with torch.no_grad():
                for weight, slope in zip(self.weights, slopes):
                    if slope is not None:
                        weight.sub_(self.rate * slope)
        return np.concatenate(found)[start - 1 :] if found else np.zeros(0)
