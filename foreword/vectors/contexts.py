"""Which words stand around which: a stretch of ids without its rare symbols, thinned, and the window of each word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from foreword.basics.messages import Fault
from foreword.kernels.word_vectors import WordSequence
from foreword.vectors.table import VectorTable

Form = Literal["code", "paper"]


def kept_shares(counts: np.ndarray, threshold: float, form: Form) -> np.ndarray:
    """With what probability each word stays in the text (Mikolov et al. 2013, section 2.3).

    paper: sqrt(t / f); code: sqrt(t / f) + t / f, as the program that came with it has it. 0: all stay.
    """
    shares = np.maximum(counts, 1) / max(counts.sum(), 1)
    if not threshold:
        return np.ones(len(counts))
    ratio = threshold / shares
    return np.minimum(1.0, np.sqrt(ratio) + (ratio if form == "code" else 0.0))


class Contexts:
    """Windows that end where a document or a line does. Unknown words leave the text before windows are laid.

    `before`: they end before the word itself. A window of 0: nothing stands around a word but its document.
    """

    def __init__(
        self, table: VectorTable, window: int, subsample: float, form: Form, shrink: bool, before: bool = False
    ):
        vocabulary = table.vocabulary
        self.window, self.shrink, self.before = window, shrink and window > 0, before
        self.counts = np.where(table.words(), table.counts, 0)
        lines = [id for id, piece in enumerate(vocabulary.pieces) if piece == "\n"]
        self.counts[lines] = 0
        if not self.counts.any():
            raise Fault(
                "no word is left to learn from: every one is rarer than the tokenizer's minimum.",
                "Give more text, or a smaller minimum:  --set tokenizer.minimum=1",
            )
        self.border = np.zeros(vocabulary.size, np.int64)
        self.border[[*lines, *([vocabulary.end] if vocabulary.end >= 0 else [])]] = 1
        self.kept = kept_shares(self.counts, subsample, form)

    def stretch(
        self, texts: Sequence[np.ndarray], draw: np.random.Generator, documents: Sequence[int] = (), alike: bool = False
    ) -> WordSequence:
        """Several texts one behind the other. `documents`: the row that is each text's own.

        alike: each text draws as if it were the only one, so that those beside it do not matter.
        """
        ids = np.concatenate([*texts]) if texts else np.zeros(0, np.int64)
        lengths = [len(text) for text in texts]
        sentence = np.cumsum(self.border[ids]) + np.repeat(np.arange(len(texts)), lengths)
        numbers = np.concatenate([np.zeros(0, int), *map(np.arange, lengths)]) if alike else np.arange(len(ids))
        drawn = draw.random((max(lengths, default=0) if alike else len(ids), 2))[numbers]
        stays = (self.counts[ids] > 0) & (drawn[:, 0] < self.kept[ids])
        ids, sentence, drawn = ids[stays], sentence[stays], drawn[stays, 1]
        place = np.arange(len(ids))
        reach = 1 + (drawn * self.window).astype(int) if self.shrink else np.full(len(ids), self.window)
        starts = np.flatnonzero(np.diff(sentence, prepend=-1))
        number = np.cumsum(np.diff(sentence, prepend=-1) > 0) - 1
        ends = np.append(starts[1:], len(ids))
        first = np.maximum(starts[number], place - reach)
        last = place + 1 if self.before else np.minimum(ends[number], place + reach + 1)
        own = np.repeat(np.asarray(documents, np.int32), lengths)[stays] if len(documents) else None
        draws_as = numbers[stays].astype(np.int32) if alike else None
        return WordSequence(ids.astype(np.int32), first.astype(np.int32), last.astype(np.int32), own, draws_as)
