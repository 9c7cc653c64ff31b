"""Self-training: a labeller labels more text, and a student learns from its surest labels too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from foreword.tasks.example import Example
from foreword.transfer.linear import LinearLabeller, Setting, logistic, stacked, texts_of

SUREST, TRUST = 0.6, 0.3  # of the texts, those labelled with most confidence; what such a label counts
LONGEST_LIST = 20_000  # texts at most


def taught(teacher: LinearLabeller, train: Sequence[Example], more: Sequence[str], setting: Setting) -> LinearLabeller:
    """The student, with the teacher's features."""
    unlabelled = [Example(str(number), (text,)) for number, text in enumerate(more) if text.strip()]
    if not unlabelled:
        return teacher
    shares = teacher.shares(unlabelled)
    surest = np.argsort(-shares.max(1), kind="stable")[: round(SUREST * len(unlabelled))]
    texts = [*texts_of(train), *(unlabelled[place].texts for place in surest)]
    right = [*(str(example.label) for example in train), *(teacher.labels[one] for one in shares[surest].argmax(1))]
    counts = np.concatenate([np.ones(len(train)), np.full(len(surest), TRUST)])
    model = logistic(teacher.kind, setting.strength)
    model.fit(stacked([block.of(texts) for block in teacher.blocks], setting.weights), right, counts)
    return replace(
        teacher, labels=tuple(map(str, model.classes_)), coefficients=model.coef_, intercepts=model.intercept_
    )
