"""Published word-level text back as it was written, and forth again to the last byte.

WikiText, the Penn Treebank and text8 are spread as words between spaces, which no model that reads ordinary text has ever
seen. GPT-2 undid that before scoring ("invertible de-tokenizers", Radford et al. 2019, section 3.1), and as nothing is
lost, the log-probability of the text it read is a log-probability of the original, per word of the original.

Neighbouring words are glued where English would write them so, and only if cutting the piece gives them back: a rule
that is wrong about a line costs a space, never a word. What cutting would spoil is marked with a backslash.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

MARK = "\\"  # before a word: leave it whole; alone at the start of a line: leave the line as it is
LONGEST = 16  # words in one piece


@dataclass(frozen=True)
class Format:
    """How a set wrote its text: what to glue, how to cut it again, and what it counted as words."""

    about: str
    line_ends: bool  # an <eos> for each line is among the words it counts
    wanted: Callable[[list[str]], list[bool]]  # which of the words should be glued to the next
    glue: Callable[[list[str]], str]
    cut: Callable[[str], list[str]]
    before: str = " "  # what stands at both ends of every line
    after: str = " "

    def fitted(self, original: str) -> Format:
        """The same for this copy of the set: some have a space at the ends of lines, some do not."""
        line = next((line for line in original.split("\n") if line.strip(" ")), "  ")
        return replace(self, before=" " if line.startswith(" ") else "", after=" " if line.endswith(" ") else "")

    def text(self, original: str) -> str:
        """What a reader would have read."""
        body, end = (original[:-1], "\n") if original.endswith("\n") else (original, "")
        lines = [self._written(line) for line in body.split("\n")]
        if original and not end and not lines[-1]:  # an empty last line would look like a newline
            lines[-1] = f"{MARK} {body.rpartition(chr(10))[2]}"
        return "\n".join(lines) + end

    def original(self, text: str) -> str:
        """The inverse of `text`."""
        body, end = (text[:-1], "\n") if text.endswith("\n") else (text, "")
        if not text:
            return ""
        return "\n".join(map(self._restored, body.split("\n"))) + end

    def words(self, original: str) -> int:
        """The number that a perplexity per word of this set divides by."""
        lines = original.count("\n") + bool(original and not original.endswith("\n"))
        return len(original.split()) + (lines if self.line_ends else 0)

    @property
    def counted(self) -> str:
        """In words, what `words` counts."""
        return f"words between spaces{', and one <eos> for each line' if self.line_ends else ''}"

    def _written(self, line: str) -> str:
        if line == (self.before or self.after):
            return ""
        words = line[len(self.before) : len(line) - len(self.after)].split(" ")
        if line != f"{self.before}{' '.join(words)}{self.after}" or not all(words):
            return f"{MARK} {line}"
        return " ".join(self._pieces(words))

    def _pieces(self, words: list[str]) -> list[str]:
        wanted, pieces, at = self.wanted(words), [], 0
        while at < len(words):
            end = at + 1
            while end < len(words) and wanted[end - 1] and end - at < LONGEST:
                end += 1
            while end > at + 1 and self._cut(self.glue(words[at:end])) != words[at:end]:
                end -= 1
            piece = self.glue(words[at:end])
            pieces.append(piece if self._cut(piece) == words[at:end] else MARK + words[at])
            at = end
        return pieces

    def _restored(self, line: str) -> str:
        if not line:
            return self.before or self.after
        if line.startswith(f"{MARK} "):
            return line[2:]
        return f"{self.before}{' '.join(word for piece in line.split(' ') for word in self._cut(piece))}{self.after}"

    def _cut(self, piece: str) -> list[str]:
        return [piece[1:]] if piece.startswith(MARK) else self.cut(piece)


# --- English with punctuation apart ----------------------------------------------------------------------------------

OPEN, CLOSE = "([{$£#", (",", ".", ";", ":", "!", "?", ")", "]", "}", "%", "...")
JOINED = {"@-@": "-", "@,@": ",", "@.@": "."}  # WikiText's marks for what stood inside a word or number
BETWEEN = ("–", "/")  # glued to both sides
# what ends in a dot of its own; any other word before a dot ends a sentence (or is marked)
SHORT = re.compile(
    r"(?:[^\W\d_]\.)+|(?:Mr|Mrs|Ms|Dr|St|Jr|Sr|No|Nos|Co|Inc|Ltd|Corp|Bros|vs|Lt|Col|Gen|Sgt|Capt|Rev|Prof|var|pp|"
    r"mr|mrs|ms|dr|st|jr|sr|co|inc|ltd|corp|bros|cos|messrs|sen|rep|gov|calif|conn|mass|fla|ill|ariz|pa|va)\."
)
_ENDING = re.compile(r"(.+?)(\.\.\.|[,.;:!?)\]}%\"'])")
_INSIDE = re.compile(
    r"(?<=[\w>])(-)(?=[\w<])|(?<=[\d>])([,.])(?=[\d<])|"
    r"(?<=[\d>])(–)(?=[\d<])|(?<=[\w>])(/)(?=[\w<])|(?<=[\w>])(?=')"
)
_CLIPPED = re.compile(r"'(?:s|t|m|d|re|ve|ll)|n't")
_TREEBANK = re.compile(r"(.+?)(n't|'(?:s|m|d|re|ve|ll))")


def _english(words: list[str]) -> list[bool]:
    """Punctuation to the word before it, brackets around what they hold; quotes open and close by turns."""
    wanted = [False] * len(words)
    within = {'"': False, "'": False}
    for i, word in enumerate(words):
        last = words[i - 1] if i else ""
        if word in within:
            owner = word == "'" and not within["'"] and last.endswith("s")  # the dogs' owners
            closes = within[word] or owner
            within[word] = within[word] ^ (not owner)
            wanted[i - 1 if closes else i] |= i > 0 or not closes
        if i and (
            word in CLOSE
            or word in JOINED
            or word in BETWEEN
            or (word == "=" and last == "=")
            or (word.startswith("'") and len(word) > 1)
            or word == "n't"
        ):
            wanted[i - 1] = True
        if word in JOINED or word in BETWEEN or (len(word) == 1 and word in OPEN):
            wanted[i] = True
    return wanted


def _glue(words: list[str]) -> str:
    return "".join(JOINED.get(word, word) for word in words)


def _edges(piece: str, inside: Callable[[str], list[str]]) -> list[str]:
    """Brackets and quotes from the front, punctuation from the back, and what is left cut by `inside`."""
    front, back = [], []
    while len(piece) > 1 and piece[0] in OPEN + "\"'" and not _CLIPPED.fullmatch(piece):
        front.append(piece[0])
        piece = piece[1:]
    while not SHORT.fullmatch(piece) and piece.strip(".") and (found := _ENDING.fullmatch(piece)):
        piece = found[1]
        back.append(found[2])
    return [*front, *inside(piece), *reversed(back)]


def _wikitext(piece: str) -> list[str]:
    if set(piece) <= {"="}:
        return list(piece)
    return _edges(piece, _parts)


def _parts(word: str) -> list[str]:
    """Cut at the marks inside a word: red-tipped, 1,000, 9–15, and/or, didn't."""
    if SHORT.fullmatch(word) or word in JOINED:
        return [word]
    found, at = [], 0
    for match in _INSIDE.finditer(word):
        found.append(word[at : match.start()])
        mark = match[1] or match[2]
        if mark:
            found.append(f"@{mark}@")
        elif match.end() > match.start():
            found.append(match[0])
        at = match.end()
    return [*found, word[at:]]


def _treebank(piece: str) -> list[str]:
    return _edges(piece, lambda word: [*found.groups()] if (found := _TREEBANK.fullmatch(word)) else [word])


# --- letters and spaces ----------------------------------------------------------------------------------------------

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def _numbers(words: list[str]) -> list[bool]:
    digits = [word in DIGITS for word in words]
    return [a and b for a, b in zip(digits, [*digits[1:], False])]


def _as_digits(words: list[str]) -> str:
    return "".join(str(DIGITS.index(word)) for word in words) if len(words) > 1 else words[0]


def _spelled(piece: str) -> list[str]:
    number = len(piece) > 1 and piece.isascii() and piece.isdigit()
    return [DIGITS[int(digit)] for digit in piece] if number else [piece]


FORMATS = {
    "wikitext": Format(
        "WikiText: words and punctuation between spaces, @-@ inside words", True, _english, _glue, _wikitext
    ),
    "ptb": Format(
        "Penn Treebank as Mikolov prepared it: lower case, little punctuation, N for numbers",
        True,
        _english,
        "".join,
        _treebank,
    ),
    "text8": Format(
        "text8: lower-case letters and single spaces, numbers spelled digit by digit",
        False,
        _numbers,
        _as_digits,
        _spelled,
    ),
}
