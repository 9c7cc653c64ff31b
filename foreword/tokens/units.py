"""Units of masking: which tokens are words, phrases and entities, found in the text and kept as marks of the store.

A token that carries the mark of a unit ("word", "phrase", "entity") begins one; those behind it without the mark belong to it.
Each level is a partition of the text: a phrase is made of words, and what is no entity is phrases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from foreword.basics.files import read_json, write_json
from foreword.basics.numbers import Whole
from foreword.basics.spec import Spec
from foreword.text.document import Span
from foreword.text.words import mostly_chinese
from foreword.tokens import marks as marking
from foreword.tokens import phrases
from foreword.tokens.entities import Gazetteer, capitals, resolved
from foreword.tokens.page import Page
from foreword.tokens.segmenters import SEGMENTERS, Jieba, Plain, Segmenter, white_space
from foreword.tokens.tokenizer import Tokenizer

UNITS = ("word", "phrase", "entity", "capital")  # from fine to coarse, and words that begin with a capital
PLURALS = {"word": "words", "phrase": "phrases", "entity": "entities", "capital": "capitals"}
FOUND = ("jieba", "capitals", "spans")  # entities that need no list
FILE = "units.json"


class UnitsSpec(Spec):
    """How a store finds words, phrases and entities in its text."""

    words: str = "auto"  # plain, jieba, spaces (segmented text), or a class; auto: jieba if the text is mostly Chinese
    phrases: float | None = (
        None  # normalised PMI from which neighbouring words are a phrase; none are looked for by default
    )
    minimum: Whole = 5  # times that such neighbours are seen
    entities: list[
        str
    ] = []  # jieba (people, places, organisations), capitals, spans (of the documents), or files of names
    #                           auto: the first if the text is mostly Chinese, else the second; spans if there are any

    capitals: bool = False  # note the words that begin with a capital: lower case forgets them

    @property
    def marks(self) -> tuple[str, ...]:
        found = ("word", *(["phrase"] if self.phrases is not None else []), *(["entity"] if self.entities else []))
        return (*found, *(["capital"] if self.capitals else []))

    def learn(self, texts: Sequence[str]) -> Units:
        """With what is learned from training text."""
        chinese = mostly_chinese(text[:1000] for text in texts[:500])
        auto = {"auto": ["jieba" if chinese else "capitals", "spans"]}
        words = ("jieba" if chinese else "plain") if self.words == "auto" else self.words
        entities = tuple(dict.fromkeys(name for one in self.entities for name in auto.get(one, [one])))
        names = [sorted(Gazetteer.read(Path(one)).names) for one in entities if one not in FOUND]
        segmenter, threshold = SEGMENTERS.find(words, dotted=True)(), self.phrases
        pairs = phrases.learn(texts, segmenter, threshold, self.minimum) if threshold is not None else frozenset()
        return Units(
            self.marks, words, pairs, tuple(one for one in entities if one in FOUND), frozenset().union(*names)
        )

    def content(self) -> dict[str, object]:
        """What makes two stores' units the same: the settings, and the names themselves rather than where they are."""
        names = [sorted(Gazetteer.read(Path(one)).names) for one in self.entities if one not in (*FOUND, "auto")]
        return {**self.model_dump(mode="json"), "names": names}


