"""How texts become one sequence, in the manner of the network that reads it: what stands around them, and where it is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from tokenizers import Tokenizer as Backend
from tokenizers import processors

from foreword.basics.messages import Fault
from foreword.batches.encoded import Laid
from foreword.batches.row import Row
from foreword.objectives.layout import with_specials
from foreword.parts.task_heads import Reading
from foreword.tokens import backends
from foreword.tokens.tokenizer import Tokenizer

AROUND = {"[start]": "<|start|>", "[delimiter]": "<|delimiter|>", "[extract]": "<|extract|>"}


class Way(Protocol):
    reading: Reading
    both_orders: bool         # a pair that has no order is read in both
    before: int               # specials that stand before each text

    def fitted(self, tokenizer: Tokenizer) -> Tokenizer:
        """The tokenizer with the specials that stand around texts; new ones take the next ids."""

    def specials(self, texts: int) -> int:
        """How many stand around so many texts."""

    def lay(self, texts: Sequence[np.ndarray], tokenizer: Tokenizer) -> Laid: ...

    def choice(self, texts: Sequence[str], answer: str) -> tuple[str, str]:
        """The two texts that are read for one answer."""

    def alone(self, text: np.ndarray, tokenizer: Tokenizer, length: int) -> Laid:
        """At most so many ids, as a text stood in pretraining: nothing is asked of it."""


class LookingBack:
    """[start] text [extract], [start] first [delimiter] second [extract]; read at the last (Radford et al. 2018, figure 1)."""

    reading: Reading = "last"
    both_orders = True
    before = 1

    def fitted(self, tokenizer: Tokenizer) -> Tokenizer:
        if all(tokenizer.has(name) for name in AROUND):
            return tokenizer
        backend = Backend.from_str(tokenizer.backend.to_str())
        backends.add_specials(backend, list(AROUND.values()))
        specials = {**tokenizer.specials, **AROUND}
        specials.setdefault("[pad]", specials.get("[end]", AROUND["[start]"]))       # any that is never the last token
        ids = [(token, backend.token_to_id(token)) for token in AROUND.values()]
        start, delimiter, extract = AROUND.values()
        frame = processors.TemplateProcessing(single=f"{start} $A {extract}", pair=f"{start} $A {delimiter} $B {extract}",
                                              special_tokens=ids)
        before = backend.post_processor
        backend.post_processor = frame if before is None else processors.Sequence([before, frame])
        return Tokenizer(backend, tokenizer.kind, tokenizer.lossless, specials)

    def specials(self, texts: int) -> int:
        return texts + 1

    def lay(self, texts: Sequence[np.ndarray], tokenizer: Tokenizer) -> Laid:
        parts: list[np.ndarray] = []
        for name, text in zip(["[start]", *["[delimiter]"] * (len(texts) - 1)], texts):
            parts += [np.asarray([tokenizer.special(name)]), text]
        return Laid(np.concatenate([*parts, [tokenizer.special("[extract]")]]).astype(np.int64))

    def choice(self, texts: Sequence[str], answer: str) -> tuple[str, str]:
        return " ".join(texts), answer              # text and question are not parted

    def alone(self, text: np.ndarray, tokenizer: Tokenizer, length: int) -> Laid:
        nothing = [tokenizer.special("[end]") if tokenizer.has("[end]") else 0]
        return Laid(np.asarray(text[:length] if len(text) else nothing, np.int64))


class Unmarked(LookingBack):
    """Nothing but the texts, one behind the other: how a network that looks back is fine-tuned where no specials are added."""

    both_orders = False
    before = 0

    def fitted(self, tokenizer: Tokenizer) -> Tokenizer:
        return tokenizer

    def specials(self, texts: int) -> int:
        return 0

    def lay(self, texts: Sequence[np.ndarray], tokenizer: Tokenizer) -> Laid:
        return Laid(np.concatenate(texts).astype(np.int64))


class LookingBothWays:
    """[cls] first [separator] second [separator], with segments; read at the first (Devlin et al. 2018, figure 4)."""

    reading: Reading = "first"
    both_orders = False
    before = 1

    def fitted(self, tokenizer: Tokenizer) -> Tokenizer:
        if missing := [name for name in ("[cls]", "[separator]") if not tokenizer.has(name)]:
            raise Fault(f"the tokenizer {tokenizer.name} has no {' and no '.join(missing)}, which stand around the texts of an "
                        "example.", "Give a model whose tokenizer has them.")
        return tokenizer

    def specials(self, texts: int) -> int:
        return texts + 1

    def lay(self, texts: Sequence[np.ndarray], tokenizer: Tokenizer) -> Laid:
        ids, segments = with_specials(Row(texts[0], 0, 0, second=texts[1] if len(texts) > 1 else None), tokenizer)
        return Laid(ids, segments)

    def choice(self, texts: Sequence[str], answer: str) -> tuple[str, str]:
        return texts[0], " ".join([*texts[1:], answer])

    def alone(self, text: np.ndarray, tokenizer: Tokenizer, length: int) -> Laid:
        return self.lay([text[:length - self.specials(1)]], tokenizer)
