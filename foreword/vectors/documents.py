"""DocumentVectors: paragraph vectors of documents that were trained on, and of new ones, which are inferred. No torch here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from foreword.basics.files import read_json
from foreword.basics.messages import Fault
from foreword.basics.seeds import chance, number_of
from foreword.kernels.word_vectors import learn, padded
from foreword.tokens.store import TokenStore, is_store
from foreword.vectors.context_prediction import ContextPrediction
from foreword.vectors.table import DocumentTable
from foreword.vectors.words import WordVectors, nearest, unit

PASSES, RATE, FLOOR = 50, 0.05, 1e-3  # of inference: few passes leave a vector near where it was drawn
AT_ONCE = 2000  # texts


class DocumentVectors(WordVectors):
    """A table of words and documents. A text's vector is inferred: it learns to guess the text while all others stay."""

    table: DocumentTable

    def embed(
        self, texts: str | Sequence[str], pool: str = "", passes: int = PASSES, rate: float = RATE, seed: int = 0
    ) -> np.ndarray:
        """One inferred vector per text [texts, width] float32, the same whatever texts stand beside it.

        pool "mean" or "rarity": of the words' vectors instead. A text without a known word has a vector of zeros.
        """
        if pool:
            return super().embed(texts, pool)
        if passes < 1:
            raise Fault(f"passes must be at least 1 (they are {passes}).")
        texts = [texts] if isinstance(texts, str) else list(texts)
        parts = [
            self.infer(self.tokenizer.encode_many(texts[start : start + AT_ONCE]), passes, rate, seed)
            for start in range(0, len(texts), AT_ONCE)
        ]
        return np.concatenate([np.zeros((0, self.width), np.float32), *parts])

    def features(self, texts: Sequence[str]) -> np.ndarray:
        """What a classifier reads: inferred, also of texts that were trained on, whose own rows are distributed otherwise."""
        return self.embed(texts)

    def infer(self, texts: Sequence[np.ndarray], passes: int, rate: float, seed: int) -> np.ndarray:
        """The vectors of texts given as ids: every number in the table stays as it was."""
        own = padded(len(texts), self.width)
        first = (chance(number_of("inference", seed)).random(self.width) - 0.5) / self.width
        known = [len(ids) > 0 and bool((self.guessing.contexts.counts[ids] > 0).any()) for ids in texts]
        own[known] = first  # all begin alike
        for one in range(passes):
            drawn = number_of("inference", seed, one)
            text = self.guessing.contexts.stretch(texts, chance(drawn), range(len(texts)), alike=True)
            update = self.guessing.update(rate * max(1 - one / passes, FLOOR), drawn, words=False, outputs=False)
            learn(self.table.vectors, self.table.outputs, text, update, own)
        return np.ascontiguousarray(own)

    @cached_property
    def guessing(self) -> ContextPrediction:
        return ContextPrediction.of(self.table, **self.recipe["objective"])

    def nearest_documents(self, text: str | int, k: int = 10) -> list[tuple[int, float]]:
        """(number, cosine) of the documents of the training text that are most like a text, or like one of themselves."""
        if isinstance(text, int) and not 0 <= text < len(self.table.documents):
            raise Fault(
                f"{self.name} has documents 0 to {len(self.table.documents) - 1:,}; {text:,} is not one of them."
            )
        like = self.table.documents[text] if isinstance(text, int) else self.embed(text)[0]
        return nearest(self._unit_documents @ unit(like), k, [text] if isinstance(text, int) else [])

    def document(self, number: int) -> str:
        """The text of a document that was trained on, if its store is still there."""
        passport = Path(self.name) / "passport.json"
        folder = Path((read_json(passport) if passport.is_file() else {}).get("store") or "nowhere")
        if not is_store(folder):
            raise Fault(f"the text that {self.name} was trained on is no longer at {folder}.")
        store = TokenStore.open(folder)
        return store.tokenizer.decode(store.document(number))

    @cached_property
    def _unit_documents(self) -> np.ndarray:
        return unit(np.ascontiguousarray(self.table.documents))
