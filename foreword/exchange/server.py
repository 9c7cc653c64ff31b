"""A model behind `foreword serve`, asked over HTTP: its recipe and tokenizer are here, its weights are there."""

from __future__ import annotations

import json
import os
import re
import tempfile
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import numpy as np
import torch
from torch import Tensor

from foreword.assembly import loader
from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault, RunFailed
from foreword.exchange.hugging_face import LoadedFolder
from foreword.networks.language_model import first_tokens
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.vocabulary import Vocabulary

SEQUENCES, TOKENS = 64, 100_000  # of one request
NUMBERS = 1 << 20  # of distributions in one answer
IMPOSSIBLE = -9999.0  # what JSON has for a probability of 0


class ModelServer:
    """One model of a server."""

    def __init__(self, url: str, model: str):
        self.url, self.model = url, model
        self.key = os.environ.get("FOREWORD_API_KEY", "")

    def ask(self, path: str, body: JsonObject | None = None) -> JsonObject:
        with self._open(path, body) as answer:
            found: JsonObject = json.load(answer)
        return found

    def stream(self, path: str, body: JsonObject) -> Iterator[JsonObject]:
        """The pieces of a streamed answer."""
        with self._open(path, {**body, "stream": True}) as answer:
            for line in answer:
                said = line.decode().removeprefix("data: ").strip()
                if said == "[DONE]":
                    return
                if said:
                    piece = json.loads(said)
                    if "error" in piece:
                        raise RunFailed(f"{self.url} broke off: {piece['error']['message']}")
                    yield piece
        raise RunFailed(f"{self.url} broke off in the middle of its answer.")

    def _open(self, path: str, body: JsonObject | None) -> Any:
        headers = {"content-type": "application/json"}
        headers |= {"authorization": f"Bearer {self.key}"} if self.key else {}
        data = None if body is None else json.dumps({"model": self.model, **body}).encode()
        try:
            return urlopen(Request(f"{self.url}{path}", data, headers))
        except HTTPError as error:
            raise self._said(error) from error
        except URLError as error:
            raise Fault(
                f"nobody answers at {self.url}: {error.reason}.", "Start the server:  foreword serve RUN"
            ) from error

    def _said(self, error: HTTPError) -> Fault:
        try:
            message = json.load(error)["error"]["message"]
        except (ValueError, KeyError, TypeError):
            message = f"it is no Foreword server (status {error.code})"
        hint = "Give its key in the environment variable FOREWORD_API_KEY." if error.code == 401 else ""
        return (RunFailed if error.code >= 429 else Fault)(f"{self.url}: {message}", hint)


class ServedReader:
    """A language model that answers over HTTP. Its state is what each row has read: the server keeps nothing between requests."""

    def __init__(self, server: ModelServer, context: int | None, vocabulary: Vocabulary):
        self.server, self.context, self.reach, self.vocabulary = server, context, context, vocabulary

    def begin(self, prompts: Sequence[np.ndarray]) -> tuple[Tensor, list[np.ndarray]]:
        rows = [row if self.context is None else row[-self.context :] for row in first_tokens(prompts, self.vocabulary)]
        found: list[np.ndarray] = []
        most = min(SEQUENCES, max(1, NUMBERS // self.vocabulary.size))
        for at in range(0, len(rows), most):
            sequences = [row.tolist() for row in rows[at : at + most]]
            answer = self.server.ask("/v1/foreword/next", {"sequences": sequences})
            found.append(np.frombuffer(b64decode(answer["log_probs"]), "<f8").reshape(answer["rows"], -1))
        return torch.from_numpy(np.concatenate(found)), rows

    def advance(self, tokens: np.ndarray, state: list[np.ndarray]) -> tuple[Tensor, list[np.ndarray]]:
        rows = [np.append(row, token) for row, token in zip(state, tokens)]
        if self.context is not None:  # a row that is full goes on from its later half, as it does there
            rows = [row if len(row) <= self.context else row[-(self.context // 2 + 1) :] for row in rows]
        return self.begin(rows)

    def select(self, state: list[np.ndarray], rows: np.ndarray) -> list[np.ndarray]:
        return [state[row] for row in rows]

    def join(self, state: list[np.ndarray], other: list[np.ndarray]) -> list[np.ndarray]:
        return [*state, *other]

    def score(self, sequences: Sequence[np.ndarray], starts: Sequence[int]) -> list[np.ndarray]:
        found: list[np.ndarray] = []
        some: list[int] = []
        for place, sequence in enumerate(sequences):
            if some and (len(some) == SEQUENCES or sum(len(sequences[i]) for i in some) + len(sequence) > TOKENS):
                found += self._score([sequences[i] for i in some], [starts[i] for i in some])
                some = []
            some.append(place)
        return found + (self._score([sequences[i] for i in some], [starts[i] for i in some]) if some else [])

    def _score(self, sequences: Sequence[np.ndarray], starts: Sequence[int]) -> list[np.ndarray]:
        body = {"sequences": [np.asarray(one).tolist() for one in sequences], "starts": list(map(int, starts))}
        rows = self.server.ask("/v1/foreword/log_probs", body)["log_probs"]
        return [_possible(torch.tensor(row, dtype=torch.float64)).numpy() for row in rows]

    def following(self, ids: np.ndarray) -> Iterator[Tensor]:
        for at in range(0, len(ids), SEQUENCES):
            yield self.begin([ids[: place + 1] for place in range(at, min(at + SEQUENCES, len(ids)))])[0]


def _possible(log_probs: Tensor) -> Tensor:
    return torch.where(log_probs <= IMPOSSIBLE, -torch.inf, log_probs)


class ModelElsewhere:
    """What stands for the weights."""

    def __init__(self, server: ModelServer, about: JsonObject):
        self.server, self.about = server, about

    def parameter_count(self) -> int:
        return int(self.about["parameters"] or 0)

    def arrays(self) -> Mapping[str, Tensor | np.ndarray]:
        raise Fault(f"the weights of {self.server.model} are on {self.server.url}.", "Open its folder to save them.")

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        self.arrays()

    def language_model(self, vocabulary: Vocabulary) -> ServedReader:
        return ServedReader(self.server, self.about["context"], vocabulary)


def read(path: str | Path) -> LoadedFolder:
    """The model at http://HOST:PORT/MODEL; a server of one model needs no name."""
    url = re.sub(r"^(https?):/+", r"\1://", str(path)).rstrip("/")
    base, name = re.fullmatch(r"(https?://[^/]+)/?(.*)", url).groups()  # type: ignore[union-attr]
    server = ModelServer(base, name)
    if not name:
        there = [one["id"] for one in server.ask("/v1/models")["data"]]
        if len(there) != 1:
            raise Fault(f"{base} serves {', '.join(there)}.", f"Say which:  {base}/{there[0]}")
        server.model = there[0]
    about = server.ask(f"/v1/foreword/models/{server.model}")
    recipe = loader.from_values(about["recipe_values"], url)
    with tempfile.TemporaryDirectory() as folder:
        for file in ("tokenizer.json", "tokenizer_config.json"):
            (Path(folder) / file).write_text(about["tokenizer"][file], encoding="utf-8")
        tokenizer = Tokenizer.load(Path(folder))
    return LoadedFolder(recipe, ModelElsewhere(server, about), tokenizer)
