"""Requests for a continuation: what the model writes after each query, up to a stop string."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from foreword.batches.by_length import by_length
from foreword.evaluate.likelihood import document_start
from foreword.evaluate.requests import ROWS, PromptedModel
from foreword.generate.batch import generate
from foreword.generate.sample import Sampling
from foreword.networks.language_model import LanguageModel
from foreword.tasks.prompted.request import GenerationRequest
from foreword.tokens.tokenizer import Tokenizer


def write_continuations(asked: PromptedModel, requests: Sequence[GenerationRequest]) -> list[str]:
    """What the model writes after each query, up to a stop string."""
    prompts, cut = [], 0
    for request, ids in zip(requests, asked.tokenizer.encode_many([request.query for request in requests])):
        if asked.closes is not None:
            read, short = asked.source(ids)
            prompts.append(read)
            cut += short
            continue
        room = len(ids) if asked.context is None else request.room(asked.context)
        cut += len(ids) > room
        prompts.append(ids[max(0, len(ids) - room) :] if len(ids) else document_start(asked.tokenizer))
    asked.count(prompts, cut)
    how = [
        Sampling(one.most, stop=one.stop, temperature=0.0 if one.top_k == 1 else 1.0, top_k=one.top_k)
        for one in requests
    ]
    found = dict(continued(asked.model, asked.tokenizer, prompts, how))
    return [found[place] for place in range(len(requests))]


def continued(
    model: LanguageModel, tokenizer: Tokenizer, prompts: Sequence[np.ndarray], how: Sequence[Sampling], rows: int = ROWS
) -> Iterator[tuple[int, str]]:
    """(number of a prompt, what is written after it); those of like length and the same settings go together."""
    for sampling in dict.fromkeys(how):
        mine = [place for place, one in enumerate(how) if one == sampling]
        for some in by_length([len(prompts[place]) for place in mine], rows=rows):
            chosen = [mine[place] for place in some]
            written = generate(model, tokenizer, [prompts[place].tolist() for place in chosen], sampling)
            yield from zip(chosen, (one.text for one in written))
