"""SpanCorruption: hide short spans of the source, and write them out in the target (Raffel et al. 2019, section 3.1.4)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.numbers import Positive, Share
from foreword.batches.row import Row
from foreword.objectives.base import Batch
from foreword.objectives.corruptions import STYLES, Style
from foreword.objectives.translation import FromSource
from foreword.tokens.tokenizer import Tokenizer


class SpanCorruption(FromSource):
    """Every hidden span is named by one token, in the source and before its words in the target."""

    kind: Literal["span_corruption"] = "span_corruption"
    specials: ClassVar[tuple[str, ...]] = ("[pad]", "[end]", "[span0]")
    style: Style = "spans"  # how source and target are made
    rate: Share = 0.15  # share of tokens that are hidden
    span: Positive = 3.0  # their mean number in a span

    def faults(self) -> list[tuple[str, str]]:
        found = super().faults()
        found += [] if 0 < self.rate < 1 else [("rate", f"rate must lie between 0 and 1 (it says {self.rate}).")]
        return found + ([] if self.span >= 1 else [("span", f"a span has at least 1 token (it says {self.span}).")])

    def row_ids(self, positions: int, texts: int) -> int:
        """The longest text whose source, with its [end], fits."""
        if self.style != "spans":
            return max(positions - 1, 2)  # source and target may each be as long as the text
        ids = positions
        while self._source(ids + 1) <= positions:
            ids += 1
        return ids

    def _source(self, ids: int) -> int:
        hidden, spans = self.sizes(ids)
        return ids - hidden + spans + 1

    def sizes(self, ids: int) -> tuple[int, int]:
        """(tokens hidden, spans they are in) of a text of so many tokens."""
        hidden = min(max(round(ids * self.rate), 1), ids - 1)
        return hidden, min(max(round(hidden / self.span), 1), ids - hidden)

    def collate(self, rows: list[Row], tokenizer: Tokenizer) -> Batch:
        sources, targets = zip(*(self.corrupted(row.ids, tokenizer, row.chance) for row in rows))
        return self.batch(sources, targets, tokenizer)

    def corrupted(
        self, ids: np.ndarray, tokenizer: Tokenizer, draw: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """(source, target); a text starts with a token that is kept, and hidden spans never touch."""
        if len(ids) < 2:
            return np.append(ids, tokenizer.special("[end]")), np.asarray([tokenizer.special("[end]")])
        hidden, spans = self.sizes(len(ids))
        if self.style != "spans":
            chosen = np.isin(np.arange(len(ids)), draw.permutation(len(ids))[:hidden])
            close = tokenizer.special("[end]")
            source, target = STYLES[self.style](np.asarray(ids), chosen, tokenizer, draw)
            return np.append(source, close).astype(np.int64), np.append(target, close).astype(np.int64)
        if not tokenizer.has(f"[span{spans - 1}]"):
            raise Fault(
                f"a row of {len(ids)} tokens has {spans} hidden spans, and {tokenizer.name} names fewer.",
                f"Make a tokenizer that names them:  --set tokenizer.spans={spans}, or shorter rows.",
            )
        lengths = np.stack([_parts(len(ids) - hidden, spans, draw), _parts(hidden, spans, draw)], 1).ravel()
        pieces = np.split(ids, np.cumsum(lengths)[:-1])
        names = [[tokenizer.special(f"[span{number}]")] for number in range(spans)]
        end = [tokenizer.special("[end]")]
        read = [part for kept, name in zip(pieces[::2], names) for part in (kept, name)]
        written = [part for name, gone in zip(names, pieces[1::2]) for part in (name, gone)]
        return np.concatenate([*read, end]).astype(np.int64), np.concatenate([*written, end]).astype(np.int64)


def _parts(total: int, parts: int, draw: np.random.Generator) -> np.ndarray:
    """`total` in so many parts of at least one, every way to do it equally likely."""
    cuts = np.sort(draw.permutation(total - 1)[: parts - 1]) + 1
    return np.diff(np.concatenate([[0], cuts, [total]]))
