"""BLEU of whole texts, as sacrebleu counts it: never of sub-words, and with the settings it was counted with."""

from __future__ import annotations

from collections.abc import Sequence

from foreword.basics.files import JsonObject
from foreword.basics.packages import needed


def bleu(texts: Sequence[str], references: Sequence[str]) -> JsonObject:
    """BLEU in points from 0 to 100 (Papineni et al. 2002), and sacrebleu's name for how it was counted."""
    metric = needed("sacrebleu.metrics", "tasks", "BLEU needs").BLEU()
    score = metric.corpus_score(list(texts), [list(references)])
    return {"bleu": score.score, "signature": str(metric.get_signature())}
