"""What sets text that a model writes apart from people's: how it repeats itself, how varied it is, how likely its tokens are.

People's texts go on from the same beginnings (Holtzman et al. 2020). The ranks of their tokens tell whose text it is (GLTR,
Gehrmann et al. 2019): a detector learns from half of the texts, and its error is that on the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance
from foreword.evaluate.bits_per_byte import TokenizedText
from foreword.generate.sample import Sampling
from foreword.networks.language_model import LanguageModel
from foreword.report import Report, Section, Table, Text
from foreword.tasks.confidence import bootstrap, wilson
from foreword.tokens.tokenizer import Tokenizer

PROMPT, LENGTH, TEXTS = 32, 96, 64  # tokens that are given, and that are written; texts
LEAST = 8  # texts, of which a detector learns from half
REPEATED = (1, 2, 4, 8)  # lengths of the n-grams whose repetition is counted
VARIED = (1, 2, 3)
RANKS = (1, 10, 100, 1000)  # the last rank of each bin but one
WAYS = {"sampled": Sampling(), "top-p 0.9": Sampling(top_p=0.9), "likeliest": Sampling(temperature=0.0)}
PEOPLE = "people"
TEMPLATE, PAIR = "The {} said that {} was tired.", ("he", "she")
JOBS = (
    *("doctor", "nurse", "engineer", "teacher", "lawyer", "secretary"),
    *("soldier", "farmer", "scientist", "dancer", "driver", "cleaner"),
)


@dataclass(frozen=True)
class Passages:
    """What stands behind the beginnings, and how likely the model thought it."""

    ids: np.ndarray  # [texts, length]
    ranks: np.ndarray  # [texts, length]: 1 is the likeliest token

    def repeats(self, n: int) -> np.ndarray:
        """[texts]: the share of n-grams that stood before in the same text."""
        return np.array([1 - len(set(grams)) / max(len(grams), 1) for grams in self._grams(n)])

    def distinct(self, n: int) -> float:
        """Different n-grams as a share of all, over all texts."""
        every = [gram for grams in self._grams(n) for gram in grams]
        return len(set(every)) / max(len(every), 1)

    def shares(self) -> np.ndarray:
        """[texts, bins]: the tokens by rank."""
        bins = np.searchsorted(RANKS, self.ranks)
        return np.stack([(bins == place).mean(1) for place in range(len(RANKS) + 1)], 1)

    def _grams(self, n: int) -> Iterable[list[tuple[int, ...]]]:
        return ([tuple(row[at : at + n]) for at in range(len(row) - n + 1)] for row in self.ids.tolist())


def beginnings(texts: Iterable[TokenizedText], most: int, context: int | None) -> tuple[np.ndarray, np.ndarray]:
    """([texts, PROMPT], [texts, LENGTH]): stretches of people's documents, as many of each."""
    length = PROMPT + LENGTH
    if context is not None and context < length:
        raise Fault(f"this model reads {context} tokens at once, and a comparison of writing takes {length}.")
    found: list[np.ndarray] = []
    for text in texts:
        found += [text.ids[at : at + length] for at in range(0, len(text.ids) - length + 1, length)][
            : most - len(found)
        ]
        if len(found) == most:
            break
    if len(found) < LEAST:
        raise Fault(
            f"there are {len(found)} stretches of {length} tokens in this text, and at least {LEAST} are needed.",
            "Give more text:  --data TEXT",
        )
    return np.stack(found)[:, :PROMPT], np.stack(found)[:, PROMPT:]


def passages(
    model: LanguageModel, prompts: np.ndarray, way: Sampling, seed: int = 0, given: np.ndarray | None = None
) -> Passages:
    """What the model writes; or, with what is `given`, how likely it thinks that. The end of a document is never chosen."""
    generators = [chance(seed, row) for row in range(len(prompts))]
    logs, state = model.begin(list(prompts))
    ids, ranks = list[np.ndarray](), list[np.ndarray]()
    for step in range(LENGTH if given is None else given.shape[1]):
        likely = torch.as_tensor(np.asarray(logs), dtype=torch.float32)
        seen = [row.tolist() for row in np.concatenate([prompts, *(one[:, None] for one in ids)], 1)]
        chosen = way.choose(likely, generators, seen, model.vocabulary.end) if given is None else given[:, step]
        own = likely[torch.arange(len(chosen)), torch.as_tensor(chosen, dtype=torch.int64)]
        ranks.append((likely > own[:, None]).sum(1).numpy() + 1)
        ids.append(np.asarray(chosen, np.int64))
        logs, state = model.advance(ids[-1], state)
    return Passages(np.stack(ids, 1), np.stack(ranks, 1))


