"""Score: what a text cost a model, in every unit, and whether two scores may be compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from foreword.basics.messages import Fault

LONGEST_WORDS = 30  # characters per word on average; more means that spaces do not part words


@dataclass(frozen=True)
class Score:
    """A sum of nats and the sizes of the text it was paid for."""

    nats: float
    tokens: int
    bytes: int
    characters: int
    words: int
    documents: int = 1
    unknown: int = 0  # tokens that stand for anything not in the vocabulary
    lossless: bool = True  # the tokens hold the whole text
    kind: str = "likelihood"  # or "pseudo-likelihood": each token guessed from both sides
    policy: str = ""  # what each token was allowed to see
    spelled: float = 0.0  # nats for the letters of unknown words, beside what their tokens cost
    each: tuple[tuple[str, float], ...] = field(default=(), repr=False)  # (token, log-probability)

    @property
    def bits_per_byte(self) -> float | None:
        """None for a lossy tokenizer: what it leaves out was never paid for."""
        return (self.nats + self.spelled) / math.log(2) / max(self.bytes, 1) if self.lossless else None

    @property
    def bits_per_character(self) -> float | None:
        return (self.nats + self.spelled) / math.log(2) / max(self.characters, 1) if self.lossless else None

    @property
    def bits_per_token(self) -> float:
        return self.nats / math.log(2) / max(self.tokens, 1)

    @property
    def perplexity(self) -> float:
        """Per token of this tokenizer; not comparable with another's."""
        return _exp(self.nats / max(self.tokens, 1))

    @property
    def word_perplexity(self) -> float | None:
        """None, too, for a text that does not part its words by spaces, such as Chinese."""
        separated = self.characters <= LONGEST_WORDS * self.words
        return _exp((self.nats + self.spelled) / self.words) if self.lossless and separated else None

    def values(self) -> dict[str, object]:
        """What is derived, then what is counted; not token by token."""
        derived = ("bits_per_byte", "bits_per_character", "bits_per_token", "perplexity", "word_perplexity")
        counted = [one.name for one in fields(self) if one.name != "each"]
        return {name: getattr(self, name) for name in (*derived, *counted)}


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


def check_comparable(scores: dict[str, Score]) -> None:
    """Refuse to put side by side what does not measure the same thing."""
    check_alike({name: (score.lossless, score.kind) for name, score in scores.items()})
    sizes = {name: score.bytes for name, score in scores.items()}
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"{name} {size:,} bytes" for name, size in sizes.items())
        raise Fault(f"these scores were paid for texts of different size: {said}.")


def check_alike(natures: dict[str, tuple[bool | None, str]]) -> None:
    """The same before anything is scored: (is the tokenizer lossless, if that is certain, what kind of score) of each model."""
    if (
        len({lossless for lossless, _ in natures.values()} - {None}) <= 1
        and len({kind for _, kind in natures.values()}) <= 1
    ):
        return
    words = [
        f"{name} pays for {'all of the text' if lossless else 'a text that its tokenizer has cut down'}"
        f"{', and guesses it from both sides' if kind == 'pseudo-likelihood' else ''}"
        for name, (lossless, kind) in natures.items()
    ]
    raise Fault(
        "these models cannot be compared in bits per byte: " + "; ".join(words) + ".",
        "Evaluate them one at a time, or train them with the same lossless tokenizer (byte_bpe, byte).",
    )


def total(scores: Sequence[Score]) -> Score:
    """The score of all texts together: sums are added, never averages averaged."""
    first = scores[0]
    sums = {
        name: sum(getattr(score, name) for score in scores)
        for name in ("nats", "spelled", "tokens", "bytes", "characters", "words", "documents", "unknown")
    }
    return Score(**sums, lossless=all(score.lossless for score in scores), kind=first.kind, policy=first.policy)
