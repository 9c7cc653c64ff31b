"""`foreword.load`: a run, a saved step, a model folder or a Hugging Face directory, as an object that answers questions."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import torch
from torch import Tensor

from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault
from foreword.basics.progress import say
from foreword.batches.by_length import by_length
from foreword.evaluate import bits_per_byte as bits
from foreword.evaluate.attention_maps import Attended, attended
from foreword.evaluate.score import Score
from foreword.exchange.server import ModelElsewhere, ModelServer
from foreword.generate.batch import Continuation, generate
from foreword.generate.beam import Beam, Fused, beam_search
from foreword.generate.sample import Sampling
from foreword.networks.base import Inputs
from foreword.parts.attention import Attention
from foreword.runs.opening import TrainedModel
from foreword.runs.place import is_address
from foreword.vectors.words import nearest, unit

if TYPE_CHECKING:
    from foreword.transfer.predict import Predictor

ROWS = 256  # texts of which all tokens are given together
AT_ONCE = 1024  # positions that are read together; with more, a CPU's caches no longer hold them
Stream = Callable[[int, str], None]  # (row, new text)


@dataclass(frozen=True)
class Guess:
    """One way to fill a gap."""

    token: str
    probability: float
    text: str


def load(path: str | Path, precision: str = "float32") -> LoadedModel:
    """Open a run, a saved step of it (runs/x@12000), a model folder, a Hugging Face directory, or an ARPA file of words.

    precision "int8": a quarter of the memory, and faster. Of a server: http://HOST:PORT/MODEL.
    """
    if is_address(path):
        return ServerModel.opened(path, precision)
    return LoadedModel.opened(path, precision)


class LoadedModel(TrainedModel):
    """A trained model that scores, continues, embeds, fills and labels texts, as far as it can.

    Lists of texts are read in batches, those of like length together: much faster than one at a time, with the same numbers.
    """

    @overload
    def score(self, text: str, stride: int | None = None, given: str | None = None) -> Score: ...
    @overload
    def score(self, text: list[str], stride: int | None = None, given: list[str] | None = None) -> list[Score]: ...

    def score(
        self, text: str | list[str], stride: int | None = None, given: str | list[str] | None = None
    ) -> Score | list[Score]:
        """What a text costs: nats, tokens, bytes, bits per byte, perplexity, each token's log-probability. A list gives a list.

        A text longer than the context is read in windows that move by `stride` tokens; the default is half the context.
        Of a model that writes from a source, the text is what it would write, `given` its source.
        """
        if "translate" in self.abilities:
            return self._score_targets(text, given)
        texts = [bits.text_of(one, self.tokenizer) for one in ([text] if isinstance(text, str) else text)]
        if any(not len(one.ids) for one in texts):
            raise Fault("there is no text to score.")
        if self.only_fills:
            found = [bits.pseudo_score(self.with_heads, self.tokenizer, [one]) for one in texts]
            return found[0] if isinstance(text, str) else found
        policy = bits.policy(self.language_model, stride, self.tokenizer.has("[end]"))
        found = []
        for one, logs in zip(texts, bits.log_probs(self.language_model, self.tokenizer, texts, stride)):
            pieces = self.tokenizer.pieces(one.ids[len(one.ids) - len(logs) :])
            found.append(replace(bits.cost(one, logs, self.tokenizer, policy), each=tuple(zip(pieces, logs.tolist()))))
        return found[0] if isinstance(text, str) else found

    def _score_targets(self, text: str | list[str], given: str | list[str] | None) -> Score | list[Score]:
        if given is None or isinstance(given, str) != isinstance(text, str):
            raise Fault(f"{self.name} writes from a source.", "Give it:  score(target, given=source), or two lists.")
        texts = [text] if isinstance(text, str) else text
        sources = [given] if isinstance(given, str) else given
        if len(texts) != len(sources):
            raise Fault(f"{len(texts):,} targets have {len(sources):,} sources.")
        end, asked = self.tokenizer.special("[end]"), [bits.text_of(one, self.tokenizer) for one in texts]
        found = self.writer.score_targets(self._sources(sources), [np.append(one.ids, end) for one in asked])
        policy = "given its source; the end of the target is not charged"
        scores = [
            replace(
                bits.cost(one, logs[:-1], self.tokenizer, policy),
                each=tuple(zip(self.tokenizer.pieces(one.ids), logs[:-1].tolist())),
            )
            for one, logs in zip(asked, found)
        ]
        return scores[0] if isinstance(text, str) else scores

    def _sources(self, texts: Sequence[str], quietly: bool = False) -> list[np.ndarray]:
        """Sources as an encoder reads them, with their [end]; what is longer than its positions is cut, and that is said."""
        end, limit = self.tokenizer.special("[end]"), self.with_heads.network.context
        ids = self.tokenizer.encode_many(list(texts))
        cut = [number for number, one in enumerate(ids, 1) if limit is not None and len(one) >= limit]
        if cut and not quietly:
            which = ", ".join(map(str, cut[:5])) + (f" and {len(cut) - 5:,} more" if len(cut) > 5 else "")
            say(
                f"source {which}: longer than the {limit:,} tokens that {self.recipe.name} reads; only the beginning counts."
            )
        return [np.append(np.asarray(one, np.int64)[: limit and limit - 1], end) for one in ids]

    def translate(
        self,
        texts: Sequence[str],
        beam: int = 4,
        length_penalty: float = 0.6,
        max_tokens: int | None = None,
        fusion: tuple[LoadedModel, float] | None = None,
        rows: int = 32,
    ) -> list[str]:
        """What it writes from each text, the best of a beam; `max_tokens` is by default 50 more than the source has.

        `fusion`: another model of the same tokens, and how many times its log-probability counts.
        """
        sources, end, how = self._sources(texts), self.tokenizer.special("[end]"), Beam(beam, length_penalty)
        writer: Any = self.writer
        if fusion:
            if fusion[0].tokenizer.fingerprint != self.tokenizer.fingerprint:
                raise Fault(
                    f"{fusion[0].name} has other tokens than {self.name}.", "Train it with --tokenizer of this run."
                )
            writer = Fused(self.writer, fusion[0].language_model, fusion[1])
        found = [""] * len(texts)
        most = self.with_heads.network.context or 10**9
        for some in by_length([len(one) for one in sources], 10**9, rows):
            limits = [min(max_tokens or len(sources[i]) + 50, most - 1) for i in some]
            for i, texts_of in zip(some, beam_search(writer, [sources[i] for i in some], end, how, limits)):
                found[i] = self.tokenizer.decode(texts_of[0].ids).strip() if texts_of else ""
        return found

    @overload
    def generate(
        self, prompt: str = "", n: Literal[1] = 1, stream: Stream | None = None, **settings: object
    ) -> str: ...
    @overload
    def generate(
        self, prompt: list[str], n: int = 1, stream: Stream | None = None, **settings: object
    ) -> list[str]: ...
    @overload
    def generate(
        self, prompt: str | list[str], n: int, stream: Stream | None = None, **settings: object
    ) -> str | list[str]: ...

    def generate(
        self, prompt: str | list[str] = "", n: int = 1, stream: Stream | None = None, **settings: object
    ) -> str | list[str]:
        """Continue a prompt: the new text. A list of prompts, or n > 1, gives a list. Settings: see `Sampling`.

        Of a recurrent network, `clamp={123: 1.0}` keeps units of what it carries along at these values, the prompt included.
        """
        many = self.continuations(prompt, n, stream, **settings)
        return many[0].text if isinstance(prompt, str) and n == 1 else [one.text for one in many]

    def continuations(
        self, prompt: str | Sequence[str] = "", n: int = 1, stream: Stream | None = None, **settings: Any
    ) -> list[Continuation]:
        """Like `generate`, with ids, the reason for stopping and the log-probability of each token."""
        writes = "translate" in self.abilities
        self.need("translate" if writes else "generate")
        if isinstance(settings.get("stop"), str):
            settings["stop"] = (settings["stop"],)
        if clamp := settings.pop("clamp", None):
            with self.clamped(clamp):
                return self.continuations(prompt, n, stream, **settings)
        beam: dict[str, Any] = {key: settings.pop(key) for key in ("beam", "length_penalty") if key in settings}
        how = Sampling(**{**settings, "stop": tuple(settings.get("stop", ()))})
        if writes:
            sources = self._sources([prompt] if isinstance(prompt, str) else prompt)
            return self._continued(self.writer, sources, n, how, beam, stream)
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
        return self._continued(self.language_model, prompts, n, how, beam, stream)

    def clamped(self, values: Mapping[int, float]) -> AbstractContextManager[None]:
        """While it lasts, units of what is carried from token to token keep these values."""
        if not values:
            return nullcontext()
        network = self.with_heads.network
        units = network.units(network(Inputs(torch.zeros(1, 1, dtype=torch.int64))).state)
        if units is None:
            raise Fault(
                f"{self.name} ({self.recipe.name}) carries no units from token to token: none can be clamped.",
                "Recurrent networks do: rnnlm, lstm, mlstm ...",
            )
        if invalid := [unit for unit in values if not 0 <= unit < units.size(-1)]:
            raise Fault(
                f"{self.name} has units 0 to {units.size(-1) - 1:,}; {invalid[0]:,} is not one of them.",
                f"Find those that follow a label:  foreword probe {self.name} TASK --units",
            )
        return network.clamped(values)

    def _continued(
        self, model: Any, prompts: Sequence[Any], n: int, how: Sampling, beam: dict[str, Any], stream: Stream | None
    ) -> list[Continuation]:
        """What a model adds to prompts, or writes from sources: sampled, or with a beam the n best."""
        if not beam:
            return generate(model, self.tokenizer, [ids for ids in prompts for _ in range(n)], how, stream)
        search = Beam(beam.get("beam", 4), beam.get("length_penalty", 0.6))
        ids = [np.asarray(prompt, np.int64) for prompt in prompts]
        found = beam_search(model, ids, self.tokenizer.special("[end]"), search, [how.max_tokens] * len(ids))
        return [
            Continuation(list(one.ids), self.tokenizer.decode(one.ids), "end", [one.log_probability])
            for texts in found
            for one in texts[:n]
        ]

    @torch.inference_mode()
    def embed(self, texts: str | Sequence[str], pool: str = "", layer: int = -1) -> np.ndarray:
        """One vector per text [texts, width] float32: the network's own of it, which for most is the mean over its tokens.

        `pool`: "mean" of all, or that of the "first" or the "last".
        Of a text longer than the context only the beginning is read, and a line on stderr says so.
        """
        self.need("embed")
        if pool not in ("", "mean", "first", "last"):
            raise Fault(f"pool {pool!r} is not one of mean, first, last.")
        own = self.with_heads.network.vector
        texts = [texts] if isinstance(texts, str) else texts
        rows = self._framed(texts)
        found = np.zeros((len(rows), self.with_heads.network.width), np.float32)
        for row, vectors in self._vectors(rows, layer):
            one = {"mean": vectors.mean(0), "first": vectors[0], "last": vectors[-1]}[pool] if pool else own(vectors)
            found[row] = one.float().numpy()
        return found

    @torch.inference_mode()
    def neighbours(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The k tokens whose vectors in the network's own table point most nearly the same way, and the cosine of each."""
        table = unit(self.with_heads.network.table().detach().float().numpy()[: len(self.tokenizer)])
        vocabulary = self.tokenizer.vocabulary()
        ids = min(
            (self.tokenizer.encode(one) for one in (f" {word}", word)), key=len
        )  # as inside a text, where it is whole
        if not ids or vocabulary.unknown in ids:
            raise Fault(f"{self.name} has no vector for {word!r}.")
        near = nearest(table @ unit(table[ids].mean(0)), k, [*ids, *vocabulary.silent])
        return [(self.tokenizer.pieces([token])[0], cosine) for token, cosine in near]

    @torch.inference_mode()
    def in_context(self, word: str, sentences: Sequence[str], layer: int = -1) -> np.ndarray:
        """[sentences, width] float32: the vector of a word as it stands in each sentence, its first time there."""
        self.need("embed")
        rows, before = self._framed(sentences), "[cls]" in self.recipe.objective.specials
        before = before and "queries" not in self.with_heads.network.reads
        found: list[np.ndarray] = []
        for text, (_, offsets) in zip(sentences, self.tokenizer.encode_with_offsets(list(sentences))):
            match = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE)
            if match is None:
                raise Fault(f"the word {word!r} is not in {text!r}.")
            inside = np.flatnonzero((offsets[:, 0] < match.end()) & (offsets[:, 1] > match.start())) + before
            found.append(inside[inside < len(rows[len(found)]) - before])
        vectors = np.zeros((len(rows), self.with_heads.network.width), np.float32)
        for row, read in self._vectors(rows, layer):
            if not len(found[row]):
                raise Fault(f"{word!r} stands beyond what {self.name} reads of {sentences[row][:60]!r}.")
            vectors[row] = read[found[row]].mean(0).float().numpy()
        return vectors

    @torch.inference_mode()
    def layers(self, texts: Sequence[str]) -> list[list[np.ndarray]]:
        """[texts][layers] of [tokens, width] float32: the embeddings, then each layer; the last after its norm."""
        self.need("embed")
        rows = self._framed(texts)
        found: list[list[np.ndarray]] = [[]] * len(rows)
        for row, every in self._every_layer(rows):
            found[row] = [layer.float().numpy() for layer in (*every[:-2], every[-1])]
        return found

    @torch.inference_mode()
    def tokens_in_context(
        self, texts: Sequence[str], layer: int = -1
    ) -> Iterator[tuple[str, np.ndarray, list[list[int]]]]:
        """(text, vectors [tokens, width], the characters [first, last] of each) of a text that has tokens, a few at a time."""
        self.need("embed")
        texts, before = [text for text in texts if text.strip()], "[cls]" in self.recipe.objective.specials
        for at in range(0, len(texts), ROWS):
            some = texts[at : at + ROWS]
            offsets = [places for _, places in self.tokenizer.encode_with_offsets(some)]
            for row, vectors in self._vectors(self._framed(some), layer):
                there = vectors[before : len(vectors) - before][: len(offsets[row])].float().numpy()
                yield some[row], there, offsets[row][: len(there)].tolist()

    def _framed(self, texts: Sequence[str], specials: bool = False) -> list[np.ndarray]:
        """Ids as this model expects to read them, within its context."""
        limit, around = self.with_heads.network.context, "[cls]" in self.recipe.objective.specials
        close = [self.tokenizer.special("[end]")] if self.recipe.objective.closes else []
        behind = "queries" in self.with_heads.network.reads  # XLNet reads [cls] last
        room = None if limit is None else limit - 2 * around
        found, cut = [], 0
        for text in texts:
            ids = self.tokenizer.encode(text, specials=specials)
            cut += room is not None and len(ids) > room
            ids = [*ids[:room], *close]
            if around:
                begin, apart = self.tokenizer.special("[cls]"), self.tokenizer.special("[separator]")
                ids = [*ids, apart, begin] if behind else [begin, *ids, apart]
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
        for row, every in self._every_layer(rows):
            *layers, last = every
            if not -len(layers) <= layer < len(layers):
                raise Fault(
                    f"{self.name} has no layer {layer}.",
                    f"It has 0 (the embeddings) to {len(layers) - 1}; -1 is the last, after its norm.",
                )
            yield row, last if layer == -1 else layers[layer]

    def _every_layer(self, rows: Sequence[np.ndarray]) -> Iterator[tuple[int, list[Tensor]]]:
        """(number of a row, [tokens, width] of each layer, then of the last after its norm)"""
        network = self.with_heads.network
        for some in by_length([len(row) for row in rows], AT_ONCE):
            lengths = torch.tensor([len(rows[row]) for row in some])
            ids = torch.zeros(len(some), int(lengths.max()), dtype=torch.int64)
            for place, row in zip(ids, some):
                place[: len(rows[row])] = torch.from_numpy(rows[row])
            real = torch.arange(ids.size(1)) < lengths[:, None]
            # a network that reads left to right does not see what stands behind
            output = network(Inputs(ids, real=None if network.reads_left_to_right or bool(real.all()) else real))
            every = (*output.layers, output.last)
            yield from ((row, [one[place, : len(rows[row])] for one in every]) for place, row in enumerate(some))

    @torch.inference_mode()
    def attention(self, text: str, target: str = "") -> Attended:
        """Where every head of every layer looks: [heads, queries, keys] by layer (`maps`), and steps of each token (`times`).

        Of a model that writes from a source, the text is the source; without a target, what it would write is taken.
        """
        network, pieces = self.with_heads.network, self.tokenizer.pieces
        if not any(isinstance(part, Attention) for part in network.modules()):
            raise Fault(f"{self.name} ({self.recipe.name}) has no attention.")
        if "translate" not in self.abilities:
            (ids,) = self._framed([text])
            return attended(network, Inputs(torch.from_numpy(ids)[None]), pieces(ids))
        (source,) = self._sources([text])
        start, end = self.writer.vocabulary.start, self.tokenizer.special("[end]")
        written = self.tokenizer.encode(target or self.translate([text])[0])
        ids = np.array([start, *written, end][: network.context and network.context + 1], np.int64)
        inputs = Inputs(torch.from_numpy(ids[:-1])[None], source=torch.from_numpy(source)[None])
        return attended(network, inputs, pieces(ids[:-1]), pieces(source), pieces(ids[1:]))

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
            gaps, before = np.flatnonzero(rows[row] == gap).tolist(), self.recipe.objective.guessed_before
            found[row] = [self._guesses(rows[row], place, vectors[place - before], k) for place in gaps]
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
    def logits(
        self,
        ids: Sequence[int],
        target: Sequence[int] | None = None,
        visible: np.ndarray | Sequence[Sequence[bool]] | None = None,
        targets: Sequence[int] | None = None,
    ) -> np.ndarray:
        """[tokens, vocabulary] float32: what others compare us with.

        Of a model that writes from a source, `ids` are the source and row i is what it says of target id i, given those before.
        XLNet: `targets` are positions that are guessed unseen, a row for each; `visible` [tokens, tokens] is True where one
        position may see another. Without them, everything is seen.
        """
        self.need("logits")
        given = self._checked(ids)
        if visible is not None or targets is not None:
            return self._guessed(given, visible, targets)
        if "translate" in self.abilities:
            if target is None:
                raise Fault(f"{self.name} writes from a source.", "Give both:  logits(source_ids, target_ids)")
            return self.writer.logits([given], [self._checked(target)])[0].float().numpy()
        output = self.with_heads.network(Inputs(torch.from_numpy(given)[None]))
        return self.with_heads.heads["tokens"].logits(output.last[0]).float().numpy()

    def _guessed(self, ids: np.ndarray, visible: object, targets: Sequence[int] | None) -> np.ndarray:
        """What is said of positions in an order."""
        model = self.with_heads
        if "queries" not in model.network.reads:
            raise Fault(f"{self.name} ({self.recipe.name}) reads in one way only: visible and targets are for XLNet.")
        table = None if visible is None else np.asarray(visible, bool)
        if table is not None and table.shape != (len(ids), len(ids)):
            raise Fault(f"visible is {list(table.shape)}; {len(ids)} ids need [{len(ids)}, {len(ids)}].")
        if invalid := [place for place in targets or () if not 0 <= place < len(ids)]:
            raise Fault(f"there is no position {invalid[0]} among {len(ids)} ids; they count from 0.")
        inputs = Inputs(
            torch.from_numpy(ids)[None],
            visible=None if table is None else torch.from_numpy(table)[None],
            queries=None if targets is None else torch.as_tensor(list(targets), dtype=torch.int64)[None],
        )
        return model.heads["tokens"].logits(model.network(inputs).last[0]).float().numpy()

    def _checked(self, ids: Sequence[int]) -> np.ndarray:
        """Ids that the network can read at once."""
        network = self.with_heads.network
        given, size, limit = np.asarray(ids, np.int64), network.table().size(0), network.context
        if given.ndim != 1 or not len(given):
            raise Fault("logits are asked for a list of ids, at least one.")
        if invalid := given[(given < 0) | (given >= size)].tolist():
            raise Fault(f"{self.name} has ids 0 to {size - 1:,}; {invalid[0]:,} is not one of them.")
        if limit is not None and len(given) > limit:
            raise Fault(f"{self.name} reads at most {limit:,} ids at once; these are {len(given):,}.", "Give fewer.")
        return given


