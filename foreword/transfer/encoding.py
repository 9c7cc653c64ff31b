"""How texts become one sequence, in the manner of the network that reads it: what stands around them, and where it is read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from tokenizers import Tokenizer as Backend
from tokenizers import processors

from foreword.assembly.recipe import Recipe, kind
from foreword.basics.messages import Fault
from foreword.batches.encoded import EncodedText
from foreword.batches.examples import Examples
from foreword.batches.row import Row
from foreword.networks.features import trunk_of
from foreword.objectives.layout import with_class_last, with_specials
from foreword.parts.task_heads import Reading
from foreword.tokens import backends
from foreword.tokens.tokenizer import Tokenizer
from foreword.transfer import INPUT_FORMATS

AROUND = {"[start]": "<|start|>", "[delimiter]": "<|delimiter|>", "[extract]": "<|extract|>"}


UNLIMITED = 512  # tokens of a sequence, for a network that has no context of its own


class InputFormat:
    reading: Reading
    both_orders = False  # a pair that has no order is read in both
    before = 1  # specials that stand before the first text
    between = 1  # and between two

    def extended(self, tokenizer: Tokenizer) -> Tokenizer:
        """The tokenizer with the specials that stand around texts; new ones take the next ids."""
        raise NotImplementedError

    def specials(self, texts: int) -> int:
        """How many stand around so many texts."""
        return texts + 1

    def sequence(self, texts: Sequence[np.ndarray], tokenizer: Tokenizer) -> EncodedText:
        raise NotImplementedError

    def choice(self, texts: Sequence[str], answer: str) -> tuple[str, str]:
        """The two texts that are read for one answer."""
        raise NotImplementedError


class GptFormat(InputFormat):
    """[start] text [extract], [start] first [delimiter] second [extract]; read at the last (Radford et al. 2018, figure 1)."""

    reading: Reading = "last"
    both_orders = True

    def extended(self, tokenizer: Tokenizer) -> Tokenizer:
        if all(tokenizer.has(name) for name in AROUND):
            return tokenizer
        backend = Backend.from_str(tokenizer.backend.to_str())
        backends.add_specials(backend, list(AROUND.values()))
        specials = {**tokenizer.specials, **AROUND}
        specials.setdefault("[pad]", specials.get("[end]", AROUND["[start]"]))  # any that is never the last token
        ids = [(token, backend.token_to_id(token)) for token in AROUND.values()]
        start, delimiter, extract = AROUND.values()
        frame = processors.TemplateProcessing(
            single=f"{start} $A {extract}", pair=f"{start} $A {delimiter} $B {extract}", special_tokens=ids
        )
        before = backend.post_processor
        backend.post_processor = frame if before is None else processors.Sequence([before, frame])
        return Tokenizer(backend, tokenizer.kind, tokenizer.lossless, specials)

    def sequence(self, texts: Sequence[np.ndarray], tokenizer: Tokenizer) -> EncodedText:
        parts: list[np.ndarray] = []
        for name, text in zip(["[start]", *["[delimiter]"] * (len(texts) - 1)], texts):
            parts += [np.asarray([tokenizer.special(name)]), text]
        ids = np.concatenate([*parts, [tokenizer.special("[extract]")]]).astype(np.int64)
        return EncodedText(ids, (np.arange(len(ids)) > len(texts[0])).astype(np.int64) if len(texts) > 1 else None)

    def choice(self, texts: Sequence[str], answer: str) -> tuple[str, str]:
        return " ".join(texts), answer  # nothing separates text and question


class BareFormat(GptFormat):
    """Nothing but the texts, one behind the other: how a causal network is fine-tuned where no specials are added."""

    both_orders = False
    before = between = 0

    def extended(self, tokenizer: Tokenizer) -> Tokenizer:
        return tokenizer

    def specials(self, texts: int) -> int:
        return 0

    def sequence(self, texts: Sequence[np.ndarray], tokenizer: Tokenizer) -> EncodedText:
        return EncodedText(np.concatenate(texts).astype(np.int64))


class BertFormat(InputFormat):
    """[cls] first [separator] second [separator], with segments; read at the first (Devlin et al. 2018, figure 4)."""

    reading: Reading = "first"

    def extended(self, tokenizer: Tokenizer) -> Tokenizer:
        if missing := [name for name in ("[cls]", "[separator]") if not tokenizer.has(name)]:
            raise Fault(
                f"the tokenizer {tokenizer.name} has no {' and no '.join(missing)}, which stand around the texts of an "
                "example.",
                "Give a model whose tokenizer has them.",
            )
        return tokenizer

    def sequence(self, texts: Sequence[np.ndarray], tokenizer: Tokenizer) -> EncodedText:
        ids, segments = with_specials(Row(texts[0], 0, 0, second=texts[1] if len(texts) > 1 else None), tokenizer)
        return EncodedText(ids, segments)

    def choice(self, texts: Sequence[str], answer: str) -> tuple[str, str]:
        return texts[0], " ".join([*texts[1:], answer])


class XLNetFormat(BertFormat):
    """first [separator] second [separator] [cls], with segments; read at the end (Yang et al. 2019, section 2.5)."""

    reading: Reading = "end"
    before = 0

    def sequence(self, texts: Sequence[np.ndarray], tokenizer: Tokenizer) -> EncodedText:
        return EncodedText(*with_class_last(texts, tokenizer))


class TextFormat(InputFormat):
    """The text and its end: the answer is written (Raffel et al. 2019, section 2.4)."""

    reading: Reading = "text"
    before = between = 0

    def extended(self, tokenizer: Tokenizer) -> Tokenizer:
        return tokenizer

    def specials(self, texts: int) -> int:
        return 1

    def sequence(self, texts: Sequence[np.ndarray], tokenizer: Tokenizer) -> EncodedText:
        return EncodedText(np.append(np.concatenate(texts), tokenizer.special("[end]")).astype(np.int64))


def input_format_of(recipe: Recipe) -> InputFormat:
    """How the recipe's network reads examples."""
    name = kind(trunk_of(recipe.network))
    if name not in INPUT_FORMATS.places:
        raise Fault(
            f"{recipe.name} ({name}) cannot be fine-tuned.", f"Networks that can: {', '.join(INPUT_FORMATS.names())}."
        )
    made: InputFormat = INPUT_FORMATS.find(name)()
    return made


