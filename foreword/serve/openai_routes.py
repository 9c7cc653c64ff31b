"""OpenAI's routes: models, completions, chat, embeddings, as its own SDK speaks them."""

from __future__ import annotations

import asyncio
import base64
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any

import numpy as np
from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from foreword.basics.files import JsonObject
from foreword.generate.chat import ChatModel
from foreword.generate.rerank import TextModel
from foreword.generate.sample import Sampling
from foreword.serve.batching import Event, TextRequest
from foreword.serve.errors import Refused
from foreword.serve.models import Served, ServedModel, finite
from foreword.serve.prompt_scores import PromptScores, prompt_scores
from foreword.serve.protocol import SEEDS, ChatAsked, CompletionAsked, EmbeddingsAsked, Sampled, as_texts
from foreword.serve.stream import EventStream, unless_gone

MOST_TEXTS = 128  # of one request
REASONS = {"length": "length", "end": "stop", "stop": "stop"}
Chunk = Callable[[int, "AnswerText", Sequence[Event]], JsonObject]


class AnswerText:
    """One text of an answer, as it grows."""

    def __init__(self, model: ServedModel, before: str = "", scores: PromptScores | None = None):
        self.model, self.before, self.scores = model, before, scores
        self.events: list[Event] = []
        self.past = 0  # characters before the next token

    @property
    def tokens(self) -> int:
        return sum(not one.ended for one in self.events)

    @property
    def text(self) -> str:
        return self.before + "".join(one.text for one in self.events)

    @property
    def reason(self) -> str | None:
        return REASONS.get(self.events[-1].reason) if self.events else "length"

    @property
    def mean_log_prob(self) -> float:
        return sum(one.log_prob for one in self.events) / max(len(self.events), 1)


def sampling_of(asked: Sampled, model: ServedModel, max_tokens: int) -> Sampling:
    """The request's settings as ours; without a seed, one that nobody knows."""
    size, bias = len(model.tokenizer), []
    for token, more in (asked.logit_bias or {}).items():
        if not token.isdecimal() or len(token) > 9 or int(token) >= size:
            raise Refused(400, f"logit_bias: {model.name} has tokens 0 to {size - 1}, not {token[:20]}.", "logit_bias")
        bias.append((int(token), more))
    return Sampling(
        max_tokens=max_tokens,
        min_tokens=min(asked.min_tokens, max_tokens),
        temperature=1.0 if asked.temperature is None else asked.temperature,
        top_k=asked.top_k,
        top_p=asked.top_p or 1.0,
        repetition_penalty=asked.repetition_penalty,
        stop=asked.stops,
        bias=tuple(sorted(bias)),
        seed=secrets.randbits(63) if asked.seed is None else asked.seed & SEEDS,
    )


def head(kind: str, model: ServedModel) -> JsonObject:
    return {"id": f"{kind}-{secrets.token_hex(12)}", "created": int(time.time()), "model": model.name}


def usage(prompt: int, completion: int) -> JsonObject:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


async def finished(model: ServedModel, generation: TextRequest, texts: Sequence[AnswerText]) -> None:
    """Until all texts are written; if the wait is given up, they leave the batch."""
    try:
        model.worker.submit(generation)
        async for events in generation.each():
            for one in events:
                texts[one.index].events.append(one)
    finally:
        model.worker.cancel(generation)


async def chunks(
    generation: TextRequest, texts: Sequence[AnswerText], chunk: Chunk, quiet: bool
) -> AsyncIterator[Iterable[JsonObject]]:
    """A piece for each token; `quiet`: for each text that grew, tokens that completed no text left out."""
    async for events in generation.each():
        grown: dict[int, list[Event]] = {}
        pieces = []
        for one in events:
            texts[one.index].events.append(one)
            grown.setdefault(one.index, []).append(one)
            if not quiet:
                pieces.append(chunk(one.index, texts[one.index], [one]))
        if quiet:
            told = {index: some for index, some in grown.items() if any(one.text or one.reason for one in some)}
            pieces = [chunk(index, texts[index], some) for index, some in told.items()]
        yield pieces


def router(served: Served, limit: float) -> APIRouter:
    """`limit`: seconds that an answer may take."""
    routes = APIRouter()

    @routes.get("/v1/models")
    async def models() -> JsonObject:
        return {"object": "list", "data": [one.about() for one in served.models.values()]}

    @routes.get("/v1/models/{name:path}")
    async def model(name: str) -> JsonObject:
        return served.find(name).about()

    @routes.post("/v1/completions", response_model=None)
    async def completions(asked: CompletionAsked, request: Request) -> Response:
        return await _completions(served.find(asked.model, "generate"), asked, request, limit)

    @routes.post("/v1/chat/completions", response_model=None)
    async def chat(asked: ChatAsked, request: Request) -> Response:
        return await _chat(served.find(asked.model), asked, request, limit)

    @routes.post("/v1/embeddings", response_model=None)
    async def embeddings(asked: EmbeddingsAsked, request: Request) -> Response:
        return await _embeddings(served.find(asked.model, "embed"), asked, request, limit)

    return routes


