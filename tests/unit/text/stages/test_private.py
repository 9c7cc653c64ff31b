"""What belongs to persons is marked; numbers that only look like it stay."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from foreword.text.corpus.document import CorpusDocument
from foreword.text.corpus.stage import Tally
from foreword.text.stages import private
from foreword.text.stages.private import KINDS, Private, marked


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("Write to jane.doe+x@mail.example.co.uk.", "Write to <EMAIL>."),
        ("Card 4111 1111 1111 1111, please", "Card <CARD>, please"),
        ("Card 4111 1111 1111 1112, please", "Card 4111 1111 1111 1112, please"),  # Luhn says no
        ("DE89 3704 0044 0532 0130 00 is the account", "<IBAN> is the account"),
        ("SSN 123-45-6789.", "SSN <IDENTITY>."),
        ("SSN 000-45-6789.", "SSN 000-45-6789."),  # there is no such area
        ("身份证11010519491231002X号", "身份证11010519491231002X号"),  # inside of a word
        ("身份证 11010519491231002X。", "身份证 <IDENTITY>。"),
        ("身份证 110105194912310021。", "身份证 110105194912310021。"),  # the check digit is X
        ("from 192.168.0.1:80", "from 192.168.0.1:80"),
        ("from 192.168.0.1, port 80", "from <IP>, port 80"),
        ("version 1.2.3.400", "version 1.2.3.400"),
        ("at 2001:db8::ff00:42:8329 now", "at <IP> now"),
        ("at 12:30:45 now", "at 12:30:45 now"),
        ("call (555) 123-4567 or 555-123-4567", "call <PHONE> or <PHONE>"),
        ("call +49 30 1234567", "call <PHONE>"),
        ("电话 13812345678。", "电话 <PHONE>。"),
        ("in 1998, 12,345 of 2,000,000", "in 1998, 12,345 of 2,000,000"),
        ("ISBN 978-3-16-148410-0", "ISBN 978-3-16-148410-0"),
        ("pi is 3.14159265358979", "pi is 3.14159265358979"),
    ],
)
def test_marks(text: str, after: str) -> None:
    assert marked(text, list(KINDS))[0] == after


def test_counts_and_samples_show_marks_and_never_what_they_hide() -> None:
    tally = Tally()
    text = "Mail a@example.org or b@example.org, call 555-123-4567."
    (kept,) = Private().run(iter([CorpusDocument(text)]), tally, Path())
    assert kept.text == "Mail <EMAIL> or <EMAIL>, call <PHONE>."
    assert tally.changed == {"email": 2, "phone": 1}
    assert kept.passed == {"private": {"email": 2, "phone": 1}}
    assert tally.samples == {"email": [kept.text], "phone": [kept.text]}


def made(draw: random.Random) -> str:
    """Pieces of what is looked for, in any order: much of it is nearly one of them."""
    pieces = [
        "4111 1111",
        "1111-1111",
        "+49",
        "(0)30",
        "(555) ",
        "123-45-6789",
        "555-123-4567",
        "13812345678",
        "030/123456",
    ]
    pieces += ["192.168", ".0.1", "::ff", "2001:db8:", ":1", "a@b.org", "DE89 3704", " 0044 0532 0130 00", "GB29NWBK"]
    pieces += ["11010519491231002X", "X", " ", "\n", ".", "-", "7", "12", "345", "word", "身"]
    return "".join(draw.choice(pieces) for _ in range(draw.randint(1, 8)))


def test_hints_pass_over_nothing_that_a_pattern_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(0)
    texts = [made(draw) for _ in range(4000)]
    quick = [marked(text, list(KINDS)) for text in texts]
    assert {kind for _, found in quick for kind in found} == set(KINDS)  # each is found somewhere
    monkeypatch.setattr(private, "HINTS", dict.fromkeys(KINDS, re.compile("")))
    monkeypatch.setattr(private, "lines_with", lambda hint, text: [(0, len(text))])
    whole = [marked(text, list(KINDS)) for text in texts]
    assert quick == whole
    monkeypatch.setattr(private, "HINTS", dict.fromkeys(KINDS, re.compile(r"\d{7}")))
    assert [marked(text, list(KINDS)) for text in texts] != whole  # the control: a hint that asks too much is noticed


def test_lines_with_a_hint_are_found_whole_and_once() -> None:
    text = "one 1\ntwo\n3 and 4\n\n5"
    assert [text[start:stop] for start, stop in private.lines_with(re.compile(r"\d"), text)] == [
        "one 1",
        "3 and 4",
        "5",
    ]


def test_a_text_without_a_hint_is_passed_over() -> None:
    assert private.hinted("In 1998 it rose by 12,345; at 12:30 it fell.", list(KINDS)) == []
    assert private.hinted("a@b.org", ["email", "phone"]) == ["email"]
