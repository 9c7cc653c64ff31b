"""The collection of Winograd schemas in XML."""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from foreword.basics.messages import Fault
from foreword.tasks.files import Files
from foreword.tasks.template import Row

POSSESSIVE = ("his", "her", "its", "their", "my", "our")  # `her` is one in every schema of the collection


class Winograd(Files):
    """The collection of Winograd schemas (Davis et al.): `before` PRONOUN `after`, and two nouns it may stand for.

    The nouns come ready to take the pronoun's place: with 's where it was a possessive, with a small article inside a sentence.
    """

    kind: Literal["winograd"] = "winograd"
    first: int | None = None  # only so many schemas from the beginning: WSC273 is the first 273

    def read(self, path: Path) -> Iterator[Row]:
        try:
            root = xml.fromstring(path.read_bytes())
        except xml.ParseError as error:
            raise Fault(f"this is not valid XML: {error}.", where=str(path)) from error
        for schema in list(root.iter("schema"))[: self.first]:
            before, pronoun, after = (
                " ".join((schema.findtext(f"text/{part}") or "").split()) for part in ("txt1", "pron", "txt2")
            )
            key = (schema.findtext("correctAnswer") or "").strip(" .\n")
            nouns = [" ".join((answer.text or "").split()) for answer in schema.iter("answer")]
            space = "" if re.match(r"[.,;:!?']", after) else " "
            yield {
                "before": before,
                "pronoun": pronoun,
                "after": space + after,
                "gold": "AB".find(key) if key else -1,
                "choices": [in_place(noun, pronoun, before) for noun in nouns],
            }


def in_place(noun: str, pronoun: str, before: str) -> str:
    """A noun as it must be written where the pronoun stood."""
    first, _, rest = noun.partition(" ")
    inside = before and not before.endswith((".", "!", "?", '"'))
    if inside and first in ("The", "A", "An", "My", "His", "Her", "Their"):
        noun = f"{first.lower()} {rest}"
    return f"{noun}'s" if pronoun.lower() in POSSESSIVE else noun
