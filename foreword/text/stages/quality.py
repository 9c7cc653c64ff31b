"""GPT-3's quality filter (Brown et al. 2020, appendix A): a classifier of good and bad samples, and a Pareto draw.

A document is kept if a draw from Pareto(9) is above 1 - score. So one in 512 of the worst documents is kept too:
P(keep) = (2 - score)^-9.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault
from foreword.basics.progress import say
from foreword.basics.seeds import chance
from foreword.text.corpus.files import file_state, texts
from foreword.text.corpus.stage import Documents, Stage, Tally
from foreword.text.document import in_batches
from foreword.text.splits import share
from foreword.text.stages.classifier import Classifier, auc

HELD_OUT = 0.2  # of the samples: they say how well good and bad are told apart
FEWEST = 10  # samples of each


def pareto(text: str, seed: int, shape: float) -> float:
    """A draw that depends on the text and the seed alone (Lomax, as numpy's `pareto`)."""
    return (1 - share(text, f"quality {seed}")) ** (-1 / shape) - 1


class Quality(Stage):
    """Logistic regression on hashed words, learned from your samples; documents are kept by a Pareto draw."""

    kind: str = "quality"
    good: list[str]  # files or folders of text like that wanted
    bad: list[str]  # and of text in general
    shape: float = 9.0
    seed: int = 0

    def settings(self) -> JsonObject:
        return {**super().settings(), **file_state([*self.good, *self.bad])}

    def prepare(self, folder: Path) -> JsonObject:
        good, bad = texts(self.good), texts(self.bad)
        if min(len(good), len(bad)) < FEWEST:
            raise Fault(
                f"quality: there are {len(good)} good and {len(bad)} bad samples; {FEWEST} of each are the least.",
                "Give more text, or text that is cut into more documents.",
            )
        every, truth = [*good, *bad], np.arange(len(good) + len(bad)) < len(good)
        held = np.asarray([share(text, "held out") < HELD_OUT for text in every])
        if len(set(truth[held])) < 2 or len(set(truth[~held])) < 2:
            held = np.arange(len(every)) % 5 == 0
        mixed = truth[~held].copy()
        chance(self.seed).shuffle(mixed)
        measured = {}
        for name, labels in (("auc_shuffled", mixed), ("auc", truth[~held])):
            some = [text for text, out in zip(every, held) if not out]
            model = Classifier.learned("words", some, np.where(labels, "good", "bad").tolist(), ["good"])
            scores = model.probabilities([text for text, out in zip(every, held) if out])[:, 0]
            measured[name] = round(auc(scores, truth[held]), 4)
        model.save(folder / "quality.npz")
        say(
            f"quality: on {held.sum()} held-out samples a good one scores above a bad one {measured['auc']:.1%} of the time "
            f"(AUC; with shuffled labels {measured['auc_shuffled']:.1%})."
        )
        return {"held_out": measured | {"samples": int(held.sum())}}

    def run(self, documents: Documents, tally: Tally, place: Path) -> Documents:
        model = Classifier.load("words", place / "quality.npz")
        for batch in in_batches(documents):
            scores = model.probabilities([document.text for document in batch])[:, 0]
            for document, score in zip(batch, scores.tolist()):
                noted = document.noted(self.kind, round(score, 4))
                if pareto(document.text, self.seed, self.shape) > 1 - score:
                    yield noted
                else:
                    tally.remove(f"quality below a draw, score {int(10 * score) / 10:.1f}", noted)
