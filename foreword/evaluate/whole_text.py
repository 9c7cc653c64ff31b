"""Requests for a whole text: every token scored once, in windows that overlap by half."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from foreword.basics.messages import Fault
from foreword.evaluate import bits_per_byte as bits
from foreword.tasks.prompted.request import Likelihood
from foreword.tasks.prompted.whole_text import RollingRequest

if TYPE_CHECKING:
    from foreword.evaluate.requests import PromptedModel
    from foreword.tokens.tokenizer import Tokenizer


def score_whole_texts(asked: PromptedModel, requests: Sequence[RollingRequest]) -> list[Likelihood]:
    """The log-probability of every token of each text."""
    check_lossless(asked.name, asked.tokenizer)
    texts = [bits.text_of(request.text, asked.tokenizer) for request in requests]
    asked.count([text.ids for text in texts], 0)
    return [Likelihood(logs) for logs in bits.log_probs(asked.model, asked.tokenizer, texts)]


def check_lossless(name: str, tokenizer: Tokenizer) -> None:
    """What a lossy tokenizer drops is never paid for, so a cost per byte or word of the original would be too low."""
    if not tokenizer.lossless:
        raise Fault(
            f"{name} reads with {tokenizer.name}, which does not keep the whole text: it has no bits per byte of the "
            "original.",
            "Ask a model with a lossless tokenizer (byte_bpe, byte).",
        )
