"""WordVectors: what `foreword.load` returns for a table of vectors. It embeds texts, names neighbours and solves analogies.

No torch here: it opens in a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NoReturn

import numpy as np
from safetensors.numpy import load_file

from foreword.basics.files import JsonObject, inside, read_json, whole_folder
from foreword.basics.messages import Fault
from foreword.tokens.kinds import with_words
from foreword.tokens.tokenizer import Tokenizer
from foreword.vectors import KINDS
from foreword.vectors.formats import is_vector_file, read_vectors
from foreword.vectors.table import NO_BITS, DocumentTable, VectorTable

ABILITIES = ["embed", "neighbours", "analogy", "similarity"]
NETWORKS = tuple(KINDS.places)  # whose models are tables of vectors


def config_of(path: Path) -> JsonObject | None:
    """The settings of a table of vectors in a run or model folder; None: something else is there."""
    for folder in (whole_folder(path / "model"), path):
        if (folder / "config.json").is_file():
            recipe = inside(read_json(folder / "config.json"), "foreword", "recipe")
            known = inside(recipe, "network", "kind") in NETWORKS
            return {"folder": folder, "recipe": recipe} if known else None
    return None


def is_vectors(path: Path) -> bool:
    """Whether WordVectors opens it."""
    return is_vector_file(path) or config_of(path) is not None


def unit(vectors: np.ndarray) -> np.ndarray:
    """Each row brought to length 1; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)


def nearest(cosines: np.ndarray, most: int, without: Sequence[int]) -> list[tuple[int, float]]:
    """(row, cosine) of the highest, best first."""
    cosines = cosines.copy()
    cosines[list(without)] = -np.inf
    most = min(most, int((cosines > -np.inf).sum()))
    some = np.argpartition(-cosines, max(most - 1, 0))[:most]
    return [(int(row), float(cosines[row])) for row in some[np.lexsort((some, -cosines[some]))]]


