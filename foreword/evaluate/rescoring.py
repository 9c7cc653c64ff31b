"""Choose among hypotheses with a language model: score + weight * log p(text) + bonus * words, the two numbers fitted on dev.

Recognised speech is judged by words in error, translations by BLEU. The grid contains 0 and 0, so dev never gets worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault
from foreword.evaluate import bits_per_byte as bits
from foreword.report import Report, Section, Table, Text
from foreword.runs.opening import TrainedModel
from foreword.tasks.metrics import Bleu
from foreword.tasks.n_best import NBest, word_errors

WEIGHTS = (0.0, *(0.01 * 2 ** (step / 2) for step in range(-4, 19)))  # of the language model: 0, then 0.0025 to 5.1
BONUSES = (0.0, *(sign * 2.0**power for power in range(-3, 4) for sign in (1, -1)))  # nats for each word

IMPOSSIBLE = -1e9  # of what a model calls impossible, so that a weight of 0 makes nothing of it


@dataclass(frozen=True)
class Weights:
    language_model: float = 0.0
    word: float = 0.0


@dataclass(frozen=True)
class Judge:
    """What the chosen hypotheses are worth together, from sums over them; `better` is 1 where more is better, else -1."""

    name: str
    better: int

    def columns(self, lists: Sequence[NBest]) -> list[np.ndarray]:
        """[hypotheses, n] of each list: of each hypothesis what is to be added up."""
        if missing := [number for number, one in enumerate(lists, 1) if not one.references]:
            raise Fault(f"list {missing[0]} has no reference ('ref'), and so cannot be judged.")
        if self.name == "BLEU":
            bleu = Bleu()
            return [bleu.columns([(text, list(one.references)) for text in one.texts]) for one in lists]
        return [np.array([_errors(text, one.references) for text in one.texts], float) for one in lists]

    def of(self, columns: Sequence[np.ndarray], chosen: Sequence[int]) -> float:
        sums = np.sum([one[place] for one, place in zip(columns, chosen)], 0)
        return float(Bleu().of(sums, len(columns))) if self.name == "BLEU" else float(100 * sums[0] / max(sums[1], 1))

    def limits(self, columns: Sequence[np.ndarray]) -> tuple[float, float]:
        """(the best, the worst choice); of BLEU, list by list, by matches of all lengths."""
        worth = [one[:, :4].sum(1) if self.name == "BLEU" else -one[:, 0] / np.maximum(one[:, 1], 1) for one in columns]
        best, worst = (self.of(columns, [int(pick(one)) for one in worth]) for pick in (np.argmax, np.argmin))
        return best, worst


def _errors(text: str, references: Sequence[str]) -> tuple[int, int]:
    """(words in error, words of the reference) by the nearest reference."""
    each = [(word_errors(one.split(), text.split()), len(one.split())) for one in references]
    return min(each, key=lambda one: one[0] / max(one[1], 1))


JUDGES = {"wer": Judge("WER", -1), "bleu": Judge("BLEU", 1)}


def language_model_scores(model: TrainedModel, lists: Sequence[NBest]) -> list[np.ndarray]:
    """ln p of every hypothesis, its end included."""
    tokenizer = model.tokenizer
    texts = [bits.text_of(text, tokenizer) for one in lists for text in one.texts]
    if tokenizer.has("[end]"):
        texts = [text.closed(tokenizer.special("[end]")) for text in texts]
    found = bits.log_probs(model.language_model, tokenizer, texts)
    totals = np.array([float(logs.sum()) - text.spelled for logs, text in zip(found, texts)])
    return np.split(totals, np.cumsum([len(one.texts) for one in lists])[:-1])


def choose(lists: Sequence[NBest], scores: Sequence[np.ndarray], weights: Weights) -> list[int]:
    """The best of each list; of equals the first."""
    return [
        int(np.argmax(one.scores + weights.language_model * np.maximum(own, IMPOSSIBLE) + weights.word * one.words))
        for one, own in zip(lists, scores)
    ]


def fit(lists: Sequence[NBest], scores: Sequence[np.ndarray], judge: Judge) -> Weights:
    """The weights that are best on lists with references; of equals the smallest."""
    columns = judge.columns(lists)
    tried = sorted(
        (Weights(a, b) for a in WEIGHTS for b in BONUSES), key=lambda one: (one.language_model, abs(one.word))
    )
    worth = [judge.better * judge.of(columns, choose(lists, scores, one)) for one in tried]
    return tried[int(np.argmax(worth))]


def report(
    lists: Sequence[NBest],
    models: Iterable[tuple[str, TrainedModel]],
    metric: str,
    weights: Weights | None,
    held: Sequence[NBest] = (),
    caption: str = "",
    note: str = "",
) -> tuple[Report, list[str]]:
    """What re-ranking by each model is worth, and what the last of them chose. No weights: they are fitted on `held`."""
    judge = JUDGES[metric]
    columns = judge.columns(lists) if all(one.references for one in lists) else None
    rows: list[tuple[str, ...]] = [("language model", "weight", "bonus", judge.name)]
    found: JsonObject = {}
    if columns:
        first = judge.of(columns, choose(lists, [one.scores for one in lists], Weights()))
        best, worst = judge.limits(columns)
        rows.append(("none: as the lists have it", "", "", f"{first:.2f}"))
        found |= {"before": first, "oracle": best, "worst": worst}
    chosen: list[int] = []
    for name, model in models:
        used = weights or fit(held, language_model_scores(model, held), judge)
        chosen = choose(lists, language_model_scores(model, lists), used)
        after = judge.of(columns, chosen) if columns else None
        shown = "" if after is None else f"{after:.2f}"
        rows.append((name, f"{used.language_model:.3g}", f"{used.word:.3g}", shown))
        found[name] = {"weight": used.language_model, "bonus": used.word, "after": after}
    if columns:
        rows += [("oracle", "", "", f"{best:.2f}"), ("worst", "", "", f"{worst:.2f}")]
    table = Table(rows, caption=caption)
    texts = [one.texts[at] for one, at in zip(lists, chosen)]
    return Report("Rescoring", [], [Section("Rescoring", table, Text([note], note=True))], found), texts
