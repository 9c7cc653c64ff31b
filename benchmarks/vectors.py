"""`make bench ARGS=vectors`: words per second of word2vec and paragraph vectors beside gensim's, on the same words and settings.

Words are counted before frequent ones are left out. A core-second is a second of one core, whoever's threads used it: a machine
that others use too then still compares.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

WIDTH, WINDOW, NEGATIVES, SUBSAMPLE, RATE = 100, 5, 5, 1e-3, 0.025
WORDS, VOCABULARY, SENTENCE = 1_000_000, 30_000, 25
ROUNDS = 3
AT_ONCE = 10_000  # words between two looks at the clock, as in a run


@dataclass(frozen=True)
class Way:
    name: str
    kind: str  # of the objective
    gensim: dict[str, Any]
    documents: bool = False


WAYS = (
    Way("skip-gram", "skip_gram", {"sg": 1}),
    Way("CBOW", "cbow", {"sg": 0}),
    Way("PV-DM, mean", "distributed_memory", {"dm": 1, "dm_mean": 1}, True),
    Way("PV-DBOW with words", "distributed_bag_of_words", {"dm": 0, "dbow_words": 1}, True),
)


def sentences(words: int) -> list[np.ndarray]:
    """Ids by Zipf's law, as text has them: 0 is an end, 1 is unknown, 2 a new line."""
    draw = np.random.default_rng(0)
    weights = 1 / (np.arange(VOCABULARY - 3) + 2.7)
    ids = 3 + np.searchsorted(np.cumsum(weights / weights.sum()), draw.random(words)).clip(0, VOCABULARY - 4)
    return np.split(ids, range(SENTENCE, words, SENTENCE))


def ours(way: Way, texts: list[np.ndarray], threads: int) -> Callable[[], None]:
    from foreword.batches.row import Row
    from foreword.objectives import KINDS
    from foreword.tokens.vocabulary import Vocabulary
    from foreword.vectors.table import DocumentTable

    counts = np.bincount(np.concatenate(texts), minlength=VOCABULARY)
    pieces = ("<end>", "<unk>", "\n", *map(str, range(3, VOCABULARY)))
    objective = KINDS.find(way.kind)(window=WINDOW, negatives=NEGATIVES, subsample=SUBSAMPLE)
    table = DocumentTable(Vocabulary(VOCABULARY, 0, (), pieces, counts, 1, len(texts)), WIDTH)
    made = objective.prepare(table)
    table.begin(0)
    each = AT_ONCE // SENTENCE
    steps = [
        [Row(text, 0, 0, document=start + n) for n, text in enumerate(texts[start : start + each])]
        for start in range(0, len(texts), each)
    ]

    def go() -> None:
        for number, rows in enumerate(steps):
            objective.learn(table, made, rows, RATE, number, threads)

    return go


def gensims(way: Way, texts: list[np.ndarray], threads: int) -> Callable[[], None]:
    from gensim.models import Doc2Vec, Word2Vec
    from gensim.models.doc2vec import TaggedDocument

    said: list[Any] = [list(map(str, text.tolist())) for text in texts]
    if way.documents:
        said = [TaggedDocument(words, [number]) for number, words in enumerate(said)]
    settings = {"window": WINDOW, "negative": NEGATIVES, "sample": SUBSAMPLE, "alpha": RATE, "min_count": 1}
    model = (Doc2Vec if way.documents else Word2Vec)(
        vector_size=WIDTH, workers=threads, epochs=1, **settings, **way.gensim
    )
    model.build_vocab(said)
    return lambda: model.train(said, total_examples=len(said), epochs=1, start_alpha=RATE, end_alpha=RATE) and None


def timed(work: Callable[[], None]) -> tuple[float, float]:
    began, clock = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - began, time.perf_counter() - clock


def measure(words: int = WORDS, rounds: int = ROUNDS) -> dict[str, Any]:
    """{(way, threads): {who: (core-seconds, seconds) of the quickest round}}; candidates take turns."""
    texts = sentences(words)
    found: dict[str, Any] = {"words": words, "rounds": rounds}
    for way in WAYS:
        for threads in (1, 2):
            each = {"foreword": ours(way, texts, threads), "gensim": gensims(way, texts, threads)}
            times: dict[str, list[tuple[float, float]]] = {who: [] for who in each}
            for _ in range(rounds):
                for who, work in each.items():
                    times[who].append(timed(work))
            found[f"{way.name}, {threads}"] = {
                who: [min(column) for column in zip(*some)] for who, some in times.items()
            }
    return found


def lines(found: dict[str, Any]) -> Iterator[str]:
    words, rounds = found.pop("words"), found.pop("rounds")
    yield f"thousands of words a second: {words:,} words, best of {rounds} rounds"
    yield f"{WIDTH} dimensions, window {WINDOW}, {NEGATIVES} negatives, subsampling {SUBSAMPLE}"
    yield f"{'':<22}{'threads':>8}{'foreword':>22}{'gensim':>22}{'times':>16}"
    yield f"{'':<30}{'a core':>11}{'elapsed':>11}{'a core':>11}{'elapsed':>11}{'a core':>8}{'elapsed':>9}"
    for name, times in found.items():
        way, _, threads = name.rpartition(", ")
        speeds = [words / seconds / 1000 for who in ("foreword", "gensim") for seconds in times[who]]
        ratios = f"{speeds[0] / speeds[2]:>8.2f}{speeds[1] / speeds[3]:>9.2f}"
        yield f"{way:<22}{threads:>8}" + "".join(f"{speed:>11,.0f}" for speed in speeds) + ratios


def report() -> str:
    return "\n".join(lines(measure()))
