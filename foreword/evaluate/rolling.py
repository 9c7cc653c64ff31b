"""A whole text from end to end: every token guessed once, in windows that overlap by half, paid for in bytes of the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from foreword.basics.messages import Fault
from foreword.evaluate import bits_per_byte as bits
from foreword.evaluate.score import Score
from foreword.tasks.detokenise import Format
from foreword.tasks.prompted.request import Weighed
from foreword.tasks.prompted.whole_text import ReadText

if TYPE_CHECKING:
    from foreword.evaluate.likelihood import Respondent
    from foreword.networks.language_model import LanguageModel
    from foreword.tokens.tokenizer import Tokenizer


def roll(respondent: Respondent, requests: Sequence[ReadText]) -> list[Weighed]:
    """The log-probability of every token of each text."""
    check_lossless(respondent.name, respondent.tokenizer)
    texts = [bits.text_of(request.text, respondent.tokenizer) for request in requests]
    respondent.count([text.ids for text in texts], 0)
    return [Weighed(logs) for logs in bits.log_probs(respondent.model, respondent.tokenizer, texts)]


def rolling(model: LanguageModel, tokenizer: Tokenizer, original: str, format: Format | None = None,
            stride: int | None = None, name: str = "the model") -> Score:
    """What a text costs that is de-tokenised before it is read, in bytes, characters and words of the original."""
    check_lossless(name, tokenizer)
    how = format.fitted(original) if format else None
    read = bits.text_of(how.text(original) if how else original, tokenizer)
    score = bits.ask(model, tokenizer, [read], stride).score
    fed = f"; words are {how.counted}; read de-tokenised, {read.bytes:,} bytes" if how else ""
    return replace(score, bytes=len(original.encode("utf-8")), characters=len(original),
                   words=how.words(original) if how else len(original.split()), policy=score.policy + fed)


def check_lossless(name: str, tokenizer: Tokenizer) -> None:
    """What a lossy tokenizer drops is never paid for, so a cost per byte or word of the original would be too low."""
    if not tokenizer.lossless:
        raise Fault(f"{name} reads with {tokenizer.name}, which does not keep the whole text: it has no bits per byte of the "
                    "original.", "Ask a model with a lossless tokenizer (byte_bpe, byte).")
