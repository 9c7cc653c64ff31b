"""Which replies are worth learning from: DialoGPT's rules (Zhang et al. 2020, section 3.1), each a function of its own.

A rule is asked about a reply and the turn it answers, and gives a reason to leave the reply out, or "". The paper has six
rules, a seventh against bland replies, and a list of communities; its lists were not published, so lists are given by the user.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from foreword.text.document import Dialogue
from foreword.text.words import HAN, words

Rule = Callable[[str, str], str]

# the most frequent words of English in Google's books (Norvig 2013); the paper names three of its own fifty: the, of, a
FREQUENT = frozenset(
    (
        "the",
        "of",
        "and",
        "to",
        "in",
        "a",
        "is",
        "that",
        "for",
        "it",
        "as",
        "was",
        "with",
        "be",
        "by",
        "on",
        "not",
        "he",
        "i",
        "this",
        "are",
        "or",
        "his",
        "from",
        "at",
        "which",
        "but",
        "have",
        "an",
        "had",
        "they",
        "you",
        "were",
        "their",
        "one",
        "all",
        "we",
        "can",
        "her",
        "has",
        "there",
        "been",
        "if",
        "more",
        "when",
        "will",
        "would",
        "who",
        "so",
        "no",
    )
)
MOST_WORDS = 200
OFTEN, BLAND_SHARE = 1000, 0.9
PRUNED_AT = 10_000_000  # three-word sequences remembered while counting; beyond, those seen once are forgotten

_URL = re.compile(r"https?://|\bwww\.", re.IGNORECASE)
_SAME_WORD = re.compile(r"\b(\w+)(?:\W+\1\b){2,}", re.IGNORECASE)
_SAME_HAN = re.compile(rf"([{HAN}]{{2,8}}?)\1{{2,}}")
_LETTER = re.compile(r"[^\W\d_]")


def web_address(source: str, reply: str) -> str:
    return "a web address" if _URL.search(source) or _URL.search(reply) else ""


def repetition(source: str, reply: str) -> str:
    return "a word three times in a row" if _SAME_WORD.search(reply) or _SAME_HAN.search(reply) else ""


def no_frequent_word(source: str, reply: str) -> str:
    return "" if FREQUENT.intersection(words(reply)) else "none of the 50 most frequent English words"


def other_script(source: str, reply: str) -> str:
    """For Chinese, in the place of the frequent words: at least half of the letters are Chinese characters."""
    letters = _LETTER.findall(reply)
    return (
        "" if letters and 2 * len(re.findall(f"[{HAN}]", reply)) >= len(letters) else "less than half of it is Chinese"
    )


def brackets(source: str, reply: str) -> str:
    return "a square bracket" if "[" in reply or "]" in reply else ""


def too_long(source: str, reply: str) -> str:
    return (
        f"more than {MOST_WORDS} words with what it answers"
        if len(words(source)) + len(words(reply)) > MOST_WORDS
        else ""
    )


def offensive(phrases: Iterable[str]) -> Rule:
    """Whole phrases only: a listed word inside a longer one does no harm. Chinese has no borders between words to ask for."""
    listed = [re.escape(phrase.strip()) for phrase in phrases if phrase.strip()]
    bounded = [one if re.search(f"[{HAN}]", one) else rf"(?<!\w){one}(?!\w)" for one in listed]
    found = re.compile("|".join(bounded) or r"(?!)", re.IGNORECASE)
    return lambda source, reply: "a phrase of the offensive list" if found.search(reply) else ""


class Blandness:
    """Counts three-word sequences of all replies; bland is one of whose own nearly all are among the very frequent."""

    def __init__(self, often: int = OFTEN, share: float = BLAND_SHARE):
        self.often, self.share = often, share
        self.seen: Counter[tuple[str, ...]] = Counter()

    def count(self, reply: str) -> None:
        self.seen.update(_trigrams(reply))
        if len(self.seen) > PRUNED_AT:
            self.seen = Counter({three: times for three, times in self.seen.items() if times > 1})

    def settled(self) -> Blandness:
        """The same judgement, without the many sequences that are not frequent."""
        found = Blandness(self.often, self.share)
        found.seen = Counter({three: times for three, times in self.seen.items() if times > self.often})
        return found

    def __call__(self, source: str, reply: str) -> str:
        threes = _trigrams(reply)
        frequent = sum(self.seen[three] > self.often for three in threes)
        return "bland" if threes and frequent >= self.share * len(threes) else ""


def _trigrams(text: str) -> list[tuple[str, ...]]:
    found = words(text)
    return list(zip(found, found[1:], found[2:]))


def rules(language: str = "en", phrases: Sequence[str] = ()) -> list[Rule]:
    """Those that need no counts of the whole corpus."""
    readable = other_script if language == "zh" else no_frequent_word
    return [web_address, repetition, readable, brackets, too_long, offensive(phrases)]


@dataclass
class ReplyFilter:
    """The rules applied to dialogues, and how often each had a reason."""

    rules: Sequence[Rule]
    replies: int = 0
    left_out: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def found(self, source: str, reply: str) -> Sequence[str]:
        return [reason for rule in self.rules if (reason := rule(source, reply))]

    def weigh(self, dialogue: Dialogue) -> Dialogue:
        """The same turns; a reply that some rule rejects gets weight 0. Every rule is asked, so each count stands alone."""
        weights = [1]
        for source, reply in zip(dialogue.turns, dialogue.turns[1:]):
            found = self.found(source, reply)
            self.replies += 1
            self.left_out += bool(found)
            self.reasons.update(found)
            weights.append(int(not found))
        return Dialogue(dialogue.turns, tuple(weights))


@dataclass
class CachedReplyFilter(ReplyFilter):
    """A sieve that looks up what was found before, reply by reply: one that lies in many paths is judged once."""

    judged: dict[tuple[str, str], Sequence[str]] = field(default_factory=dict)  # only replies that have a reason

    def found(self, source: str, reply: str) -> Sequence[str]:
        return self.judged.get((source, reply), ())
