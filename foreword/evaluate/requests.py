"""A language model that answers requests of tasks, and what is counted on the way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from foreword.basics.messages import Fault
from foreword.networks.language_model import LanguageModel
from foreword.runs.folder import RunFolder
from foreword.runs.opening import TrainedModel
from foreword.runs.place import model_place
from foreword.tokens.store import TokenStore
from foreword.tokens.tokenizer import Tokenizer

ROWS = 64  # requests that are answered together, at most


@dataclass
class RequestCounts:
    """What happened to requests on their way, for the report."""

    requests: int = 0
    cut: int = 0  # lost the beginning of their context
    tokens: int = 0  # asked about or read
    unknown: int = 0


@dataclass
class PromptedModel:
    """A language model that is asked, and what there is to say about how it was."""

    name: str
    model: LanguageModel
    tokenizer: Tokenizer
    counts: RequestCounts = field(default_factory=RequestCounts)
    closes: int | None = None  # the id behind what it reads, of a model that writes from a source; None: it goes on
    limit: int | None = None  # the most ids of a source
    frequencies: np.ndarray | None = None  # log-probability of each id by how often it occurs in the training text

    @classmethod
    def of(cls, model: TrainedModel) -> PromptedModel:
        if "translate" in model.abilities:
            end, limit = model.tokenizer.special("[end]"), model.with_heads.network.context
            return cls(model.name, model.writer, model.tokenizer, closes=end, limit=limit)
        return cls(model.name, model.language_model, model.tokenizer, frequencies=frequencies(model))

    @property
    def context(self) -> int | None:
        return self.model.context

    def source(self, ids: np.ndarray) -> tuple[np.ndarray, bool]:
        """What an encoder reads of these ids, with their end, and whether it had to be cut."""
        room = None if self.limit is None else self.limit - 1
        return np.append(np.asarray(ids, np.int64)[:room], self.closes or 0), room is not None and len(ids) > room

    def unigram(self, ids: np.ndarray) -> float:
        return math.nan if self.frequencies is None else float(self.frequencies[ids].sum())

    def count(self, ids: Sequence[np.ndarray], cut: int) -> None:
        unknown = self.tokenizer.special("[unknown]") if self.tokenizer.has("[unknown]") else -1
        self.counts.requests += len(ids)
        self.counts.cut += cut
        self.counts.tokens += sum(map(len, ids))
        self.counts.unknown += sum(int((one == unknown).sum()) for one in ids)


def frequencies(model: TrainedModel) -> np.ndarray | None:
    """Log-probability of each id in the text that a run was trained on, one added to every count; None: it is not there."""
    store = RunFolder(model_place(model.name).folder).passport().get("store", "")
    try:
        opened = TokenStore.open(Path(store), "train") if store else None
    except Fault:
        return None
    if opened is None or opened.fingerprint != model.tokenizer.fingerprint:
        return None
    return np.log((opened.counts + 1) / (opened.counts.sum() + len(opened.counts)))
