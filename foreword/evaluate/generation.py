"""Requests for a continuation: what the model writes after each query, up to a stop string."""

from __future__ import annotations

from collections.abc import Sequence

from foreword.batches.by_length import by_length
from foreword.evaluate.likelihood import document_start
from foreword.evaluate.requests import ROWS, PromptedModel
from foreword.generate.batch import generate
from foreword.generate.sample import Sampling
from foreword.tasks.prompted.request import GeneratedText, GenerationRequest


def write_continuations(asked: PromptedModel, requests: Sequence[GenerationRequest]) -> list[GeneratedText]:
    """What the model writes after each query, up to a stop string."""
    prompts, cut = [], 0
    for request, ids in zip(requests, asked.tokenizer.encode_many([request.query for request in requests])):
        room = len(ids) if asked.context is None else request.room(asked.context)
        cut += len(ids) > room
        prompts.append(ids[max(0, len(ids) - room) :] if len(ids) else document_start(asked.tokenizer))
    asked.count(prompts, cut)
    found: list[GeneratedText] = [GeneratedText("")] * len(requests)
    for how in dict.fromkeys((request.most, request.stop, request.top_k) for request in requests):
        most, stop, top_k = how
        sampling = Sampling(max_tokens=most, stop=stop, temperature=0.0 if top_k == 1 else 1.0, top_k=top_k)
        mine = [place for place, request in enumerate(requests) if (request.most, request.stop, request.top_k) == how]
        for some in by_length([len(prompts[place]) for place in mine], rows=ROWS):
            chosen = [mine[place] for place in some]
            written = generate(asked.model, asked.tokenizer, [prompts[place].tolist() for place in chosen], sampling)
            for place, one in zip(chosen, written):
                found[place] = GeneratedText(one.text)
    return found
