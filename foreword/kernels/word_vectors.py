"""word2vec's inner loop over one stretch of text, in C (word_vectors.c) and in numpy, which says what it does.

No torch here. Both draw the same words for the same seed; with one thread the same call gives the same bytes.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from foreword.basics.messages import RunFailed
from foreword.kernels import build

SOURCE = Path(__file__).with_name("word_vectors.c")
SIGNATURES = {"learn": "p>i"}
LINE = 16  # floats of a cache line: rows are padded to whole ones
SAMPLED = 16  # what guesses cost is reported of one position in so many
GOLDEN, ONES = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xFFFFFFFF)


@cache
def library() -> ctypes.CDLL | None:
    return build.library(SOURCE, SIGNATURES, "vectors are learned by numpy alone, a hundred times slower")


def padded(*shape: int) -> np.ndarray:
    """Zeros [..., width] whose vectors begin on cache lines; what one has beyond its width is zero and stays so."""
    *rows, width = shape
    stride = -(-width // LINE) * LINE
    room = np.zeros(math.prod(rows) * stride + LINE, np.float32)
    start = -room.ctypes.data // 4 % LINE
    return room[start : start + math.prod(rows) * stride].reshape(*rows, stride)[..., :width]


@dataclass(frozen=True)
class WordSequence:
    """Words one behind the other, and for each the places [first, last) around it, its own among them."""

    ids: np.ndarray  # int32
    first: np.ndarray
    last: np.ndarray
    documents: np.ndarray | None = None  # the row of its document, which also stands around each word; -1: none
    places: np.ndarray | None = None  # the number by which each position draws; None: its own

    def around(self, place: int) -> list[int]:
        """The words that stand there."""
        return [int(self.ids[p]) for p in range(self.first[place], self.last[place]) if p != place]

    def beside(self, place: int, before: int, after: int, empty: int) -> list[int]:
        """A word for each of so many places before and after; `empty` where none stands."""
        there = [place + step for step in (*range(-before, 0), *range(1, after + 1))]
        return [int(self.ids[p]) if self.first[place] <= p < self.last[place] else empty for p in there]

    def document(self, place: int) -> int:
        return -1 if self.documents is None else int(self.documents[place])


class NoiseDistribution:
    """Words drawn in proportion to weights, in constant time: Walker's alias method."""

    def __init__(self, weights: np.ndarray, negatives: int):
        self.negatives, size = negatives, len(weights)
        share = weights / weights.sum() * size
        least, other = np.ones(size), np.arange(size)
        small, large = list(np.flatnonzero(share < 1)), list(np.flatnonzero(share >= 1))
        while small and large:
            little, much = small.pop(), large[-1]
            least[little], other[little] = share[little], much
            share[much] -= 1 - share[little]
            if share[much] < 1:
                small.append(large.pop())
        self.slots = np.zeros(size, [("least", np.uint32), ("other", np.int32)])
        self.slots["least"], self.slots["other"] = np.minimum(least * 2**32, 2**32 - 1), other

    def draw(self, seed: int, position: int, guess: int) -> np.ndarray:
        """The words of one guess at a position."""
        first = (position << 20) + guess * self.negatives + 1
        with np.errstate(over="ignore"):
            x = np.uint64(seed) + np.arange(first, first + self.negatives, dtype=np.uint64) * GOLDEN
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            x = x ^ (x >> np.uint64(31))
        slots = ((x >> np.uint64(32)) * np.uint64(len(self.slots)) >> np.uint64(32)).astype(np.int64)
        return np.where((x & ONES) < self.slots["least"][slots], slots, self.slots["other"][slots])

    def guessed(self, word: int, seed: int, position: int, guess: int) -> tuple[list[int], list[float]]:
        """(outputs, what is to be said of each): the word, and others to be told apart; the word itself is none."""
        others = [int(one) for one in self.draw(seed, position, guess) if one != word]
        return [word, *others], [1.0] + [0.0] * len(others)


class Huffman:
    """Hierarchical softmax: each word is a leaf, frequent ones near the root, and guessed turn by turn on the way there."""

    def __init__(self, counts: np.ndarray):
        self.nodes, self.turns, self.paths = _huffman(counts)

    def guessed(self, word: int, seed: int, position: int, guess: int) -> tuple[list[int], list[float]]:
        path = slice(self.paths[word], self.paths[word + 1])
        return self.nodes[path].tolist(), self.turns[path].tolist()


