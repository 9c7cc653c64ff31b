"""Flags aligned with tokens: where words begin and where sentences end, found in the text and carried over to its ids.

A word is a run of letters, digits and combining marks, or one punctuation mark, or one CJK character, as BERT splits
text. A token marked `word_start` holds the first character of a word; one marked `sentence_end` the last of a sentence.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

import numpy as np

from foreword.basics.messages import Fault, did_you_mean
from foreword.kernels import tokenize
from foreword.kernels.tokenize import address
from foreword.text.words import HAN
from foreword.tokens.page import GAP, UNSEEN, CharacterTable, Page
from foreword.tokens.quick import flat
from foreword.tokens.tokenizer import Tokenizer

MARKS = ("sentence_end", "word_start")

_SPACE, _LETTER, _SINGLE = 0, 1, 2  # as tokenize.c knows them, and the bits that follow
_WHITE, _IN_CJK, _CLOSES, _STOPS, _FULLY_STOPS, _IN_WORDS = 4, 8, 16, 32, 64, 128
_classes = np.full(0x110000, UNSEEN, np.uint8)  # filled in as characters are met
_CJK = f"{HAN}\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\uac00-\ud7a3"  # radicals, kana and Hangul too
_IDEOGRAPH = re.compile(f"[{HAN}]")
_CLOSING = "\"'”’»)\\]}』」》〉）】〕"
# A full stop of its script ends a sentence wherever it stands; a Western one before white space, the end, or CJK.
# Possessive, and only from the start of a run: lines of dots must not cost the square of their length.
_FULL_STOPS, _WESTERN = "。！？｡", ".!?…"
_END = re.compile(
    f"[{_FULL_STOPS}][{_CLOSING}{_WESTERN}{_FULL_STOPS}]*+"
    f"|(?<![{_WESTERN}])[{_WESTERN}]++[{_CLOSING}{_WESTERN}]{{0,16}}+(?=\\s|[{_CJK}])"
    "|\\n(?:[^\\S\\n]*+\\n)++"
)
_MAY_END = np.zeros(0x110000, bool)
_MAY_END[[ord(character) for character in f"{_FULL_STOPS}{_WESTERN}\n"]] = True
_SHORT = re.compile(r"(?:^|[^\w.])(?:[A-HJ-Z]|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|vs|cf|No|e\.g|i\.e)$")


def check(names: tuple[str, ...]) -> None:
    for name in names:
        if name not in MARKS:
            raise Fault(f"{name!r} is not a mark.{did_you_mean(name, MARKS)}", f"The marks: {', '.join(MARKS)}.")


@dataclass(frozen=True)
class Encoded:
    """The ids of many texts behind one another, how many each text has, and a byte of marks beside each id."""

    ids: np.ndarray  # uint32
    numbers: np.ndarray
    flags: np.ndarray  # bit i: it carries the mark `names[i]`

    def by_text(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        if not len(self.numbers):
            return [], []
        cuts = np.cumsum(self.numbers)[:-1]
        return np.split(self.ids.astype(np.int64), cuts), np.split(self.flags, cuts)


def encode_page(tokenizer: Tokenizer, page: Page, names: tuple[str, ...]) -> Encoded:
    """The ids of a page, and beside them a uint8 per token whose bit i says that it carries the mark `names[i]`."""
    if not set(names) & set(MARKS):
        ids, numbers = tokenizer.encode_page(page)
        return Encoded(ids, numbers, np.zeros(len(ids), np.uint8))
    if tokenizer.kind == "ascii":
        page = Page.of([text.encode("ascii", "ignore").decode() for text in page.texts])
    sizes = np.ones(len(tokenizer), np.int64) if tokenizer.kind == "ascii" else tokenizer.token_bytes()
    kernels = tokenize.library()
    if sizes is None or kernels is None:
        return marked_in_python(tokenizer, page.texts, sizes, names)
    ids, numbers = tokenizer.encode_page(page)
    flags, spots, sizes = np.empty(len(ids), np.uint8), np.zeros(page.size, np.uint8), sizes.astype(np.uint32)
    word, sentence = (1 << names.index(name) if name in names else 0 for name in ("word_start", "sentence_end"))
    kernels.find_marks(
        page.content, page.size, address(signs().covering(page, kernels)), word, sentence, address(spots)
    )
    kernels.carry_marks(address(spots), address(page.spans), len(numbers), *map(address, (ids, numbers, sizes, flags)))
    return Encoded(ids, numbers, flags)


def words(page: Page) -> np.ndarray:
    """How many words each text has between white space."""
    kernels = tokenize.library()
    if kernels is None:
        return np.fromiter((len(text.split()) for text in page.texts), np.int64, len(page.texts))
    found = np.empty(len(page.texts), np.int64)
    characters = signs().covering(page, kernels)
    kernels.count_words(page.content, address(page.spans), len(found), address(characters), address(found))
    return found


def marked_in_python(
    tokenizer: Tokenizer, texts: list[str], sizes: np.ndarray | None, names: tuple[str, ...]
) -> Encoded:
    """The definition, for any tokenizer."""
    text = GAP.decode().join([*texts, ""])
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    if sizes is not None:  # every byte belongs to exactly one token: count bytes
        ids, numbers = tokenizer.encode_page(Page.of(texts))
        ends = np.cumsum(sizes[ids]) + len(GAP) * np.repeat(np.arange(len(numbers)), numbers)
        places = np.zeros(len(codes) + 1, np.int64)  # the byte at which each character begins
        np.cumsum(1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000), out=places[1:])
        lasts = places[1:] - 1
    else:  # the library knows which characters each token came from
        both = tokenizer.encode_with_offsets(texts)
        ids, numbers = flat(ids for ids, _ in both)
        begins = np.cumsum([0] + [len(one) + len(GAP) for one in texts])
        spans = np.concatenate([np.empty((0, 2), np.int64), *(pair + at for (_, pair), at in zip(both, begins))])
        ends = np.maximum.accumulate(spans[:, 1])
        places = lasts = np.arange(len(codes) + 1)
    flags = np.zeros(len(ends), np.uint8)
    for name in (name for name in MARKS if name in names):
        bit = names.index(name)
        if name == "word_start":
            found = np.searchsorted(ends, places[word_starts(codes)], side="right")
        else:
            last = lasts[_sentence_ends(text, codes)]
            found = np.searchsorted(ends, last, side="right")
            if sizes is None:  # a last character that was dropped leaves its sentence to the token before
                found -= np.append(spans[:, 0], len(codes))[found] > last
        flags[found[(found >= 0) & (found < len(flags))]] |= np.uint8(1 << bit)
    return Encoded(ids, numbers, flags)


def word_starts(codes: np.ndarray) -> np.ndarray:
    """The characters at which a word begins."""
    kinds = _classes[codes]
    if (kinds == UNSEEN).any():
        for code in np.unique(codes[kinds == UNSEEN]).tolist():
            _classes[code] = _class(chr(code))
        kinds = _classes[codes]
    before = np.empty_like(kinds)
    before[:1], before[1:] = _SPACE, kinds[:-1]
    return np.flatnonzero((kinds == _SINGLE) | ((kinds == _LETTER) & (before != _LETTER)))


def _class(character: str) -> int:
    if character.isspace():
        return _SPACE
    if _IDEOGRAPH.match(character):
        return _SINGLE
    category = unicodedata.category(character)
    return _LETTER if category[0] in "LMN" else _SPACE if category[0] == "C" else _SINGLE


@cache
def signs() -> CharacterTable:
    """All that tokenize.c must know of a character to find words and sentences."""
    named = {
        _WHITE: r"\s",
        _IN_CJK: f"[{_CJK}]",
        _CLOSES: f"[{_CLOSING}]",
        _STOPS: f"[{_WESTERN}]",
        _FULLY_STOPS: f"[{_FULL_STOPS}]",
        _IN_WORDS: r"\w",
    }
    rules = [(bit, re.compile(rule)) for bit, rule in named.items()]
    return CharacterTable(
        lambda characters: [_class(one) + sum(bit for bit, rule in rules if rule.match(one)) for one in characters]
    )


def _sentence_ends(text: str, codes: np.ndarray) -> np.ndarray:
    """The last characters of the sentences, the closing quotes with them."""
    ends = []
    after = 0
    for start in np.flatnonzero(_MAY_END[codes]).tolist():  # the expression is tried only where it can begin
        match = _END.match(text, start) if start >= after else None
        if not match:
            continue
        stop = after = match.end()
        if text[start] == "\n":
            stop = start
            while stop and text[stop - 1].isspace():
                stop -= 1
        elif match.group() == "." and _SHORT.search(text, max(0, start - 6), start):
            continue  # "Dr. Who", "J. Smith"
        if stop:
            ends.append(stop - 1)
    return np.asarray(ends, np.int64)