@dataclass(frozen=True)
class Units:
    """Words by a segmenter, and what was learned or given beside it."""

    marks: tuple[str, ...]
    words: str
    pairs: phrases.Pairs = frozenset()
    entities: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()

    def __str__(self) -> str:
        found = [f"words by {self.words}"]
        found += [f"{len(self.pairs):,} pairs of words that are phrases"] if "phrase" in self.marks else []
        found += [f"entities by {', '.join(self.entities)}"] if self.entities else []
        found += [f"{len(self.names):,} names"] if self.names else []
        return ", ".join(found)

    def save(self, folder: Path) -> None:
        write_json(
            folder / FILE,
            {
                "marks": self.marks,
                "words": self.words,
                "entities": self.entities,
                "phrases": sorted(map(list, self.pairs)),
                "names": sorted(self.names),
            },
        )

    @staticmethod
    def load(folder: Path) -> Units:
        said = read_json(folder / FILE)
        pairs = frozenset((first, second) for first, second in said["phrases"])
        return Units(tuple(said["marks"]), said["words"], pairs, tuple(said["entities"]), frozenset(said["names"]))

    @cached_property
    def segmenter(self) -> Segmenter:
        return SEGMENTERS.find(self.words, dotted=True)()

    @cached_property
    def gazetteer(self) -> Gazetteer:
        return Gazetteer(self.names)

    def starts(self, text: str, given: Sequence[Span] = ()) -> dict[str, np.ndarray]:
        """By unit, [characters] bool: where one begins."""
        spans = [*self.gazetteer.find(text), *(given if "spans" in self.entities else ())]
        if "jieba" in self.entities:
            words, named = Jieba().names(text)
            words, spans = words if self.words == "jieba" else self.segmenter.starts(text), [*spans, *named]
        else:
            words = self.segmenter.starts(text)
        if "capitals" in self.entities:
            spans += capitals(text)
        found = {"word": words, "phrase": phrases.joined(text, words, self.pairs)}
        found["entity"] = found["phrase"].copy()
        if "capital" in self.marks:
            found["capital"] = capitalised(text)
        for start, end in resolved(spans):
            found["entity"][start:end] = False
            found["entity"][start] = True
            found["entity"][end : end + 1] = True
        return found


def encode_marked(
    tokenizer: Tokenizer,
    page: Page,
    names: tuple[str, ...],
    units: Units | None = None,
    given: Sequence[Sequence[Span]] = (),
) -> marking.Encoded:
    """The texts of a page with all their marks; `given`: the entities of each text that came with it."""
    encoded = marking.encode_page(tokenizer, page, names)
    if units is None or not len(encoded.ids):
        return encoded
    sizes, at = tokenizer.token_bytes(), 0
    offsets = tokenizer.encode_with_offsets(page.texts) if sizes is None else []
    for i, (text, number) in enumerate(zip(page.texts, encoded.numbers.tolist())):
        if sizes is None:
            begins, ends = offsets[i][1].T
        else:
            begins, ends = by_bytes(text, sizes[encoded.ids[at : at + number]])
        found = units.starts(tokenizer.converted(text), given[i] if given else ())
        for name in units.marks:
            flags = held(text, found[name], begins) if name == "capital" else begun(text, found[name], begins, ends)
            encoded.flags[at : at + number] |= flags.astype(np.uint8) << np.uint8(names.index(name))
        at += number
    return encoded


def by_bytes(text: str, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The character that each token begins with and the one behind it, of tokens of so many bytes; -1: inside a character."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    places = np.zeros(len(codes) + 1, np.int64)
    np.cumsum(1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000), out=places[1:])
    borders = np.concatenate([[0], np.cumsum(sizes)])
    first, last = np.searchsorted(places, borders[:-1]), np.searchsorted(places, borders[1:])
    return np.where(places[first] == borders[:-1], first, -1), last


def begun(text: str, starts: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Which tokens begin a unit: one starts exactly where the token does, white space aside.

    A token that holds the end of one unit and the start of the next begins none: its units become one, and neither is split.
    White space between units is one of its own; inside an entity it belongs to it.
    """
    shared = (
        begins < np.concatenate([[0], np.maximum.accumulate(ends)[:-1]])[: len(ends)]
    )  # a character in several tokens
    return ~shared & np.append(starts, True)[after_space(text)[np.maximum(begins, 0)]]


def held(text: str, marked: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """Which tokens have a marked character as their first, white space aside."""
    return np.append(marked, False)[after_space(text)[np.maximum.accumulate(begins)]]


def capitalised(text: str) -> np.ndarray:
    """[characters] whether each is of a word that begins with a capital."""
    starts = np.flatnonzero(Plain().starts(text))
    upper = np.fromiter((text[at].isupper() for at in starts.tolist()), bool, len(starts))
    found = np.zeros(len(text), bool)
    if len(starts):
        found[starts[0] :] = np.repeat(upper, np.diff([*starts.tolist(), len(text)]))
    return found


def after_space(text: str) -> np.ndarray:
    """[characters and the end] the place of the next character that is no white space."""
    found = np.where(white_space(text), len(text), np.arange(len(text)))
    return np.append(np.minimum.accumulate(found[::-1])[::-1], len(text))
