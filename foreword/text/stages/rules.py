"""Rules that say which lines and documents are no text worth learning: each has a name, and its paper's threshold.

C4: Raffel et al. 2020, section 2.2. Gopher: Rae et al. 2021, appendix A.1.1. GPT-3: Brown et al. 2020, appendix C.
A rule of lines says whether a line goes, a rule of documents whether the whole does. Rules that count words between spaces
are not asked about Chinese.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from foreword.text.words import HAN, mostly_chinese

TERMINAL = (".", "!", "?", '"', "”", "。", "！", "？", "」", "』")
ELLIPSIS = ("...", "…")
POLICY = ("terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies")
STOP_WORDS = frozenset(("the", "be", "to", "of", "and", "that", "have", "with"))
BULLETS = ("•", "-", "*", "‣", "●", "·", "–")
_SENTENCE = re.compile(r"[.!?][\"”')\]]*(?=\s|$)|[。！？][”」』]*")
_CITATION = re.compile(r"\[(?:\d{1,3}|edit|citation needed)\]")
_HAN = re.compile(f"[{HAN}]")


@dataclass(frozen=True)
class RulePage:
    """A text as rules see it; what several of them need is made once."""

    text: str

    @cached_property
    def lines(self) -> list[str]:
        return [line for line in self.text.split("\n") if line.strip()]

    @cached_property
    def paragraphs(self) -> list[str]:
        return [one for one in re.split(r"\n\s*\n", self.text) if one.strip()]

    @cached_property
    def words(self) -> list[str]:
        return self.text.split()

    @cached_property
    def lower(self) -> str:
        return self.text.lower()

    @cached_property
    def chinese(self) -> bool:
        return _HAN.search(self.text) is not None and mostly_chinese([self.text])


# --- lines -----------------------------------------------------------------------------------------------------------


def terminal_punctuation(line: str) -> bool:
    bare = line.rstrip()
    return not bare.endswith(TERMINAL) or bare.endswith(ELLIPSIS)


def few_words(line: str) -> bool:
    if len(line) > 60 and line.count(" ") > 4:
        return False
    words = line.split()
    return len(words) < 5 and len(words) + len(_HAN.findall(line)) < 5


def long_word(line: str) -> bool:
    return len(line) > 1000 and any(len(word) > 1000 and not _HAN.search(word) for word in line.split())


def javascript(line: str) -> bool:
    return "javascript" in line.lower()


def policy(line: str) -> bool:
    lower = line.lower()
    return any(phrase in lower for phrase in POLICY)


# --- documents -------------------------------------------------------------------------------------------------------


def lorem_ipsum(page: RulePage) -> bool:
    return "lorem ipsum" in page.lower


def curly_bracket(page: RulePage) -> bool:
    return "{" in page.text


def few_sentences(page: RulePage) -> bool:
    return sum(1 for _ in _SENTENCE.finditer(page.text)) < 3


def short(page: RulePage) -> bool:
    return len(page.text) < 200


def word_count(page: RulePage) -> bool:
    count = len(_HAN.findall(page.text)) if page.chinese else len(page.words)
    return not 50 <= count <= 100_000


def mean_word_length(page: RulePage) -> bool:
    return not page.chinese and not 3 <= sum(map(len, page.words)) / max(len(page.words), 1) <= 10


def symbol_ratio(page: RulePage) -> bool:
    most = 0.1 * (len(page.text) / 2 if page.chinese else len(page.words))
    return page.text.count("#") > most or page.text.count("...") + page.text.count("…") > most


def bullet_lines(page: RulePage) -> bool:
    return sum(line.lstrip().startswith(BULLETS) for line in page.lines) > 0.9 * len(page.lines)


def ellipsis_lines(page: RulePage) -> bool:
    return sum(line.rstrip().endswith(ELLIPSIS) for line in page.lines) > 0.3 * len(page.lines)


def alphabetic_words(page: RulePage) -> bool:
    return sum(map(_has_letter, page.words)) < 0.8 * len(page.words)


def _has_letter(word: str) -> bool:
    return word.isalpha() or any(map(str.isalpha, word))


def stop_words(page: RulePage) -> bool:
    return not page.chinese and len(STOP_WORDS.intersection(page.lower.split())) < 2


def repeated_lines(page: RulePage) -> bool:
    return _repeat(page.lines, 0.3, 0.2)


def repeated_paragraphs(page: RulePage) -> bool:
    return _repeat(page.paragraphs, 0.3, 0.2)


def _repeat(parts: list[str], share: float, of_characters: float) -> bool:
    """Whether so many of the parts, or of their characters, have stood before."""
    counts = Counter(parts)
    if len(counts) == len(parts):
        return False
    again = sum(count - 1 for count in counts.values())
    characters = sum((count - 1) * len(part) for part, count in counts.items())
    return again > share * len(parts) or characters > of_characters * sum(map(len, parts))


def frequent_runs(page: RulePage) -> bool:
    """The most frequent two, three or four words in a row hold too much of the text."""
    words = list("".join(page.words)) if page.chinese else page.words
    total = sum(map(len, words))
    for size, most in ((2, 0.20), (3, 0.18), (4, 0.16)):
        runs = Counter(zip(*(words[place:] for place in range(size))))
        if runs:
            run, count = max(runs.items(), key=lambda item: (item[1], item[0]))
            if count > 1 and count * sum(map(len, run)) > most * total:
                return True
    return False


LINE_RULES: dict[str, Callable[[str], bool]] = {
    one.__name__: one for one in (long_word, terminal_punctuation, few_words, javascript, policy)
}
PAGE_RULES: dict[str, Callable[[RulePage], bool]] = {
    one.__name__: one
    for one in (
        *(lorem_ipsum, curly_bracket, few_sentences, short, word_count, mean_word_length, symbol_ratio, bullet_lines),
        *(ellipsis_lines, alphabetic_words, stop_words, repeated_lines, repeated_paragraphs, frequent_runs),
    )
}
CITATIONS, BAD_WORDS = "citations", "bad_words"  # a change inside of lines, and a rule that needs a list
NAMES = (CITATIONS, *LINE_RULES, BAD_WORDS, *PAGE_RULES)
SETS = {
    "c4": (CITATIONS, *LINE_RULES, BAD_WORDS, "lorem_ipsum", "curly_bracket", "few_sentences"),
    "gpt3": ("short",),
    "gopher": tuple(list(PAGE_RULES)[4:11]),
    "gopher_repetition": ("repeated_lines", "repeated_paragraphs", "frequent_runs"),
}


def without_citations(text: str) -> tuple[str, int]:
    """Without Wikipedia's [1], [edit] and [citation needed], and how many there were."""
    return _CITATION.subn("", text)
