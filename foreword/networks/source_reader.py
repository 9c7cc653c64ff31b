"""SourceReader: an encoder-decoder as a language model. A prompt is the source that it reads, what follows is the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foreword.batches.by_length import by_length
from foreword.networks.language_model import NeuralReader, State, _Reading


class SourceReader(NeuralReader):
    """The source is read once, whole; of the target, one token more at each step, with what was made of those before kept."""

    def __init__(self, *given: Any):
        super().__init__(*given)
        self.context = None  # rows of a target never start anew

    @torch.inference_mode()
    def begin(self, prompts: Sequence[np.ndarray]) -> tuple[Tensor, State]:
        rows = [np.asarray(prompt, np.int64) for prompt in prompts]
        output = self.network(self._inputs(rows, np.full((len(rows), 1), self.vocabulary.start)))
        return self.head.log_probs(output.last[:, -1]), _Reading(output.state, rows)

    def score(self, sequences: Sequence[np.ndarray], starts: Sequence[int]) -> list[np.ndarray]:
        raise TypeError("an encoder-decoder scores a target, given its source: score_targets")

    @torch.inference_mode()
    def score_targets(self, sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Log-probability of every token of each target, given its source and the tokens before it."""
        found: list[np.ndarray] = [np.zeros(0)] * len(targets)
        lengths = [max(len(source), len(target)) for source, target in zip(sources, targets)]
        for some in by_length(lengths, self.tokens_at_once):
            logits = self.logits([sources[i] for i in some], [targets[i] for i in some])
            for i, row in zip(some, logits):
                wanted = torch.from_numpy(np.asarray(targets[i], np.int64)).to(self.device)
                logs = row[: len(wanted)].float().log_softmax(-1).gather(1, wanted[:, None])[:, 0]
                found[i] = logs.double().cpu().numpy()
        return found

    @torch.inference_mode()
    def logits(self, sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]) -> Tensor:
        """[rows, longest target, vocabulary]: row i of a target's is what is said of its token i, given those before."""
        ids = np.full((len(targets), max(map(len, targets))), self.vocabulary.start)
        for row, target in zip(ids, targets):
            row[1 : len(target)] = np.asarray(target, np.int64)[:-1]
        return self.head.logits(self.network(self._inputs(sources, ids)).last)

    def _inputs(self, sources: Sequence[np.ndarray], ids: np.ndarray) -> Any:
        longest = max(map(len, sources))
        read, real = np.zeros((len(sources), longest), np.int64), np.zeros((len(sources), longest), bool)
        for row, there, source in zip(read, real, sources):
            row[: len(source)], there[: len(source)] = source, True
        placed = [torch.from_numpy(np.asarray(one)).to(self.device) for one in (ids, read, real)]
        return self.inputs(placed[0], source=placed[1], source_real=None if real.all() else placed[2])
