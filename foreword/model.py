"""`foreword.load`: a run, its model folder or a Hugging Face directory, as an object that answers questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from foreword.basics.messages import Fault
from foreword.evaluate import bits_per_byte as bits
from foreword.evaluate.score import Score
from foreword.generate.batch import Continuation, generate
from foreword.generate.sample import Sampling
from foreword.networks.base import Inputs
from foreword.runs.opening import TrainedModel


@dataclass(frozen=True)
class Guess:
    """One way to fill a gap."""

    token: str
    probability: float
    text: str


def load(path: str | Path, precision: str = "float32") -> LoadedModel:
    """Open a run, its model folder, or a Hugging Face directory. precision "int8": a quarter of the memory, and faster."""
    return LoadedModel.opened(path, precision)


class LoadedModel(TrainedModel):
    """A trained model that scores, continues, embeds and fills texts, as far as it can."""

    def score(self, text: str, stride: int | None = None) -> Score:
        """What a text costs: nats, tokens, bytes, bits per byte, perplexity, and each token's log-probability."""
        if self.fills:
            return bits.pseudo_score(self.model, self.tokenizer, [bits.text_of(text, self.tokenizer)])
        whole = bits.text_of(text, self.tokenizer)
        if not len(whole.ids):
            raise Fault("there is no text to score.")
        answer = bits.ask(self.language_model, self.tokenizer, [whole], stride)
        logs = answer.logs[0]
        pieces = self.tokenizer.pieces(whole.ids[len(whole.ids) - len(logs):])
        return replace(answer.score, each=tuple(zip(pieces, logs.tolist())))

    def generate(self, prompt: str | Sequence[str] = "", n: int = 1, stream: Callable[[int, str], None] | None = None,
                 **settings: Any) -> Any:
        """Continue a prompt: the new text. A list of prompts, or n > 1, gives a list. Settings: see `Sampling`."""
        many = self.continuations(prompt, n, stream, **settings)
        return many[0].text if isinstance(prompt, str) and n == 1 else [one.text for one in many]

    def continuations(self, prompt: str | Sequence[str] = "", n: int = 1,
                      stream: Callable[[int, str], None] | None = None, **settings: Any) -> list[Continuation]:
        """Like `generate`, with ids, the reason for stopping and the log-probability of each continuation."""
        self._need("generate")
        if isinstance(settings.get("stop"), str):
            settings["stop"] = (settings["stop"],)
        how = Sampling(**{**settings, "stop": tuple(settings.get("stop", ()))})
        prompts = [prompt] if isinstance(prompt, str) else list(prompt)
        ids = [self.tokenizer.encode(text) for text in prompts for _ in range(n)]
        if not self.tokenizer.has("[end]") and any(not row for row in ids):
            raise Fault(f"{self.name} cannot start from nothing: its tokenizer has no end-of-document token.",
                        "Give a prompt of at least one token.")
        return generate(self.language_model, self.tokenizer, ids, how, stream)

    def overlong(self, prompt: str) -> str:
        """A sentence about a prompt that is longer than the model can look back, or nothing."""
        self._need("generate")
        limit, length = self.language_model.context, len(self.tokenizer.encode(prompt))
        if limit is None or length <= limit:
            return ""
        return (f"the prompt has {length:,} tokens; {self.recipe.name} looks back at most {limit:,}: "
                f"only the last {limit:,} count.")

    @torch.inference_mode()
    def embed(self, texts: Sequence[str], pool: str = "mean", layer: int = -1) -> np.ndarray:
        """One vector per text [texts, width] float32: the mean over its tokens, or the first or last one's."""
        self._need("embed")
        if pool not in ("mean", "first", "last"):
            raise Fault(f"pool {pool!r} is not one of mean, first, last.")
        rows = []
        for text in [texts] if isinstance(texts, str) else texts:
            ids = self._framed(text)
            output = self.model.network(Inputs(torch.from_numpy(ids)[None]))
            vectors = output.last[0] if layer == -1 else output.layers[layer][0]
            rows.append({"mean": vectors.mean(0), "first": vectors[0], "last": vectors[-1]}[pool])
        return torch.stack(rows).float().numpy()

    def _framed(self, text: str, specials: bool = False) -> np.ndarray:
        """Ids as this model expects to read them, within its context."""
        ids = self.tokenizer.encode(text, specials=specials)
        limit = self.model.network.context
        if "[cls]" in self.recipe.objective.specials:
            room = None if limit is None else limit - 2
            ids = [self.tokenizer.special("[cls]"), *ids[:room], self.tokenizer.special("[separator]")]
        elif not ids and self.tokenizer.has("[end]"):
            ids = [self.tokenizer.special("[end]")]
        return np.asarray(ids[:limit], np.int64)

    @torch.inference_mode()
    def fill(self, text: str, k: int = 5) -> Any:
        """The k likeliest tokens for a gap, written as the tokenizer writes it ([MASK]); a list for each of several."""
        self._need("fill")
        gap, written = self.tokenizer.special("[mask]"), self.tokenizer.specials["[mask]"]
        ids = self._framed(text, specials=True)
        places = np.flatnonzero(ids == gap)
        if not len(places):
            raise Fault(f"there is no gap in {text!r}.", f"Write {written} where a word is missing.")
        output = self.model.network(Inputs(torch.from_numpy(ids)[None]))
        found = []
        for place in places:
            likely = self.model.heads["tokens"].log_probs(output.last[0, place]).exp().topk(k)
            guesses = []
            for probability, token in zip(likely.values.tolist(), likely.indices.tolist()):
                filled = ids.copy()
                filled[place] = token
                guesses.append(Guess(self.tokenizer.pieces([token])[0], probability, self.tokenizer.decode(filled)))
            found.append(guesses)
        return found[0] if len(found) == 1 else found

    @torch.inference_mode()
    def logits(self, ids: Sequence[int]) -> np.ndarray:
        """[tokens, vocabulary] float32: what others compare us with."""
        self._need("logits")
        output = self.model.network(Inputs(torch.as_tensor(np.asarray(ids, np.int64))[None]))
        return self.model.heads["tokens"].logits(output.last[0]).float().numpy()
