"""What OpenAI's protocol has no words for: a route for every ability that a served model declares."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from fastapi import APIRouter, Request

from foreword.basics.files import JsonObject
from foreword.counts.mixture import MixtureOfModels
from foreword.evaluate import bits_per_byte as bits
from foreword.generate.batch import generate
from foreword.generate.chat import ChatModel
from foreword.generate.rerank import ReplyRanking, TextModel
from foreword.generate.sample import Sampling
from foreword.generate.text_stream import TextStream
from foreword.serve import protocol as asks
from foreword.serve.borrowed import Borrowed, lent
from foreword.serve.errors import Refused
from foreword.serve.models import LONGEST, Served, ServedModel, finite
from foreword.serve.prompt_scores import PromptScores, token_scores
from foreword.serve.stream import unless_gone
from foreword.vectors.words import unit

LN2 = math.log(2)
MOST_NUMBERS = 1 << 20  # of distributions, in one answer
Run = Callable[[ServedModel, Request, Callable[[], Any]], Awaitable[Any]]


def router(served: Served, limit: float) -> APIRouter:
    """`limit`: seconds that an answer may take."""
    routes = APIRouter(prefix="/v1/foreword")

    async def run(model: ServedModel, request: Request, work: Callable[[], Any]) -> Any:
        """The result of work in the model's thread."""
        return await unless_gone(request, asyncio.wrap_future(model.worker.run_job(work)), limit)

    _add_scores(routes, served, run)
    _add_labels(routes, served, run)
    _add_vectors(routes, served, run)
    _add_several(routes, served, limit)

    @routes.get("/models/{name:path}")
    async def whole(name: str) -> JsonObject:
        """All that `foreword.load` needs to stand in for the model elsewhere: its recipe and its tokenizer."""
        return _described(served.find(name))

    return routes


# ------------------------------------------------------------------------------------------------- texts and tokens


