"""Bits per byte over whole documents: a sliding window that scores every token exactly once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, tee

import numpy as np
import torch

from foreword.basics.messages import Fault
from foreword.counts.spelling import Spelling
from foreword.evaluate.score import Score, total
from foreword.networks.base import Inputs, Model
from foreword.networks.dynamic import DynamicReader
from foreword.networks.language_model import LanguageModel
from foreword.tokens.store import TokenStore
from foreword.tokens.tokenizer import Tokenizer


@dataclass(frozen=True)
class TokenizedText:
    """A document as a model is asked about it: its ids, and the size of what they stand for."""

    ids: np.ndarray
    bytes: int
    characters: int
    words: int
    whole: bool = True  # the ids hold all of it, or what they leave open is spelled out
    spelled: float = 0.0  # nats that a model of letters charges for words the tokenizer does not know

    def closed(self, end: int) -> TokenizedText:
        """With its end to be scored as well, which counts as a token, a word and a newline, as in the literature."""
        return replace(
            self,
            ids=np.append(self.ids, end),
            bytes=self.bytes + 1,
            characters=self.characters + 1,
            words=self.words + 1,
        )


def text_of(text: str, tokenizer: Tokenizer) -> TokenizedText:
    ids = np.asarray(tokenizer.encode(text), np.int64)
    unknown = tokenizer.unknown_words(text, ids)
    spelled = spelling(tokenizer).nats(unknown) if unknown else 0.0
    sizes = len(text.encode("utf-8")), len(text), len(text.split())
    return TokenizedText(ids, *sizes, whole=unknown is not None, spelled=spelled)


@lru_cache(maxsize=8)
def spelling(tokenizer: Tokenizer) -> Spelling:
    """A model of letters for words that a tokenizer does not know, learned from those it does."""
    specials = set(tokenizer.specials.values())
    return Spelling(piece for piece in tokenizer.vocabulary().pieces if piece not in specials and piece != "\n")


def texts_of(store: TokenStore, limit: int | None = None) -> Iterator[TokenizedText]:
    """The documents of a store; at most `limit` bytes of them."""
    spent = 0
    for i in range(store.documents):
        if limit is not None and spent >= limit:
            return
        size = int(store.bytes[i])
        spent += size
        yield TokenizedText(store.document(i), size, int(store.characters[i]), int(store.words[i]), store.whole)


@dataclass(frozen=True)
class ScoredWindow:
    start: int  # first token the model sees
    stop: int  # one past the last it is asked about
    scored: int  # the first token it is asked about here; those before were scored by earlier windows


def windows(length: int, context: int | None, stride: int | None = None) -> list[ScoredWindow]:
    """Windows over a sequence whose first token is given. A model reads at most `context` tokens at once."""
    if length < 2:
        return []
    if context is None or length <= context + 1:
        return [ScoredWindow(0, length, 1)]
    stride = stride or max(1, context // 2)
    if not 0 < stride <= context:
        raise Fault(f"a stride of {stride} does not fit a context of {context}.", f"Give 1 to {context}.")
    found = [ScoredWindow(0, context + 1, 1)]
    while found[-1].stop < length:
        done = found[-1].stop
        stop = min(done + stride, length)
        found.append(ScoredWindow(stop - context - 1, stop, done))
    return found


def policy(model: LanguageModel, stride: int | None, begins: bool, ends: bool = False) -> str:
    """What each token was allowed to see, in words."""
    seen = "everything before it in the document"
    if model.context is not None:
        step = stride or max(1, model.context // 2)
        seen = f"at least the {model.context - step} tokens before it (window {model.context}, stride {step})"
    elif model.reach is not None:
        seen = f"at most the {model.reach:,} tokens before it"
    first = (
        "the first token is guessed from the document's start" if begins else "the first token is given, not guessed"
    )
    last = "are charged, each as a token, a word and a byte" if ends else "are not charged"
    alone = (
        "it goes on learning from what it has scored"
        if isinstance(model, DynamicReader)
        else "each document on its own"
    )
    return f"{alone}; a token sees {seen}; {first}; document ends {last}"


def log_probs(
    model: LanguageModel, tokenizer: Tokenizer, texts: Sequence[TokenizedText], stride: int | None = None
) -> list[np.ndarray]:
    """The log-probability of each token of each text (without the first, where nothing marks a document's start)."""
    before = [tokenizer.special("[end]")] if tokenizer.has("[end]") else []
    sequences = [np.concatenate([np.asarray(before, np.int64), text.ids]) for text in texts]
    return score_in_windows(model, sequences, [1] * len(sequences), stride)


def score_in_windows(
    model: LanguageModel, sequences: Sequence[np.ndarray], firsts: Sequence[int], stride: int | None = None
) -> list[np.ndarray]:
    """The log-probability of each token of each sequence, from the token number `first` on."""
    parts, starts, owners = [], [], []
    for owner, (sequence, first) in enumerate(zip(sequences, firsts)):
        for window in windows(len(sequence), model.context, stride) if first < len(sequence) else []:
            parts.append(sequence[window.start : window.stop])
            starts.append(max(window.scored, first) - window.start)
            owners.append(owner)
    found: list[list[np.ndarray]] = [[] for _ in sequences]
    for owner, scores in zip(owners, model.score(parts, starts) if parts else []):
        found[owner].append(np.asarray(scores, np.float64))
    return [np.concatenate(some) if some else np.zeros(0) for some in found]


@dataclass(frozen=True)
class TextScores:
    """What documents cost together, and the log-probability of every token of each."""

    score: Score
    logs: list[np.ndarray]


Scorer = Callable[[Iterable[list[TokenizedText]]], Iterable[list[np.ndarray]]]


def score_texts(
    model: LanguageModel,
    tokenizer: Tokenizer,
    texts: Iterable[TokenizedText],
    stride: int | None = None,
    tell: Callable[[int], None] = lambda bytes: None,
    at_once: int = 64,
    ends: bool = False,
    scored: Scorer | None = None,
) -> TextScores:
    """Score documents, `at_once` of them at a time. `ends`: they are closed, and the policy says so.

    `scored`: who finds the log-probabilities of each batch, if not the model here.
    """
    how = policy(model, stride, tokenizer.has("[end]"), ends)
    scored = scored or (lambda some: (log_probs(model, tokenizer, one, stride) for one in some))
    scores: list[Score] = []
    logs: list[np.ndarray] = []
    batches, asked = tee(batched(texts, at_once))
    for some, found in zip(batches, scored(asked)):
        logs += found
        scores += [cost(text, one, tokenizer, how) for text, one in zip(some, found)]
        tell(sum(score.bytes for score in scores))
    if not scores:
        raise Fault("there is no text to evaluate on.")
    return TextScores(total(scores), logs)


def cost(text: TokenizedText, logs: np.ndarray, tokenizer: Tokenizer, how: str) -> Score:
    """What one document cost."""
    sizes, unknown = tokenizer.token_bytes(), tokenizer.special("[unknown]") if tokenizer.has("[unknown]") else -1
    # a first token that was given, not guessed, is not paid for: its bytes do not count either
    given = int(sizes[text.ids[0]]) if len(text.ids) > len(logs) and sizes is not None else 0
    counts, lost = (text.bytes - given, text.characters, text.words), int((text.ids == unknown).sum())
    found = Score(-float(logs.sum()), len(logs), *counts, unknown=lost, lossless=text.whole, policy=how)
    return replace(found, spelled=text.spelled)


def batched(texts: Iterable[TokenizedText], size: int) -> Iterator[list[TokenizedText]]:
    left = iter(texts)
    while some := list(islice(left, size)):
        yield some


@torch.inference_mode()
def pseudo_score(model: Model, tokenizer: Tokenizer, texts: Iterable[TokenizedText], most: int = 2000) -> Score:
    """Each token hidden in turn and guessed from both sides (Salazar et al. 2020). Not a probability of the text."""
    context = (model.network.context or 512) - 2
    mask, begin, close = (tokenizer.special(name) for name in ("[mask]", "[cls]", "[separator]"))
    device = next(model.parameters()).device
    scores, left = [], most
    for text in texts:
        nats = 0.0
        for at in range(0, len(text.ids), context):
            piece = np.concatenate([[begin], text.ids[at : at + context], [close]])
            places = np.arange(1, len(piece) - 1)
            for some in np.array_split(places, max(1, len(places) * len(piece) // 8192)):
                rows = torch.from_numpy(np.tile(piece, (len(some), 1))).to(device)
                index = torch.arange(len(some)), torch.from_numpy(some)
                targets = rows[index].clone()
                rows[index] = mask
                hidden = model.network(Inputs(rows)).last[index]
                nats += float(model.heads["tokens"].nll(hidden, targets).sum())
        sizes = len(text.ids), text.bytes, text.characters, text.words
        scores.append(Score(nats, *sizes, lossless=text.whole, kind="pseudo-likelihood"))
        left -= len(text.ids)
        if left <= 0:
            break
    if not scores:
        raise Fault("there is no text to evaluate on.")
    words = (
        f"the first {len(scores):,} documents; each token hidden in turn and guessed from both sides, in pieces of "
        f"{context} tokens; not a probability of the text, never to be set beside one"
    )
    return replace(total(scores), policy=words)