class WordVectors:
    def __init__(self, name: str, table: VectorTable, tokenizer: Tokenizer, recipe: JsonObject | None = None):
        self.name, self.table, self.tokenizer, self.recipe = name, table, tokenizer, recipe or {}
        self.abilities = list(ABILITIES)

    @staticmethod
    def of(name: str, words: Sequence[str], vectors: np.ndarray) -> WordVectors:
        """From a list of words, the most frequent first, and their vectors."""
        lower = all(word == word.lower() for word in words[:1000])
        tokenizer = with_words(words, lower)
        table = VectorTable(tokenizer.vocabulary(), vectors.shape[1])
        rows = np.array([tokenizer.backend.token_to_id(word) for word in words], np.int64)
        table.vectors[rows] = vectors
        table.counts[:] = 0
        table.counts[rows] = 10**9 // np.arange(1, len(rows) + 1)  # Zipf's law stands for counts that no file has
        return WordVectors(name, table, tokenizer, {"name": Path(name).stem})

    @staticmethod
    def opened(path: str | Path) -> WordVectors:
        """A run, a model folder, or a file of vectors (.txt, .vec, .bin)."""
        if Path(path).is_file():
            return WordVectors.of(str(path), *read_vectors(Path(path)))
        found = config_of(Path(path))
        if found is None:
            raise Fault(f"{path} is no table of vectors.", "foreword.load opens models of any kind.")
        folder, network = found["folder"], found["recipe"]["network"]
        tokenizer = Tokenizer.load(folder)
        arrays = load_file(folder / "model.safetensors")
        table = KINDS.find(network["kind"])(**network).build(tokenizer.vocabulary())
        table.restore(arrays)
        if isinstance(table, DocumentTable):
            from foreword.vectors.documents import DocumentVectors

            return DocumentVectors(str(path), table, tokenizer, found["recipe"])
        return WordVectors(str(path), table, tokenizer, found["recipe"])

    @property
    def width(self) -> int:
        return self.table.width

    def __repr__(self) -> str:
        kind = self.recipe.get("name", "vectors")
        size = f"{len(self.table.vectors):,} vectors of {self.width}"
        return f"<{kind} from {self.name}: {size}; can {', '.join(self.abilities)}>"

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("score", "generate", "fill", "predict", "logits", "language_model"):
            able = ", ".join(self.abilities)
            raise Fault(f"{self.name} cannot {name.replace('language_model', 'score')}; it can {able}.", NO_BITS)
        raise AttributeError(name)

    @cached_property
    def unit(self) -> np.ndarray:
        return unit(np.ascontiguousarray(self.table.vectors))

    @cached_property
    def known(self) -> np.ndarray:
        return self.table.words()

    @cached_property
    def weights(self) -> np.ndarray:
        return self.table.rarity()

    @cached_property
    def hidden(self) -> np.ndarray:
        """Tokens that are nobody's neighbour: no words, or never seen."""
        words = self.known
        return np.flatnonzero(~(words & (self.table.counts > 0)) if self.table.counts.any() else ~words)

    @cached_property
    def summed(self) -> np.ndarray:
        """Of each word the sum of its vector and of the one by which it is guessed, as GloVe has it.

        Its vector alone where no word is guessed by one of its own (hierarchical softmax), or where they were not kept.
        """
        learned = self.recipe.get("objective", {})
        own = learned.get("kind") in ("skip_gram", "cbow") and learned.get("negatives", 5) > 0
        alike = own and self.table.outputs.shape == self.table.vectors.shape
        return self.table.vectors + self.table.outputs if alike else self.table.vectors

    def embed(self, texts: str | Sequence[str], pool: str = "mean") -> np.ndarray:
        """One vector per text [texts, width] float32: the mean of its words' vectors; pool "rarity": rare words weigh more.

        A text without a known word has a vector of zeros.
        """
        if pool not in ("mean", "rarity"):
            raise Fault(f"pool {pool!r} is not one of mean, rarity.")
        texts = [texts] if isinstance(texts, str) else list(texts)
        weights = self.weights if pool == "rarity" else self.table.words().astype(float)
        return self.means(texts, weights, self.table.vectors)

    def means(self, texts: Sequence[str], weights: np.ndarray, table: np.ndarray) -> np.ndarray:
        """[texts, width] float32: the rows of a text's tokens, each by its weight."""
        texts, found = list(texts), np.zeros((len(texts), self.width), np.float32)
        for row, ids in enumerate(self.tokenizer.encode_many(texts) if texts else []):
            if total := weights[ids].sum():
                found[row] = weights[ids] @ table[ids] / total
        return found

    def features(self, texts: Sequence[str]) -> np.ndarray:
        """What a classifier reads: rare words weigh more, and both vectors of a word count."""
        return self.means(texts, self.weights, self.summed)

    def find(self, word: str) -> int | None:
        """The row of a word as it is written, or in lower case, or of a phrase (New_York); None if it has none."""
        for one in dict.fromkeys((word, word.lower(), word.lower().replace("_", " "))):
            id = self.tokenizer.backend.token_to_id(one)
            if id is not None and self.known[id]:
                return int(id)
        return None

    def ids(self, word: str) -> list[int]:
        """The tokens of a word; a fault if there is no vector for it."""
        if (whole := self.find(word)) is not None:
            return [whole]
        ids, words = self.tokenizer.encode(word), self.known
        if not ids or not all(words[ids]):
            raise Fault(f"{self.name} has no vector for {word!r}.", "It knows the words of the text it was trained on.")
        return ids

    def vector(self, word: str) -> np.ndarray:
        """Of unit length; of a word of several tokens, their mean's."""
        return unit(self.table.vectors[self.ids(word)].mean(0))

    def in_context(self, word: str, sentences: Sequence[str]) -> np.ndarray:
        """[sentences, width]: the vector of a word in each sentence, which is the same in all of them."""
        return np.tile(self.vector(word), (len(sentences), 1))

    def similarity(self, one: str, other: str) -> float:
        """The cosine of two words' vectors."""
        return float(self.vector(one) @ self.vector(other))

    def neighbours(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The k words whose vectors point most nearly the same way, and the cosine of each."""
        return self._named(self.unit @ self.vector(word), k, self.ids(word))

    def analogy(self, a: str, b: str, c: str, k: int = 10, method: str = "add") -> list[tuple[str, float]]:
        """What is to c as b is to a: analogy("man", "king", "woman"). The three words themselves are left out.

        method "add": nearest to b - a + c (Mikolov et al. 2013); "mul": cosines multiplied and divided (Levy & Goldberg 2014).
        """
        one, two, three = (self.vector(word) for word in (a, b, c))
        return self._named(
            solved(self.unit, one, two, three, method), k, [id for word in (a, b, c) for id in self.ids(word)]
        )

    def _named(self, cosines: np.ndarray, k: int, without: list[int]) -> list[tuple[str, float]]:
        near = nearest(cosines, k, [*without, *self.hidden])
        return [(self.tokenizer.pieces([token])[0], cosine) for token, cosine in near]


def solved(table: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray, method: str = "add") -> np.ndarray:
    """How well each row of a table of unit vectors answers a : b = c : ?"""
    if method == "add":
        return table @ unit(b - a + c)
    if method == "mul":
        near = [(1 + table @ one) / 2 for one in (a, b, c)]  # all above 0
        return near[1] * near[2] / (near[0] + 1e-3)
    raise Fault(f"method {method!r} is not one of add, mul.")
