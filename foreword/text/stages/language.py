"""Which language a document is in: by script and function words, by a classifier learned from samples, or by lingua."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault
from foreword.basics.packages import needed
from foreword.text.corpus.files import file_state, texts
from foreword.text.corpus.stage import Documents, Stage, Tally
from foreword.text.document import in_batches
from foreword.text.stages.classifier import Classifier
from foreword.text.stages.function_words import SCRIPTS, WORDS

OTHER = "other"
FEWEST = 0.08  # of the words are function words in running text; tables and lists of names have fewer
RATIO = 20.0  # a function word is about so many times as frequent in its own language as in others
READ = 4000  # characters that are looked at
_WORD = re.compile(r"[^\W\d_]+")
_SCRIPT = {name: re.compile(f"[{signs}]") for name, signs in SCRIPTS.items()}
_OF_WORD: dict[str, list[str]] = {}
for _language, _words in WORDS.items():
    for _one in _words:
        _OF_WORD.setdefault(_one, []).append(_language)

Guess = tuple[str, float]


def by_function_words(text: str) -> Guess:
    """(language, how sure). Script first: a text of other letters needs no words."""
    text = text[:READ]
    found = _WORD.findall(text.lower())
    letters = sum(map(len, found))
    if not letters:
        return OTHER, 0.0
    if not text.isascii():
        for name, pattern in _SCRIPT.items():
            if (here := len(pattern.findall(text)) / letters) > (0.05 if name == "ja" else 0.3):
                return name, min(1.0, 0.5 + here / 2)
    hits: Counter[str] = Counter()
    for word, count in Counter(found).items():
        for language in _OF_WORD.get(word, ()):
            hits[language] += count
    if not hits or max(hits.values()) < FEWEST * len(found):
        return OTHER, 0.0
    best, most = max(hits.items(), key=lambda item: (item[1], item[0]))
    return best, 1 / sum(RATIO ** (count - most) for count in hits.values())


class Language(Stage):
    """Note the language of every document, and keep those wanted."""

    kind: str = "language"
    keep: list[str] = []  # as en, zh, de; none given: all are kept, and noted
    least: float = 0.0  # how sure it has to be (C4 asked another classifier for 0.99)
    samples: dict[str, list[str]] = {}  # language -> files of it: then a classifier is learned from them
    by: str = "words"  # words, or lingua if it is installed

    def faults(self) -> list[tuple[str, str]]:
        found = [] if self.by in ("words", "lingua") else [("by", f"{self.by!r} is not one of 'words', 'lingua'.")]
        known = [*self.samples, OTHER] if self.samples else [*WORDS, *SCRIPTS, OTHER]
        if self.by == "words":
            found += [
                ("keep", f"no text can be told to be {one!r}. Languages: {', '.join(known)}.")
                for one in self.keep
                if one not in known
            ]
        if len(self.samples) == 1:
            found.append(("samples", "one language alone cannot be told from others: give samples of two or more."))
        return found

    def settings(self) -> JsonObject:
        return {**super().settings(), **file_state(path for some in self.samples.values() for path in some)}

    def prepare(self, folder: Path) -> JsonObject:
        if not self.samples:
            return {}
        pieces = [(text[:600], name) for name, some in sorted(self.samples.items()) for text in texts(some)]
        fewest = min(Counter(name for _, name in pieces).values())
        if fewest < 5:
            raise Fault("language: at least five documents of each language are needed to learn from.")
        learned = Classifier.learned(
            "characters", [text for text, _ in pieces], [name for _, name in pieces], sorted(self.samples)
        )
        learned.save(folder / "language.npz")
        return {}

    def run(self, documents: Documents, tally: Tally, place: Path) -> Documents:
        guesses = self._guesses(place)
        for batch in in_batches(documents):
            for document, (name, sure) in zip(batch, guesses([document.text for document in batch])):
                noted = document.noted(self.kind, name)
                if self.keep and name not in self.keep:
                    tally.remove(name, noted)
                elif sure < self.least:
                    tally.remove(f"{name}, not sure enough", noted)
                else:
                    yield noted

    def _guesses(self, place: Path) -> Callable[[Sequence[str]], list[Guess]]:
        if self.samples:
            model = Classifier.load("characters", place / "language.npz")

            def learned(some: Sequence[str]) -> list[Guess]:
                found = model.probabilities(some)
                return [(model.labels[int(row.argmax())], float(row.max())) for row in found]

            return learned
        if self.by == "lingua":
            return lambda some: [self._lingua_guess(text) for text in some]
        return lambda some: [by_function_words(text) for text in some]

    @cached_property
    def _lingua(self) -> Any:
        library = needed("lingua", "corpus", 'by = "lingua" needs')
        return library.LanguageDetectorBuilder.from_all_languages().build()

    def _lingua_guess(self, text: str) -> Guess:
        found = self._lingua.compute_language_confidence_values(text[:READ])
        return (found[0].language.iso_code_639_1.name.lower(), float(found[0].value)) if found else (OTHER, 0.0)