# ------------------------------------------------------------------------------------------------------- completions


async def _completions(model: ServedModel, asked: CompletionAsked, request: Request, limit: float) -> Response:
    most = 16 if asked.max_tokens is None else asked.max_tokens
    # lm-evaluation-harness asks for one token more than the text that it wants to know about
    given = 1 if asked.echo and most <= 1 else 0
    prompts = [model.prompt_ids(one, most, given) for one in as_texts(asked.prompt)]
    n, drawn = asked.n or 1, asked.best_of or asked.n or 1
    if len(prompts) * drawn > MOST_TEXTS:
        raise Refused(400, f"at most {MOST_TEXTS} texts are written for one request.", "n")
    told = asked.logprobs if asked.logprobs is not None else 0
    scores: list[PromptScores | None] = [None] * len(prompts)
    if asked.echo and asked.logprobs is not None:
        work = asyncio.wrap_future(
            model.worker.run_job(lambda: [prompt_scores(model.opened, ids, told) for ids in prompts])
        )
        scores = await unless_gone(request, work, limit)
    texts = [
        AnswerText(model, model.tokenizer.decode(ids) if asked.echo else "", score)
        for ids, score in zip(prompts, scores)
        for _ in range(drawn)
    ]
    generation = TextRequest(prompts, drawn, sampling_of(asked, model, most), model.tokenizer, told)
    about = {**head("cmpl", model), "object": "text_completion"}
    read = sum(map(len, prompts))

    def choice(index: int, one: AnswerText, events: Sequence[Event], begins: bool, ends: bool) -> JsonObject:
        text = (one.before if begins else "") + "".join(event.text for event in events)
        logprobs = None if asked.logprobs is None else _logprobs(one, events, begins)
        ids = [event.token for event in events if not event.ended]
        return {
            "index": index,
            "text": text,
            **({"token_ids": ids} if asked.return_token_ids else {}),
            "logprobs": logprobs,
            "finish_reason": one.reason if ends else None,
        }

    if not asked.stream:
        await unless_gone(request, finished(model, generation, texts), limit)
        written = sum(one.tokens for one in texts)
        kept = [one for at in range(0, len(texts), drawn) for one in _best(texts[at : at + drawn], n)]
        choices = [choice(index, one, one.events, True, True) for index, one in enumerate(kept)]
        return JSONResponse({**about, "choices": choices, "usage": usage(read, written)})

    def chunk(index: int, one: AnswerText, events: Sequence[Event]) -> JsonObject:
        begins, ends = len(one.events) == len(events), bool(events[-1].reason)
        return {**about, "choices": [choice(index, one, events, begins, ends)]}

    async def pieces() -> AsyncIterator[Iterable[JsonObject]]:
        if not most:
            yield [{**about, "choices": [choice(i, one, [], True, True)]} for i, one in enumerate(texts)]
        async for some in chunks(generation, texts, chunk, asked.logprobs is None):
            yield some
        if asked.stream_options and asked.stream_options.include_usage:
            yield [{**about, "choices": [], "usage": usage(read, sum(one.tokens for one in texts))}]

    model.worker.submit(generation)
    return EventStream(pieces(), lambda: model.worker.cancel(generation), limit)


def _best(texts: Sequence[AnswerText], n: int) -> list[AnswerText]:
    """The n likeliest per token, as OpenAI chooses them; all, in their order, if no more were drawn."""
    if len(texts) == n:
        return list(texts)
    return sorted(texts, key=lambda one: -one.mean_log_prob)[:n]


def _logprobs(one: AnswerText, events: Sequence[Event], begins: bool) -> JsonObject:
    """OpenAI's four lists. Of an echo, the prompt's tokens first, the first of which nobody guessed."""
    model, scores = one.model, one.scores if begins else None
    tokens = [*(scores.ids if scores else ()), *(event.token for event in events)]
    logs = [*(scores.log_probs if scores else ()), *(event.log_prob for event in events)]
    likely = [*(scores.likeliest if scores else ()), *(event.alternatives for event in events)]
    said = [model.token_text(token) for token in tokens]
    if begins:
        one.past = 0 if scores else len(one.before)
    offsets = []
    for text in said:
        offsets.append(one.past)
        one.past += 0 if text.startswith("bytes:") else len(text)
    top = [
        None if log is None else {model.token_text(other): finite(nats) for other, nats in some}
        for log, some in zip(logs, likely)
    ]
    return {
        "tokens": said,
        "token_logprobs": [None if log is None else finite(log) for log in logs],
        "top_logprobs": top,
        "text_offset": offsets,
    }


# -------------------------------------------------------------------------------------------------------------- chat


def chat_model(model: ServedModel, sampling: Sampling, candidates: int = 1) -> ChatModel:
    """The model as one that replies; others do not know when a turn ends."""
    if "chat" not in model.abilities:
        raise Refused(
            400,
            f"{model.name} was not trained on dialogues: it does not know turns. Ask /v1/completions.",
            "model",
            "model_not_supported",
        )
    return ChatModel(TextModel(model.opened.language_model, model.tokenizer), sampling, candidates)