def _add_scores(routes: APIRouter, served: Served, run: Run) -> None:
    @routes.post("/score")
    async def score(asked: asks.ScoreAsked, request: Request) -> JsonObject:
        """What each token of a text cost, and the text in bits per byte."""
        model = served.find(asked.model)
        if not {"score", "fill", "translate"} & set(model.abilities):
            model.need("score")
        texts = [asked.text] if isinstance(asked.text, str) else asked.text
        if sum(len(model.ids(one, "text")) for one in texts) > LONGEST:
            raise Refused(400, f"text: at most {LONGEST} tokens are scored at once; send it in parts.", "text")
        found = await run(model, request, lambda: [scored(model, one, asked) for one in texts])
        return {"model": model.name, "scores": found}

    @routes.post("/log_probs")
    async def log_probs(asked: asks.LogProbsAsked, request: Request) -> JsonObject:
        """The log-probability of every token of each sequence from its start on: `score` of a language model."""
        model = served.find(asked.model, "score")
        if len(asked.starts) != len(asked.sequences):
            raise Refused(400, "starts: there is one for each sequence.", "starts")
        ids = [np.asarray(model.ids(one, "sequences"), np.int64) for one in asked.sequences]
        if model.context is not None and any(len(one) > model.context + 1 for one in ids):
            raise Refused(400, f"sequences: {model.name} reads at most {model.context} tokens at once.", "sequences")
        found = await run(model, request, lambda: model.opened.language_model.score(ids, asked.starts))
        return {"log_probs": [[finite(float(one)) for one in row] for row in found]}

    @routes.post("/next")
    async def following(asked: asks.NextAsked, request: Request) -> JsonObject:
        """The log-probabilities of all tokens after each sequence, `begin` of a language model: float64 in base64."""
        model = served.find(asked.model, "score")
        if len(asked.sequences) > max(1, MOST_NUMBERS // len(model.tokenizer)):
            raise Refused(400, f"sequences: at most {MOST_NUMBERS} numbers are answered at once.", "sequences")
        ids = [np.asarray(model.prompt_ids(one, 0), np.int64) for one in asked.sequences]
        found = await run(model, request, lambda: model.opened.language_model.begin(ids)[0])
        rows = torch.as_tensor(found).double().numpy().astype("<f8")
        return {"rows": len(rows), "log_probs": b64encode(rows.tobytes()).decode()}

    @routes.post("/fill")
    async def fill(asked: asks.FillAsked, request: Request) -> JsonObject:
        """The likeliest tokens for each gap of a text, which the tokenizer writes [MASK] or <mask>."""
        model = served.find(asked.model, "fill")
        found = await run(model, request, lambda: model.opened.fill(asked.text, k=min(asked.k, len(model.tokenizer))))
        gaps = found if found and isinstance(found[0], list) else [found]
        return {"model": model.name, "gaps": [[asdict(one) for one in gap] for gap in gaps]}

    @routes.post("/translate")
    async def translate(asked: asks.TranslateAsked, request: Request) -> JsonObject:
        """What an encoder-decoder writes from each source, the best of a beam."""
        model = served.find(asked.model, "translate")
        texts = [asked.text] if isinstance(asked.text, str) else asked.text
        if not all(one.strip() for one in texts):
            raise Refused(400, "text: there is nothing to translate.", "text")
        settings = {"beam": asked.beam, "length_penalty": asked.length_penalty, "max_tokens": asked.max_tokens}
        found = await run(model, request, lambda: model.opened.translate(texts, **settings))
        return {"model": model.name, "texts": found}


def scored(model: ServedModel, text: str, asked: asks.ScoreAsked) -> JsonObject:
    """One text: in all, and token by token where the model reads from left to right."""
    opened = model.opened
    score = opened.score(text, given=asked.given) if asked.given is not None else opened.score(text)
    values = {name: finite(one) if isinstance(one, float) else one for name, one in score.values().items()}
    if "score" not in model.abilities:
        pairs = [{"text": piece, "log_prob": finite(log), "bits": -finite(log) / LN2} for piece, log in score.each]
        return {**values, "each": pairs}
    ids = bits.text_of(text, opened.tokenizer).ids
    return {**values, "each": _each(model, window_scores(model, ids, asked.alternatives))}


def window_scores(model: ServedModel, ids: np.ndarray, alternatives: int) -> PromptScores:
    """As `score` has it: after the start of a document, and in windows that overlap by half where the text is long."""
    reader, tokenizer = model.opened.language_model, model.tokenizer
    before = [tokenizer.special("[end]")] if tokenizer.has("[end]") else []
    whole = np.concatenate([np.asarray(before, np.int64), ids])
    shown, parts = ids.tolist(), []
    for window in bits.windows(len(whole), reader.context):
        sequence = whole[window.start : window.stop].tolist()
        first = window.scored - window.start
        parts.append(token_scores(reader, sequence, first, alternatives, sequence[first:]))
    given = len(shown) - sum(len(part.ids) for part in parts)
    found = PromptScores(shown, [None] * given, [None] * given, [None] * given, [()] * given)
    for part in parts:
        found.log_probs.extend(part.log_probs)
        found.ranks.extend(part.ranks)
        found.entropies.extend(part.entropies)
        found.likeliest.extend(part.likeliest)
    return found


def _each(model: ServedModel, scores: PromptScores) -> list[JsonObject]:
    """Token by token; the texts of all tokens together are the text."""
    stream, found = TextStream(model.tokenizer), []
    for place, token in enumerate(scores.ids):
        text = stream.add(token)
        log, rank, entropy = scores.log_probs[place], scores.ranks[place], scores.entropies[place]
        others = [
            {"token": other, "text": model.token_text(other), "probability": math.exp(finite(nats))}
            for other, nats in scores.likeliest[place]
        ]
        one = {"token": token, "text": text, "log_prob": None if log is None else finite(log)}
        one |= {"bits": None if log is None else -finite(log) / LN2, "rank": rank}
        found.append({**one, "entropy": None if entropy is None else entropy / LN2, "alternatives": others})
    if found:
        found[-1]["text"] = f"{found[-1]['text']}{stream.close()}"
    return found


# ----------------------------------------------------------------------------------------------- labels and vectors


def _add_labels(routes: APIRouter, served: Served, run: Run) -> None:
    async def labels(asked: asks.LabelsAsked, request: Request, ability: str) -> JsonObject:
        model = served.find(asked.model, ability)
        texts = [one if isinstance(one, str) else tuple(one) for one in asked.texts]
        assert model.labels is not None
        answers = model.labels.answers
        return {"model": model.name, "answers": await run(model, request, lambda: answers(texts, asked.task))}

    @routes.post("/classify")
    async def classify(asked: asks.LabelsAsked, request: Request) -> JsonObject:
        """The label of each text or pair of texts, and how sure the model is."""
        return await labels(asked, request, "classify")

    @routes.post("/tag")
    async def tag(asked: asks.LabelsAsked, request: Request) -> JsonObject:
        """A tag for each word of each text."""
        return await labels(asked, request, "tag")

    @routes.post("/answer")
    async def answer(asked: asks.LabelsAsked, request: Request) -> JsonObject:
        """Where each passage answers its question: texts are pairs of question and passage."""
        return await labels(asked, request, "answer")


def _add_vectors(routes: APIRouter, served: Served, run: Run) -> None:
    @routes.post("/neighbours")
    async def neighbours(asked: asks.NeighboursAsked, request: Request) -> JsonObject:
        """Words whose vectors point most nearly the same way."""
        model = served.find(asked.model, "neighbours")
        found = await run(model, request, lambda: model.opened.neighbours(asked.word, asked.k))
        return {"model": model.name, "neighbours": [{"word": word, "cosine": cosine} for word, cosine in found]}

    @routes.post("/similarity")
    async def similarity(asked: asks.SimilarityAsked, request: Request) -> JsonObject:
        """The cosine of each pair: of words, where the model is a table of them, else of texts."""
        model = served.find(asked.model)
        if "similarity" not in model.abilities:
            model.need("embed")
        if not all(one.strip() for pair in asked.pairs for one in pair):
            raise Refused(400, "pairs: a text without tokens has no vector.", "pairs")

        def cosines() -> list[float]:
            if "similarity" in model.abilities:
                return [model.opened.similarity(*pair) for pair in asked.pairs]
            first, second = (unit(model.opened.embed([pair[side] for pair in asked.pairs])) for side in (0, 1))
            return [float(one) for one in (first * second).sum(1)]

        return {"model": model.name, "cosines": await run(model, request, cosines)}


# --------------------------------------------------------------------------------------------- several models at once


def _add_several(routes: APIRouter, served: Served, limit: float) -> None:
    @routes.post("/mix")
    async def mix(asked: asks.MixAsked, request: Request) -> JsonObject:
        """Several models with the same tokens as one: what the mixture makes of a text, or writes after a prompt."""
        models = [served.find(name, "score") for name in asked.models]
        weights = np.asarray(list(asked.models.values()), float)
        if not weights.sum():
            raise Refused(400, "models: some weight must be above 0.", "models")
        if len({one.tokenizer.fingerprint for one in models}) > 1:
            raise Refused(400, "models: those that are mixed must have the same tokens.", "models")
        ids = models[0].prompt_ids(asked.prompt, asked.max_tokens)
        if len(models[0].ids(asked.text, "text")) > LONGEST:
            raise Refused(400, f"text: at most {LONGEST} tokens are scored at once.", "text")

        def work(given_up: threading.Event) -> JsonObject:
            each = [Borrowed(one.opened.language_model, one.worker, given_up) for one in models]
            return _mixed(MixtureOfModels(each, weights / weights.sum()), models[0], ids, asked)

        return await lent(request, limit, work)

    @routes.post("/candidates")
    async def candidates(asked: asks.CandidatesAsked, request: Request) -> JsonObject:
        """Replies drawn for a dialogue, ranked by a backward model if one is named (MMI): each with its scores."""
        model = served.find(asked.model, "candidates")
        backward = served.find(asked.backward, "rank") if asked.backward else None
        turns = [one.strip() for one in asked.turns]
        if not all(turns):
            raise Refused(400, "turns: an empty turn cannot be answered.", "turns")

        def work(given_up: threading.Event) -> JsonObject:
            def borrowed(one: ServedModel) -> TextModel:
                return TextModel(Borrowed(one.opened.language_model, one.worker, given_up), one.tokenizer)

            forward, back = borrowed(model), borrowed(backward) if backward else None
            most = asked.max_tokens or min(40, (model.context or 160) // 4)
            sampling = Sampling(most, 1, asked.temperature, asked.top_k, seed=asked.seed)
            ranking = ReplyRanking(asked.balance, asked.length_bonus)
            (reply,) = ChatModel(forward, sampling, asked.n, back, ranking).answers([turns])
            return {
                "model": model.name,
                "seen": reply.seen,
                "candidates": [_candidate(one) for one in reply.candidates],
            }

        return await lent(request, limit, work)


def _mixed(mixture: MixtureOfModels, model: ServedModel, ids: Sequence[int], asked: asks.MixAsked) -> JsonObject:
    found: JsonObject = {"weights": dict(zip(asked.models, mixture.weights.tolist()))}
    if asked.text:
        text = bits.text_of(asked.text, model.tokenizer)
        (logs,) = bits.log_probs(mixture, model.tokenizer, [text])
        values = bits.cost(text, logs, model.tokenizer, "").values()
        found["score"] = {name: finite(one) if isinstance(one, float) else one for name, one in values.items()}
    if asked.max_tokens:
        sampling = Sampling(asked.max_tokens, temperature=asked.temperature, top_p=asked.top_p, seed=asked.seed)
        (one,) = generate(mixture, model.tokenizer, [ids], sampling)
        found |= {"text": one.text, "finish_reason": "length" if one.reason == "length" else "stop"}
    return found


def _candidate(one: Any) -> JsonObject:
    values = asdict(one)
    return {name: finite(value) if isinstance(value, float) else value for name, value in values.items()}


# ------------------------------------------------------------------------------------------------- the model, elsewhere


def _described(model: ServedModel) -> JsonObject:
    """The recipe and the files of the tokenizer."""
    recipe = getattr(model.opened, "recipe", None)
    if recipe is None or isinstance(recipe, dict):
        raise Refused(400, f"{model.name} is a table of vectors: open its folder.", "model")
    with TemporaryDirectory() as folder:
        model.tokenizer.save(Path(folder))
        files = {name: (Path(folder) / name).read_text(encoding="utf-8") for name in asks.TOKENIZER_FILES}
    values = json.loads(json.dumps(recipe.values(), default=str))
    return {**model.about(), "recipe_values": values, "tokenizer": files, "rows": len(model.tokenizer)}