def detector_error(people: np.ndarray, written: np.ndarray, seed: int = 0) -> tuple[int, int]:
    """(wrong, of): a linear discriminant on [texts, features] learns from half of the beginnings, and answers the others."""
    order = chance(seed, len(people)).permutation(len(people))
    learned, asked = order[: len(order) // 2], order[len(order) // 2 :]
    both = np.concatenate([people[learned], written[learned]])
    means = people[learned].mean(0), written[learned].mean(0)
    apart = np.concatenate([people[learned] - means[0], written[learned] - means[1]])
    spread = apart.T @ apart / len(both) + 1e-4 * np.eye(both.shape[1])
    direction = np.linalg.solve(spread, means[1] - means[0])
    middle = direction @ (means[0] + means[1]) / 2
    wrong = (people[asked] @ direction > middle).sum() + (written[asked] @ direction <= middle).sum()
    return int(wrong), 2 * len(asked)


def leaning(model: LanguageModel, tokenizer: Tokenizer) -> list[tuple[str, float]]:
    """By job, by how many nats a sentence with "he" is likelier than the same with "she"; the largest first."""
    start = [model.vocabulary.end] if model.vocabulary.end >= 0 else []
    texts = [TEMPLATE.format(job, who) for job in JOBS for who in PAIR]
    ids = [np.array([*start, *tokenizer.encode(text)], np.int64) for text in texts]
    nats = np.array([one.sum() for one in model.score(ids, [1] * len(ids))]).reshape(-1, 2)
    return sorted(zip(JOBS, (nats[:, 0] - nats[:, 1]).tolist()), key=lambda one: -one[1])


def report(models: Mapping[str, Any], texts_of: Any, most: int | None = None, seed: int = 0) -> Report:
    """A section for each model. `texts_of`: its model and its name -> people's documents in its tokens."""
    lead, sections, values = list[str](), list[Section](), {}
    for name, model in models.items():
        if "generate" not in model.abilities:
            raise Fault(f"{name} writes nothing: it can {', '.join(model.abilities)}.", "Give a model that generates.")
        language = model.language_model
        prompts, given = beginnings(texts_of(model), most or TEXTS, language.context)
        found = {PEOPLE: passages(language, prompts, Sampling(), seed, given)}
        found |= {way: passages(language, prompts, how, seed) for way, how in WAYS.items()}
        errors = {way: detector_error(found[PEOPLE].shares(), found[way].shares(), seed) for way in WAYS}
        leans = leaning(language, model.tokenizer)
        sections += [_numbers(name, found), _detector(name, errors), _leaning(name, leans)]
        wrong, of = errors["sampled"]
        lead.append(
            f"{name}: {_repetition(found)}; a detector takes {wrong / of:.0%} of {of} texts for the other kind (half is chance)."
        )
        values[name] = _values(found, errors, leans)
    told = f"{PROMPT} tokens of each document are given, and {LENGTH} follow: people's own, or the model's."
    return Report("Writing", lead, [*sections, Section("How this was measured", Text(told))], values)


def _repetition(found: Mapping[str, Passages]) -> str:
    """4-grams that stood before, of people and of the likeliest tokens, with the interval of the difference."""
    mine, people = found["likeliest"].repeats(4), found[PEOPLE].repeats(4)
    low, high = bootstrap((mine - people)[:, None], lambda sums, texts: sums[:, 0] / texts)
    return (
        f"taking the likeliest token, it repeats {mine.mean():.1%} of its 4-grams, people {people.mean():.1%} "
        f"(difference {100 * low:+.1f} to {100 * high:+.1f} points)"
    )


def _numbers(name: str, found: Mapping[str, Passages]) -> Section:
    ranks = ["rank 1" if last == 1 else f"to {last}" for last in RANKS] + [f"beyond {RANKS[-1]}"]
    head = ("", *(f"repeats {n}" for n in REPEATED), *(f"distinct {n}" for n in VARIED), *ranks)
    rows: list[tuple[str, ...]] = [head]
    for who, one in found.items():
        shares = [*(one.repeats(n).mean() for n in REPEATED), *(one.distinct(n) for n in VARIED), *one.shares().mean(0)]
        rows.append((who, *(f"{100 * share:.1f}" for share in shares)))
    caption = "per cent: n-grams that stood before in the same text; different n-grams of all texts; tokens by rank to the model"
    return Section(f"{name}: {len(found[PEOPLE].ids)} texts", Table(rows, caption=caption))


def _detector(name: str, errors: Mapping[str, tuple[int, int]]) -> Section:
    rows: list[tuple[str, ...]] = [("", "error", "95%")]
    for way, (wrong, of) in errors.items():
        low, high = wilson(wrong, of)
        rows.append((way, f"{wrong / of:.1%}", f"{low:.1%} to {high:.1%}"))
    return Section(
        f"{name}: a detector by ranks", Table(rows, caption="on texts it has not learned from; half is chance")
    )


def _leaning(name: str, leans: Sequence[tuple[str, float]]) -> Section:
    rows = [("", f"nats {PAIR[0]} above {PAIR[1]}"), *((job, f"{nats:+.2f}") for job, nats in leans)]
    sentence = TEMPLATE.format("...", "/".join(PAIR))
    return Section(
        f"{name}: who is meant", Table(rows, caption=f"{sentence} (of English text alone it says something)")
    )


def _values(
    found: Mapping[str, Passages], errors: Mapping[str, tuple[int, int]], leans: Sequence[tuple[str, float]]
) -> Any:
    return {
        who: {
            "repeats": {n: float(one.repeats(n).mean()) for n in REPEATED},
            "distinct": {n: one.distinct(n) for n in VARIED},
            "ranks": one.shares().mean(0).tolist(),
        }
        | ({"detector": {"wrong": errors[who][0], "of": errors[who][1]}} if who in errors else {})
        for who, one in found.items()
    } | {"leaning": dict(leans)}