def _huffman(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(inner nodes, turns, where the path of each word begins), from the root down; a word without counts has no path."""
    leaves = sorted(np.flatnonzero(counts).tolist(), key=lambda word: (counts[word], word))
    made: list[tuple[float, int]] = []  # (count, node): made in order of their counts, so two queues are enough
    above: dict[int, tuple[int, int]] = {}  # a leaf, or -1 - node, -> (node above it, turn)
    at = done = 0

    def least() -> tuple[float, int]:
        nonlocal at, done
        if at < len(leaves) and (done == len(made) or counts[leaves[at]] <= made[done][0]):
            at += 1
            return float(counts[leaves[at - 1]]), leaves[at - 1]
        done += 1
        return made[done - 1][0], -1 - made[done - 1][1]

    for node in range(len(leaves) - 1):
        (one, left), (other, right) = least(), least()
        above[left], above[right] = (node, 1), (node, 0)
        made.append((one + other, node))
    nodes, turns, ends = [], [], np.zeros(len(counts) + 1, np.int64)
    for word in range(len(counts)):
        path, place = [], word
        while place in above:
            node, turn = above[place]
            path.append((node, turn))
            place = -1 - node
        nodes += [node for node, _ in reversed(path)]
        turns += [turn for _, turn in reversed(path)]
        ends[word + 1] = len(nodes)
    return np.asarray(nodes, np.int32), np.asarray(turns, np.float32), ends


@dataclass(frozen=True)
class Update:
    """How one pass changes the vectors.

    `pool`: each vector guesses by itself (skip-gram), or their "mean", "word_mean" (divided by the words alone) or "sum" does
    (CBOW), or all of them side by side ("concatenation").
    """

    how: NoiseDistribution | Huffman
    rate: float
    seed: int
    pool: str = "each"
    words: bool = True  # the vectors of words move
    outputs: bool = True
    documents: bool = True
    threads: int = 1
    places: tuple[int, int] = (0, 0)  # side by side: so many words before, and so many after
    empty: int = -1  # the row that stands where there is no word; -1: zeros

    @property
    def joined(self) -> int:
        """How many vectors stand side by side."""
        return 1 + sum(self.places) if self.pool == "concatenation" else 1


class _Pass(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("vectors", "outputs", "own", "ids", "first", "last", "documents")),
        *((name, ctypes.c_void_p) for name in ("places", "drawn", "nodes", "turns", "paths", "cost")),
        *((name, ctypes.c_int64) for name in ("width", "positions", "words", "negatives", "mean", "sum")),
        *((name, ctypes.c_int64) for name in ("learns_words", "learns_outputs", "threads")),
        *((name, ctypes.c_int64) for name in ("learns_documents", "words_only", "deep", "before", "after", "empty")),
        ("seed", ctypes.c_uint64),
        ("rate", ctypes.c_float),
    ]


def learn(
    vectors: np.ndarray, outputs: np.ndarray, text: WordSequence, update: Update, documents: np.ndarray | None = None
) -> tuple[float, int]:
    """Every word is guessed from what stands around it. (nats of the sampled guesses, how many they were)

    vectors, outputs, documents [rows, width]: as `padded` makes them; side by side outputs are [rows, joined, width]. Documents
    are rows of the vectors by default.
    """
    own, kernels = vectors if documents is None else documents, library()
    if kernels is None:
        return learn_in_numpy(vectors, outputs, text, update, own)
    how, cost, width = update.how, np.zeros((update.threads, 2)), vectors.strides[0] // 4
    drawn, tree = (how.slots, None) if isinstance(how, NoiseDistribution) else (None, how)
    where = (text.ids, text.first, text.last, text.documents, text.places)
    given = _Pass(
        *(_address(array) for array in (vectors, outputs, own, *where, drawn)),
        *(_address(array) for array in ((tree.nodes, tree.turns, tree.paths) if tree else (None,) * 3)),
        cost.ctypes.data,
        width,
        len(text.ids),
        len(how.slots) if isinstance(how, NoiseDistribution) else 0,
        how.negatives if isinstance(how, NoiseDistribution) else 0,
        update.pool != "each",
        update.pool == "sum",
        update.words,
        update.outputs,
        update.threads,
        update.documents,
        update.pool == "word_mean",
        update.joined * width,
        *update.places,
        update.empty,
        update.seed,
        update.rate,
    )
    if kernels.learn(ctypes.addressof(given)):
        raise RunFailed("there is no memory left to learn from more text.", "Take fewer threads, or narrower vectors.")
    nats, guesses = cost.sum(0)
    return float(nats), int(guesses)


def _address(array: np.ndarray | None) -> int | None:
    return None if array is None else array.ctypes.data


def learn_in_numpy(
    vectors: np.ndarray, outputs: np.ndarray, text: WordSequence, update: Update, documents: np.ndarray
) -> tuple[float, int]:
    """The same, pair by pair: the original's loop, with the sigmoid itself in the place of its table."""
    nats, guesses = 0.0, 0
    for place, word in enumerate(text.ids.tolist()):
        number = place if text.places is None else int(text.places[place])
        own = [] if text.document(place) < 0 else [documents[text.document(place)]]  # views: what is learned stays
        words = [vectors[word] for word in text.around(place)]
        if update.pool == "concatenation":
            nothing = np.zeros_like(vectors[0])
            beside = text.beside(place, *update.places, update.empty)
            own = own or [nothing]
            groups = [own + [vectors[word] if word >= 0 else nothing for word in beside]]
        else:
            groups = [[row] for row in own + words] if update.pool == "each" else [own + words] if own + words else []
        for guess, group in enumerate(groups):
            hidden = _pooled(group, update.pool, len(words))
            error = np.zeros_like(hidden)
            for output, wanted in zip(*update.how.guessed(word, update.seed, number, guess)):
                score = float((hidden * outputs[output]).sum())
                step = np.float32(update.rate * (wanted - 1 / (1 + np.exp(-score))))
                error += step * outputs[output]
                if update.outputs:
                    outputs[output] += step * hidden
                if place % SAMPLED == 0:
                    nats += float(np.log1p(np.exp(-score if wanted else score)))
            for n, (row, learned) in enumerate(
                zip(group, error if update.pool == "concatenation" else [error] * len(group))
            ):
                if update.documents if own and n + guess == 0 else update.words:
                    row += learned
            guesses += place % SAMPLED == 0
    return nats, guesses


def _pooled(group: list[np.ndarray], pool: str, words: int) -> np.ndarray:
    """What guesses: [width], or side by side [joined, width]."""
    if pool == "concatenation":
        return np.stack(group)
    whole = np.stack(group).sum(0, dtype=np.float32)
    return whole / np.float32({"mean": len(group), "word_mean": words or len(group)}.get(pool, 1))
