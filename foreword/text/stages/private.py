"""What belongs to persons is replaced by marks: e-mail addresses, telephone, card and identity numbers, IP addresses.

A number with a check digit is replaced only if the digit is right, so that others stay what they are.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from foreword.basics.messages import did_you_mean
from foreword.text.corpus.stage import Documents, Stage, Tally
from foreword.text.document import Dialogue

AROUND = 60  # characters of a sample before and behind a mark


def _luhn(number: str) -> bool:
    digits = [int(sign) for sign in number if sign.isdigit()]
    doubled = [2 * one - 9 * (one > 4) for one in digits[-2::-2]]
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and (sum(doubled) + sum(digits[-1::-2])) % 10 == 0


def _identity(number: str) -> bool:
    """The check digit of a Chinese identity card (ISO 7064), or the parts that an American number may have."""
    if len(number) == 18:
        weights = [2**place % 11 for place in range(17, 0, -1)]
        rest = sum(int(sign) * weight for sign, weight in zip(number, weights)) % 11
        return "10X98765432"[rest] == number[-1].upper()
    area, group, serial = number.split("-")
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def _iban(number: str) -> bool:
    bare = number.replace(" ", "")
    turned = "".join(str(int(sign, 36)) for sign in bare[4:] + bare[:4])
    return 15 <= len(bare) <= 34 and int(turned) % 97 == 1


def _ip(address: str) -> bool:
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return True


def _always(found: str) -> bool:
    return True


Kind = tuple[re.Pattern[str], Callable[[str], bool]]
# in this order: a card number is not to be taken for a telephone number
KINDS: dict[str, Kind] = {
    "email": (re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])"), _always),
    "iban": (re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"), _iban),
    "card": (re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])"), _luhn),
    "identity": (re.compile(r"(?<![\w-])(?:\d{17}[\dXx]|\d{3}-\d{2}-\d{4})(?![\w-])"), _identity),
    "ip": (re.compile(r"(?<![\w.:])(?:(?:\d{1,3}\.){3}\d{1,3}|(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{1,4})(?![\w:]|\.\d)"), _ip),
    "phone": (
        re.compile(
            r"(?<![\w.+-])(?:\+\d{1,3}[ .-]?(?:\(0?\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){2,4}"  # +49 (0)30 1234567
            r"|\(\d{3}\) ?\d{3}[ .-]\d{4}|\d{3}[.-]\d{3}[.-]\d{4}"  # (555) 123-4567
            r"|1[3-9]\d{9}|0\d{2,4}[-/ ]\d{5,8})(?![\w-])"  # 13812345678, 030-1234567
        ),
        _always,
    ),
}  # fmt: skip


# what a text has to have somewhere, or the pattern need not be tried: most texts have neither, and these are found quickly
DIGITS = re.compile(r"\d(?:[ .()/-]{0,2}\d){5}")
HINTS: dict[str, re.Pattern[str]] = {
    "email": re.compile(r"@[\w-]+\."),
    "iban": re.compile(r"[A-Z]{2}\d\d"),
    "card": DIGITS,
    "identity": DIGITS,
    "ip": re.compile(r"\.\d{1,3}\.\d|:[0-9A-Fa-f]{0,4}:[0-9A-Fa-f]"),
    "phone": DIGITS,
}


def hinted(text: str, kinds: list[str]) -> list[str]:
    """The kinds that may be in the text, in the order in which they are looked for."""
    hints = {HINTS[kind] for kind in kinds}
    there = {hint for hint in hints if hint.search(text)}
    return [kind for kind in KINDS if kind in kinds and HINTS[kind] in there]


def lines_with(hint: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Where the lines are that have a hint: nothing that is looked for goes over the end of a line."""
    stop = 0
    while found := hint.search(text, stop):
        start, stop = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
        stop = len(text) if stop < 0 else stop
        yield start, stop


def marked(text: str, kinds: list[str]) -> tuple[str, dict[str, int]]:
    """The text with marks such as <EMAIL>, and how many of each."""
    kinds = hinted(text, kinds)
    counts = dict.fromkeys(kinds, 0)

    def mark(kind: str, found: re.Match[str]) -> str:
        if not KINDS[kind][1](found.group()):
            return found.group()
        counts[kind] += 1
        return f"<{kind.upper()}>"

    for kind in kinds:
        pattern, parts, last = KINDS[kind][0], list[str](), 0
        for start, stop in lines_with(HINTS[kind], text):
            parts += [text[last:start], pattern.sub(partial(mark, kind), text[start:stop])]
            last = stop
        text = "".join([*parts, text[last:]]) if parts else text
    return text, {kind: count for kind, count in counts.items() if count}


class Private(Stage):
    """Marks in the place of what belongs to persons."""

    kind: str = "private"
    kinds: list[str] = list(KINDS)  # email, iban, card, identity, ip, phone

    def faults(self) -> list[tuple[str, str]]:
        return [
            ("kinds", f"there is no kind {one!r}.{did_you_mean(one, KINDS)} Kinds: {', '.join(KINDS)}.")
            for one in self.kinds
            if one not in KINDS
        ]

    def run(self, documents: Documents, tally: Tally, place: Path) -> Documents:
        for document in documents:
            said = document.dialogue
            if said:
                turns, counts = zip(*(marked(turn, self.kinds) for turn in said.turns))
                said = Dialogue(turns, said.weights)
                text, found = said.text, dict(sum(map(Counter, counts), Counter[str]()))
            else:
                text, found = marked(document.text, self.kinds)
            for kind, count in found.items():
                at = text.index(f"<{kind.upper()}>")  # the mark, never what it hides
                tally.change(kind, text[max(0, at - AROUND) : at + AROUND], count)
            yield replace(document, text=text, dialogue=said).noted(self.kind, found) if found else document
