"""`foreword.load`: a run, a saved step, a model folder or a Hugging Face directory, as an object that answers questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import torch
from torch import Tensor

from foreword.basics.messages import Fault
from foreword.basics.progress import say
from foreword.batches.by_length import by_length
from foreword.evaluate import bits_per_byte as bits
from foreword.evaluate.score import Score
from foreword.generate.batch import Continuation, generate
from foreword.generate.sample import Sampling
from foreword.networks.base import Inputs
from foreword.runs.opening import TrainedModel
from foreword.vectors.table import VectorTable

if TYPE_CHECKING:
    from foreword.transfer.predict import Predictor

AT_ONCE = 1024  # positions that are read together; with more, a CPU's caches no longer hold them
Stream = Callable[[int, str], None]  # (row, new text)


@dataclass(frozen=True)
class Guess:
    """One way to fill a gap."""

    token: str
    probability: float
    text: str


def load(path: str | Path, precision: str = "float32") -> LoadedModel:
    """Open a run, a saved step of it (runs/x@12000), a model folder, or a Hugging Face directory.

    precision "int8": a quarter of the memory, and faster.
    """
    return LoadedModel.opened(path, precision)


class LoadedModel(TrainedModel):
    """A trained model that scores, continues, embeds, fills and labels texts, as far as it can.

    Lists of texts are read in batches, those of like length together: much faster than one at a time, with the same numbers.
    """

    @overload
    def score(self, text: str, stride: int | None = None) -> Score: ...
    @overload
    def score(self, text: list[str], stride: int | None = None) -> list[Score]: ...

    def score(self, text: str | list[str], stride: int | None = None) -> Score | list[Score]:
        """What a text costs: nats, tokens, bytes, bits per byte, perplexity, each token's log-probability. A list gives a list.

        A text longer than the context is read in windows that move by `stride` tokens; the default is half the context.
        """
        texts = [bits.text_of(one, self.tokenizer) for one in ([text] if isinstance(text, str) else text)]
        if any(not len(one.ids) for one in texts):
            raise Fault("there is no text to score.")
        if self.fills:
            found = [bits.pseudo_score(self.with_heads, self.tokenizer, [one]) for one in texts]
            return found[0] if isinstance(text, str) else found
        policy = bits.policy(self.language_model, stride, self.tokenizer.has("[end]"))
        found = []
        for one, logs in zip(texts, bits.log_probs(self.language_model, self.tokenizer, texts, stride)):
            pieces = self.tokenizer.pieces(one.ids[len(one.ids) - len(logs) :])
            found.append(replace(bits.cost(one, logs, self.tokenizer, policy), each=tuple(zip(pieces, logs.tolist()))))
        return found[0] if isinstance(text, str) else found

    @overload
    def generate(self, prompt: str = "", n: Literal[1] = 1, stream: Stream | None = None, **settings: Any) -> str: ...
    @overload
    def generate(self, prompt: list[str], n: int = 1, stream: Stream | None = None, **settings: Any) -> list[str]: ...
    @overload
    def generate(
        self, prompt: str | list[str], n: int, stream: Stream | None = None, **settings: Any
    ) -> str | list[str]: ...

    def generate(
        self, prompt: str | list[str] = "", n: int = 1, stream: Stream | None = None, **settings: Any
    ) -> str | list[str]:
        """Continue a prompt: the new text. A list of prompts, or n > 1, gives a list. Settings: see `Sampling`."""
        many = self.continuations(prompt, n, stream, **settings)
        return many[0].text if isinstance(prompt, str) and n == 1 else [one.text for one in many]

    def continuations(
        self, prompt: str | Sequence[str] = "", n: int = 1, stream: Stream | None = None, **settings: Any
    ) -> list[Continuation]:
        """Like `generate`, with ids, the reason for stopping and the log-probability of each token."""
        self.need("generate")
        if isinstance(settings.get("stop"), str):
            settings["stop"] = (settings["stop"],)
        how = Sampling(**{**settings, "stop": tuple(settings.get("stop", ()))})
        prompts = [self.tokenizer.encode(text) for text in ([prompt] if isinstance(prompt, str) else prompt)]
        if not self.tokenizer.has("[end]") and any(not ids for ids in prompts):
            raise Fault(
                f"{self.name} cannot start from nothing: its tokenizer has no end-of-document token.",
                "Give a prompt of at least one token.",
            )
        limit = self.language_model.context
        for ids in prompts:
            if limit is not None and len(ids) > limit:
                say(
                    f"the prompt has {len(ids):,} tokens; {self.recipe.name} looks back at most {limit:,}: "
                    f"only the last {limit:,} count."
                )
        return generate(self.language_model, self.tokenizer, [ids for ids in prompts for _ in range(n)], how, stream)

    @torch.inference_mode()
    def embed(self, texts: str | Sequence[str], pool: str = "mean", layer: int = -1) -> np.ndarray:
        """One vector per text [texts, width] float32: the mean over its tokens, or the first or last one's.

        Of a text longer than the context only the beginning is read, and a line on stderr says so.
        """
        self.need("embed")
        if pool not in ("mean", "first", "last"):
            raise Fault(f"pool {pool!r} is not one of mean, first, last.")
        texts = [texts] if isinstance(texts, str) else texts
        if isinstance(self.model, VectorTable):
            rows = [self.model.embed(np.asarray(self.tokenizer.encode(text), np.int64)) for text in texts]
            return np.stack(rows) if rows else np.zeros((0, self.model.width), np.float32)
        rows = self._framed(texts)
        found = np.zeros((len(rows), self.with_heads.network.width), np.float32)
        for row, vectors in self._vectors(rows, layer):
            found[row] = {"mean": vectors.mean(0), "first": vectors[0], "last": vectors[-1]}[pool].float().numpy()
        return found

    def neighbours(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The k words whose vectors point most nearly the same way, and the cosine of each."""
        self.need("neighbours")
        table = self.model
        assert isinstance(table, VectorTable)
        ids = tuple(self.tokenizer.encode(word))
        if not ids or ids == (self.tokenizer.special("[unknown]") if self.tokenizer.has("[unknown]") else -1,):
            raise Fault(f"{self.name} has no vector for {word!r}.", "It knows the words of the text it was trained on.")
        near = table.neighbours(table.embed(np.asarray(ids)), k, ids)
        return [(self.tokenizer.pieces([token])[0], cosine) for token, cosine in near]

    def _framed(self, texts: Sequence[str], specials: bool = False) -> list[np.ndarray]:
        """Ids as this model expects to read them, within its context."""
        limit, around = self.with_heads.network.context, "[cls]" in self.recipe.objective.specials
        room = None if limit is None else limit - 2 * around
        found, cut = [], 0
        for text in texts:
            ids = self.tokenizer.encode(text, specials=specials)
            cut += room is not None and len(ids) > room
            ids = ids[:room]
            if around:
                ids = [self.tokenizer.special("[cls]"), *ids, self.tokenizer.special("[separator]")]
            elif not ids and self.tokenizer.has("[end]"):
                ids = [self.tokenizer.special("[end]")]
            if not ids:
                raise Fault("there is nothing to read: a text has no tokens.")
            found.append(np.asarray(ids, np.int64))
        if cut:
            say(
                f"{cut:,} of {len(texts):,} texts {'is' if cut == 1 else 'are'} longer than the {room:,} tokens that "
                f"{self.recipe.name} reads at once: only the beginning counts."
            )
        return found

    def _vectors(self, rows: Sequence[np.ndarray], layer: int = -1) -> Iterator[tuple[int, Tensor]]:
        """(number of a row, its vectors of a layer [tokens, width]), rows of like length read together."""
        network = self.with_heads.network
        for some in by_length([len(row) for row in rows], AT_ONCE):
            lengths = torch.tensor([len(rows[row]) for row in some])
            ids = torch.zeros(len(some), int(lengths.max()), dtype=torch.int64)
            for place, row in zip(ids, some):
                place[: len(rows[row])] = torch.from_numpy(rows[row])
            real = torch.arange(ids.size(1)) < lengths[:, None]
            # a network that reads left to right does not see what stands behind
            output = network(Inputs(ids, real=None if network.reads_left_to_right or bool(real.all()) else real))
            if not -len(output.layers) <= layer < len(output.layers):
                raise Fault(
                    f"{self.name} has no layer {layer}.",
                    f"It has 0 (the embeddings) to {len(output.layers) - 1}; -1 is the last, after its norm.",
                )
            vectors = output.last if layer == -1 else output.layers[layer]
            yield from ((row, vectors[place, : len(rows[row])]) for place, row in enumerate(some))

    @torch.inference_mode()
    def fill(self, text: str | list[str], k: int = 5) -> list[Any]:
        """The k likeliest tokens for a gap, written as the tokenizer writes it ([MASK]); a list for each of several gaps.

        Of a list of texts, a list with the answer for each.
        """
        self.need("fill")
        texts = [text] if isinstance(text, str) else list(text)
        rows = self._framed(texts, specials=True)
        gap, written = self.tokenizer.special("[mask]"), self.tokenizer.specials["[mask]"]
        for one, ids in zip(texts, rows):
            if gap not in ids:
                beyond = " among the tokens that can be read" if written in one else ""
                raise Fault(f"there is no gap in {one!r}{beyond}.", f"Write {written} where a word is missing.")
        found: dict[int, list[list[Guess]]] = {}
        for row, vectors in self._vectors(rows):
            gaps = np.flatnonzero(rows[row] == gap).tolist()
            found[row] = [self._guesses(rows[row], place, vectors[place], k) for place in gaps]
        answers = [found[row][0] if len(found[row]) == 1 else found[row] for row in range(len(rows))]
        return answers[0] if isinstance(text, str) else answers

    def _guesses(self, ids: np.ndarray, place: int, vector: Tensor, k: int) -> list[Guess]:
        likely = self.with_heads.heads["tokens"].log_probs(vector).exp().topk(k)
        found = []
        for probability, token in zip(likely.values.tolist(), likely.indices.tolist()):
            filled = ids.copy()
            filled[place] = token
            found.append(Guess(self.tokenizer.pieces([token])[0], probability, self.tokenizer.decode(filled)))
        return found

    def predict(self, texts: Sequence[str | tuple[str, ...]]) -> list[Any]:
        """What a fine-tuned model answers to each text, or to each pair of texts, in batches by length."""
        self.need("predict")
        return self._predictor.predict(self._predictor.of_texts(texts)).labels if len(texts) else []

    @cached_property
    def _predictor(self) -> Predictor:
        from foreword.transfer.predict import Predictor

        return Predictor(Path(self.name))

    @torch.inference_mode()
    def logits(self, ids: Sequence[int]) -> np.ndarray:
        """[tokens, vocabulary] float32: what others compare us with."""
        self.need("logits")
        given, size, limit = (
            np.asarray(ids, np.int64),
            self.with_heads.network.table().size(0),
            self.with_heads.network.context,
        )
        if given.ndim != 1 or not len(given):
            raise Fault("logits are asked for a list of ids, at least one.")
        if strange := given[(given < 0) | (given >= size)].tolist():
            raise Fault(f"{self.name} has ids 0 to {size - 1:,}; {strange[0]:,} is not one of them.")
        if limit is not None and len(given) > limit:
            raise Fault(f"{self.name} reads at most {limit:,} ids at once; these are {len(given):,}.", "Give fewer.")
        output = self.with_heads.network(Inputs(torch.from_numpy(given)[None]))
        return self.with_heads.heads["tokens"].logits(output.last[0]).float().numpy()
