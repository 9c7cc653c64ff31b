"""Ask models about held-out text: one corpus, any number of models, each in its own tokens, all in the same unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import torch

from foreword.basics.cores import cores
from foreword.basics.messages import Fault, did_you_mean
from foreword.basics.progress import Ticker
from foreword.basics.shards import Pool
from foreword.counts.mixture import MixtureOfModels
from foreword.evaluate import bits_per_byte as bits
from foreword.evaluate.bits_per_byte import TextScores, TokenizedText
from foreword.evaluate.score import Score
from foreword.runs.folder import RunFolder
from foreword.runs.opening import TrainedModel
from foreword.runs.place import model_place
from foreword.text import reading
from foreword.text.splits import split_of
from foreword.tokens.store import SPLITS, TokenStore, is_store
from foreword.tokens.tokenizer import Tokenizer

FITTED_ON = 200_000  # bytes of validation text on which a mixture's weights are fitted


@dataclass(frozen=True)
class Corpus:
    """The text to ask about: a split of a store, or documents read as they are."""

    path: Path
    split: str
    documents: str = "auto"
    column: str = "text"
    limit: int | None = None
    ends: bool = False  # the ends of documents are guessed, and charged, too

    @staticmethod
    def find(
        data: Path | None, models: Sequence[str], split: str, documents: str, column: str, limit: int | None
    ) -> Corpus:
        """`data`, or the store that the first model was trained on."""
        if data is None:
            passports = [RunFolder(model_place(name).folder).passport() for name in models]
            known = next((passport["store"] for passport in passports if passport.get("store")), None)
            if known is None:
                raise Fault("there is no text to evaluate on.", "Give it:  --data STORE or --data TEXT")
            data = Path(known)
        if not data.exists():
            raise Fault(f"{data} is not there.", "Give the text to evaluate on:  --data STORE or --data TEXT")
        stored = is_store(data)
        if not stored and split not in ("", "all", *SPLITS):
            raise Fault(
                f"there is no split {split!r}.{did_you_mean(split, SPLITS)}", f"Text has: all, {', '.join(SPLITS)}."
            )
        return Corpus(data, split or ("test" if stored else "all"), documents, column, limit)

    @property
    def stored(self) -> bool:
        return is_store(self.path)

    @property
    def name(self) -> str:
        return f"{self.path} ({self.split})"

    def texts(self, tokenizer: Tokenizer, model: str) -> Iterator[TokenizedText]:
        """The documents in this tokenizer's ids."""
        if self.stored:
            store = TokenStore.open(self.path, self.split)
            if store.fingerprint != tokenizer.fingerprint:
                raise Fault(
                    f"{model} was trained with tokenizer {tokenizer.name} ({tokenizer.fingerprint[:4]}...); the store "
                    f"{self.path} was made with {store.tokenizer.name} ({store.fingerprint[:4]}...).",
                    f"Make a matching store:  foreword tokens TEXT --tokenizer {model} --out STORE; "
                    "or give the text itself:  --data TEXT",
                )
            yield from bits.texts_of(store, self.limit)
            return
        spent = 0
        for document in reading.documents([self.path], documents=self.documents, column=self.column):
            if self.split != "all" and split_of(document.text) != self.split:
                continue
            if self.limit is not None and spent >= self.limit:
                return
            text = bits.text_of(document.text, tokenizer)
            spent += text.bytes
            yield text

    def validation(self) -> Corpus:
        if not self.stored:
            raise Fault("a mixture needs validation text to fit its weights on.", "Give a store:  --data STORE")
        return replace(self, split="valid", limit=FITTED_ON)


@dataclass(frozen=True)
class BatchScorer:
    """Scores batches of texts in a worker, which opens the model for itself."""

    model: str
    precision: str
    stride: int | None
    threads: int  # for each worker: together, no more than there are cores

    @cached_property
    def opened(self) -> TrainedModel:
        torch.set_num_threads(self.threads)
        return TrainedModel.opened(self.model, self.precision)

    def __call__(self, texts: list[TokenizedText]) -> list[np.ndarray]:
        return bits.log_probs(self.opened.language_model, self.opened.tokenizer, texts, self.stride)


def score_corpus(
    model: TrainedModel,
    corpus: Corpus,
    stride: int | None = None,
    ticker: Ticker | None = None,
    pool: Pool | None = None,
) -> TextScores:
    """What the corpus costs a model; for one that reads both ways, what guessing each token costs, labelled as such."""
    texts: Iterator[TokenizedText] = corpus.texts(model.tokenizer, model.name)
    if corpus.ends:
        if model.only_fills or not model.tokenizer.has("[end]"):
            raise Fault(
                f"{model.name} ({model.recipe.name}) predicts no ends of documents: there is nothing to charge for.",
                "Leave out --charge-ends.",
            )
        texts = (text.closed(model.tokenizer.special("[end]")) for text in texts)
    if model.only_fills:
        return TextScores(bits.pseudo_score(model.with_heads, model.tokenizer, texts), [])
    whole = corpus.limit or (TokenStore.open(corpus.path, corpus.split).total_bytes if corpus.stored else 0)

    def tell(done: int) -> None:
        if ticker is not None and whole:
            ticker.update(done / whole, f"{model.name}  {done:,} bytes")

    scored: bits.Scorer | None = None
    if pool is not None and pool.others:
        worker = BatchScorer(model.name, model.precision, stride, max(1, cores() // pool.number))
        scored = partial(pool.map, worker)
    return bits.score_texts(model.language_model, model.tokenizer, texts, stride, tell, ends=corpus.ends, scored=scored)


def score_mixture(
    models: Mapping[str, TrainedModel], answers: dict[str, TextScores], corpus: Corpus, stride: int | None = None
) -> tuple[Score, dict[str, float]]:
    """(what the corpus costs a mixture of models that share a tokenizer, the weight of each).

    The weights are fitted on the corpus's validation text. Each model reads in windows of its own; their probabilities
    for the same token are mixed.
    """
    tokenizers = {name: model.tokenizer for name, model in models.items()}
    if len({tokenizer.fingerprint for tokenizer in tokenizers.values()}) > 1:
        said = ", ".join(f"{name} {tokenizer.name}" for name, tokenizer in tokenizers.items())
        raise Fault(f"a mixture needs models with the same tokenizer; these have {said}.")
    held_out = {name: score_corpus(model, corpus.validation(), stride).logs for name, model in models.items()}
    mixed = MixtureOfModels([model.language_model for model in models.values()])
    weights = mixed.fit([np.concatenate(logs) for logs in held_out.values()])
    with np.errstate(divide="ignore"):
        each = np.log(weights)[:, None] + np.stack([np.concatenate(answers[name].logs) for name in models])
    alone = next(iter(answers.values())).score
    policy = "each model in its own windows; weights fitted on validation text"
    score = replace(alone, nats=-float(np.logaddexp.reduce(each).sum()), policy=policy)
    return score, dict(zip(models, weights.tolist()))