class ServerModel(LoadedModel):
    """A model of a server: what needs the weights is asked there."""

    @property
    def server(self) -> ModelServer:
        assert isinstance(self.model, ModelElsewhere)
        return self.model.server

    def _continued(
        self, model: Any, prompts: Sequence[Any], n: int, how: Sampling, beam: dict[str, Any], stream: Stream | None
    ) -> list[Continuation]:
        if beam:
            return super()._continued(model, prompts, n, how, beam, stream)
        settings = {key: value for key, value in vars(how).items() if key != "bias"}
        body = {**settings, "stop": list(how.stop), "n": n, "logprobs": 0, "return_token_ids": True}
        limit = self.language_model.context
        found = [Continuation(reason="length") for _ in range(len(prompts) * n)]
        most = max(1, 128 // n)
        for at in range(0, len(prompts), most):
            some = [list(map(int, ids if limit is None else ids[-limit:])) for ids in prompts[at : at + most]]
            for piece in self.server.stream("/v1/completions", {**body, "prompt": some}):
                (choice,) = piece["choices"]
                row = at * n + choice["index"]
                _extend(found[row], choice)
                if stream and choice["text"]:
                    stream(row, choice["text"])
        return found

    def embed(self, texts: str | Sequence[str], pool: str = "", layer: int = -1) -> np.ndarray:
        self.need("embed")
        if layer != -1:
            raise Fault(f"{self.name} gives vectors of its last layer only.", "Open its folder for the others.")
        texts, rows = [texts] if isinstance(texts, str) else list(texts), list[np.ndarray]()
        for at in range(0, len(texts), 128):
            body = {"input": texts[at : at + 128], "pool": pool, "encoding_format": "base64"}
            for one in self.server.ask("/v1/embeddings", body)["data"]:
                rows.append(np.frombuffer(b64decode(one["embedding"]), "<f4"))
        return np.stack(rows)

    def fill(self, text: str | list[str], k: int = 5) -> list[Any]:
        self.need("fill")
        found: list[Any] = []
        for one in [text] if isinstance(text, str) else text:
            gaps = self.server.ask("/v1/foreword/fill", {"text": one, "k": k})["gaps"]
            guesses = [[Guess(**guess) for guess in gap] for gap in gaps]
            found.append(guesses[0] if len(guesses) == 1 else guesses)
        return found[0] if isinstance(text, str) else found

    def predict(self, texts: Sequence[str | tuple[str, ...]]) -> list[Any]:
        self.need("predict")
        assert isinstance(self.model, ModelElsewhere)
        route = next(one for one in ("classify", "tag", "answer") if one in self.model.about["abilities"])
        found: list[Any] = []
        for at in range(0, len(texts), 128):
            answers = self.server.ask(f"/v1/foreword/{route}", {"texts": list(texts[at : at + 128])})["answers"]
            found += [tuple(one["answer"]) if isinstance(one["answer"], list) else one["answer"] for one in answers]
        return found

    def neighbours(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        found = self.server.ask("/v1/foreword/neighbours", {"word": word, "k": k})["neighbours"]
        return [(one["word"], one["cosine"]) for one in found]


def _extend(one: Continuation, choice: JsonObject) -> None:
    """What a piece of a streamed answer adds."""
    one.ids += choice["token_ids"]
    one.text += choice["text"]
    one.log_probs += choice["logprobs"]["token_logprobs"]
    if choice["finish_reason"]:
        closed = len(one.log_probs) > len(one.ids)
        one.reason = "end" if closed else choice["finish_reason"]