Tokens = tuple[np.ndarray, np.ndarray]  # ids, and the characters [ids, 2] each stands for


class Encoder:
    def __init__(self, input_format: InputFormat, tokenizer: Tokenizer, cut: Examples):
        self.input_format, self.tokenizer, self.cut = input_format, tokenizer, cut
        self.length = cut.length or 0
        if self.room(2) < 2:
            raise Fault(
                f"a length of {self.length} leaves no room for two texts and the {input_format.specials(2)} "
                "specials around them.",
                "Give a longer one: --set batches.length=...",
            )
        self.known: dict[str, Tokens] = {}
        self.truncated: dict[str, int] = {}  # texts, and how many tokens of each are not read

    def room(self, texts: int) -> int:
        """Tokens that so many texts may have together."""
        return self.length - self.input_format.specials(texts)

    def tokenize(self, texts: Iterable[str]) -> None:
        """Tokenise many texts in one call."""
        new = list(dict.fromkeys(text for text in texts if text not in self.known))
        self.known |= dict(zip(new, self.tokenizer.encode_with_offsets(new))) if new else {}

    def tokens(self, text: str) -> Tokens:
        if text not in self.known:
            self.tokenize([text])
        return self.known[text]

    def sequence(self, texts: Sequence[np.ndarray]) -> EncodedText:
        return self.input_format.sequence(texts, self.tokenizer)

    def encode(self, *texts: str) -> EncodedText:
        """One or two texts, shortened to fit: of two, the longer first."""
        ids = [self.tokens(text)[0] for text in texts]
        kept = shares([len(one) for one in ids], self.room(len(texts)))
        for text, one, length in zip(texts, ids, kept):
            self.note_truncation(text, len(one), length)
        return self.sequence([self._end(one, length) for one, length in zip(ids, kept)])

    def note_truncation(self, text: str, tokens: int, kept: int) -> None:
        """Count what is not read of a text; where all of it must be, say so."""
        if tokens > kept and self.cut.keep == "all":
            raise Fault(
                f"this text has {tokens:,} tokens, of which {kept:,} fit: {text[:60]!r} ...",
                "--set batches.keep=head or tail reads one end of it; batches.windows=true all of it, part by part.",
            )
        if tokens > kept:
            self.truncated[text] = max(tokens - kept, self.truncated.get(text, 0))

    def _end(self, ids: np.ndarray, length: int) -> np.ndarray:
        return ids[len(ids) - length :] if self.cut.keep == "tail" else ids[:length]

    def windows(self, ids: np.ndarray, size: int, stride: int) -> list[int]:
        """Where windows of this size begin, so that together they hold everything."""
        return [0, *range(stride, max(len(ids) - size + stride, 1), stride)] if len(ids) > size else [0]

    def truncation_note(self) -> str:
        """A sentence about what was cut, or nothing."""
        if not self.truncated:
            return ""
        end = "last" if self.cut.keep == "tail" else "first"
        return (
            f"{len(self.truncated):,} texts did not fit {self.length} tokens: only their {end} part is read, "
            f"{sum(self.truncated.values()):,} tokens are not."
        )


def shares(lengths: Sequence[int], room: int) -> list[int]:
    """What is left of each when the longest is shortened, a token at a time, until all fit."""
    if sum(lengths) <= room:
        return list(lengths)
    level = next(level for level in range(room, -1, -1) if sum(min(length, level) for length in lengths) <= room)
    kept = [min(length, level) for length in lengths]
    spare = [place for place, length in enumerate(lengths) if length > level]
    for place in spare[: room - sum(kept)]:
        kept[place] += 1
    return kept