def turns_of(asked: ChatAsked, model: ServedModel) -> list[str]:
    """What was said, turn by turn."""
    if any(one.role in ("system", "developer") for one in asked.messages):
        raise Refused(400, f"messages: {model.name} knows turns of a dialogue, no instructions.", "messages")
    turns = [one.text.strip() for one in asked.messages]
    if not all(turns):
        raise Refused(400, "messages: an empty turn cannot be answered.", "messages")
    if asked.messages[-1].role != "user":
        raise Refused(400, "messages: the last turn must be the user's; it is what is answered.", "messages")
    return turns


async def _chat(model: ServedModel, asked: ChatAsked, request: Request, limit: float) -> Response:
    most = asked.max_tokens if asked.max_completion_tokens is None else asked.max_completion_tokens
    if most is None:
        most = 40 if model.context is None else min(40, model.context // 2)
    replying = chat_model(model, sampling_of(asked, model, most))
    turns = turns_of(asked, model)
    if sum(map(len, turns)) > 1 << 20:
        raise Refused(400, "messages: this is too long.", "messages", "context_length_exceeded")
    ids, _, _ = replying.prompt(turns)
    model.prompt_ids(ids.tolist(), most)
    n, told = asked.n or 1, (asked.top_logprobs or 0) if asked.logprobs else 0
    texts = [AnswerText(model) for _ in range(n)]
    generation = TextRequest([ids], n, replying.sampling, model.tokenizer, told)
    about = head("chatcmpl", model)

    if not asked.stream:
        await unless_gone(request, finished(model, generation, texts), limit)
        choices = [
            {
                "index": index,
                "message": {"role": "assistant", "content": one.text.strip(), "refusal": None},
                "logprobs": {"content": _content(one, one.events)} if asked.logprobs else None,
                "finish_reason": one.reason,
            }
            for index, one in enumerate(texts)
        ]
        counted = usage(len(ids), sum(one.tokens for one in texts))
        return JSONResponse({**about, "object": "chat.completion", "choices": choices, "usage": counted})

    about["object"] = "chat.completion.chunk"

    def delta(index: int, said: JsonObject, reason: str | None, logprobs: JsonObject | None = None) -> JsonObject:
        piece = {"index": index, "delta": said, "logprobs": logprobs, "finish_reason": reason}
        return {**about, "choices": [piece]}

    def chunk(index: int, one: AnswerText, events: Sequence[Event]) -> JsonObject:
        text = "".join(event.text for event in events)
        logprobs = {"content": _content(one, events)} if asked.logprobs else None
        return delta(index, {"content": text}, one.reason if events[-1].reason else None, logprobs)

    async def pieces() -> AsyncIterator[Iterable[JsonObject]]:
        yield [delta(index, {"role": "assistant", "content": ""}, None) for index in range(n)]
        if not most:
            yield [delta(index, {}, "length") for index in range(n)]
        async for some in chunks(generation, texts, chunk, not asked.logprobs):
            yield some
        if asked.stream_options and asked.stream_options.include_usage:
            yield [{**about, "choices": [], "usage": usage(len(ids), sum(one.tokens for one in texts))}]

    model.worker.submit(generation)
    return EventStream(pieces(), lambda: model.worker.cancel(generation), limit)


def _content(one: AnswerText, events: Sequence[Event]) -> list[JsonObject]:
    """The tokens of a reply as chat tells them."""

    def said(token: int, log_prob: float) -> JsonObject:
        model = one.model
        return {"token": model.token_text(token), "logprob": finite(log_prob), "bytes": model.token_bytes(token)}

    return [
        {**said(event.token, event.log_prob), "top_logprobs": [said(*other) for other in event.alternatives]}
        for event in events
    ]


# -------------------------------------------------------------------------------------------------------- embeddings


async def _embeddings(model: ServedModel, asked: EmbeddingsAsked, request: Request, limit: float) -> Response:
    given = as_texts(asked.input)
    ids = [model.ids(one, "input") for one in given]
    texts = [one if isinstance(one, str) else model.tokenizer.decode(one) for one in given]
    if not all(ids) or not all(texts):
        raise Refused(400, "input: a text without tokens has no vector.", "input")
    pool: dict[str, Any] = {"pool": asked.pool} if asked.pool else {}
    work = asyncio.wrap_future(model.worker.run_job(lambda: model.opened.embed(texts, **pool)))
    vectors: np.ndarray = await unless_gone(request, work, limit)
    rows = [
        base64.b64encode(np.asarray(row, "<f4").tobytes()).decode()
        if asked.encoding_format == "base64"
        else row.tolist()
        for row in vectors
    ]
    read = sum(min(len(one), model.context or len(one)) for one in ids)
    return JSONResponse(
        {
            "object": "list",
            "model": model.name,
            "data": [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)],
            "usage": {"prompt_tokens": read, "total_tokens": read},
        }
    )
