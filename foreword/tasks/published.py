"""Readers of formats that data sets were published in and that are more than rows."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as xml
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from foreword.basics.messages import Fault
from foreword.tasks.sources import SPLITS, Files, JsonLines, Shelf, Source, numbered, text_of
from foreword.text.rows import RowFault


class Aristo(Files):
    """AI2's questions: {"question": {"stem", "choices": [{"label", "text"}]}, "answerKey"}; ARC and QASC have it too."""

    kind: Literal["aristo"] = "aristo"

    def read(self, path: Path) -> Iterator[Mapping[str, Any]]:
        for number, row in enumerate(JsonLines.read(self, path), 1):        # type: ignore[arg-type]
            try:
                choices = row["question"]["choices"]
                labels = [choice["label"] for choice in choices]
                yield {**row, "question": row["question"]["stem"], "choices": [choice["text"] for choice in choices],
                       "gold": labels.index(row["answerKey"])}
            except (KeyError, TypeError, ValueError) as error:
                raise RowFault(number, f"this is not a question in AI2's form: {error!r} is missing or wrong.") from error


class Squad(Files):
    """SQuAD's JSON: articles, paragraphs, questions, each with one or more right answers; in 2.0 perhaps none.

    CMRC 2018 and DRCD have it too. `spans` are the answers with the character at which each begins.
    """

    kind: Literal["squad"] = "squad"

    def read(self, path: Path) -> Iterator[Mapping[str, Any]]:
        try:
            for article in json.loads(text_of(path))["data"]:
                for paragraph in article["paragraphs"]:
                    for asked in paragraph["qas"]:
                        right = [] if asked.get("is_impossible") else asked["answers"]
                        title = article.get("title", paragraph.get("id", ""))        # CMRC has none
                        yield {"id": str(asked.get("id", "")), "title": str(title).replace("_", " "),
                               "context": paragraph["context"], "question": asked["question"].strip(),
                               "answers": list(dict.fromkeys(answer["text"] for answer in right)),
                               "spans": list(map(dict, dict.fromkeys((("text", answer["text"]), ("start", answer["answer_start"]))
                                                                     for answer in right)))}
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise Fault(f"this is not a SQuAD file: {error!r}.", where=str(path)) from error


class Race(Source):
    """RACE: a folder of passages, each a JSON file {"article", "questions", "options", "answers"}. Fields: one question each."""

    kind: Literal["race"] = "race"
    train: str = ""
    valid: str = ""
    test: str = ""

    def splits(self) -> list[str]:
        return [name for name in SPLITS if getattr(self, name)]

    def rows(self, split: str, shelf: Shelf) -> Sequence[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = []
        for path in sorted(shelf.find(getattr(self, split), folder=True).rglob("*.txt")):
            try:
                passage = json.loads(text_of(path))
                for question, options, answer in zip(passage["questions"], passage["options"], passage["answers"], strict=True):
                    found.append({"id": f"{path.stem}-{len(found)}", "article": passage["article"], "question": question,
                                  "options": options, "answer": answer})
            except (KeyError, TypeError, ValueError) as error:
                raise Fault(f"this is not a passage of RACE: {error!r}.", where=str(path)) from error
        if not found:
            raise Fault(f"{getattr(self, split)} holds no passage.")
        return found


POSSESSIVE = ("his", "her", "its", "their", "my", "our")       # `her` is one in every schema of the collection


class Winograd(Files):
    """The collection of Winograd schemas (Davis et al.): `before` PRONOUN `after`, and two nouns it may stand for.

    The nouns come ready to take the pronoun's place: with 's where it was a possessive, with a small article inside a sentence.
    """

    kind: Literal["winograd"] = "winograd"
    first: int | None = None        # only so many schemas from the beginning: WSC273 is the first 273

    def read(self, path: Path) -> Iterator[Mapping[str, Any]]:
        try:
            root = xml.fromstring(path.read_bytes())
        except xml.ParseError as error:
            raise Fault(f"this is not valid XML: {error}.", where=str(path)) from error
        for schema in list(root.iter("schema"))[: self.first]:
            before, pronoun, after = (" ".join((schema.findtext(f"text/{part}") or "").split())
                                      for part in ("txt1", "pron", "txt2"))
            key = (schema.findtext("correctAnswer") or "").strip(" .\n")
            nouns = [" ".join((answer.text or "").split()) for answer in schema.iter("answer")]
            space = "" if re.match(r"[.,;:!?']", after) else " "
            yield {"before": before, "pronoun": pronoun, "after": space + after, "gold": "AB".find(key) if key else -1,
                   "choices": [in_place(noun, pronoun, before) for noun in nouns]}


def in_place(noun: str, pronoun: str, before: str) -> str:
    """A noun as it must be written where the pronoun stood."""
    first, _, rest = noun.partition(" ")
    if before and not before.endswith((".", "!", "?", '"')) and first in ("The", "A", "An", "My", "His", "Her", "Their"):
        noun = f"{first.lower()} {rest}"
    return f"{noun}'s" if pronoun.lower() in POSSESSIVE else noun


class ChildrensBooks(Files):
    """The Children's Book Test: twenty numbered sentences, then one with XXXXX, the right word and ten candidates."""

    kind: Literal["cbt"] = "cbt"

    def read(self, path: Path) -> Iterator[Mapping[str, Any]]:
        sentences: list[str] = []
        for number, line in numbered(path):
            place, _, rest = line.partition(" ")
            if place == "21":
                parts = rest.split("\t")
                if len(parts) < 4 or "XXXXX" not in parts[0]:
                    raise RowFault(number, "line 21 of a passage must hold XXXXX, the right word and the candidates, by tabs.")
                before, _, after = parts[0].partition("XXXXX")
                candidates = [word for word in parts[-1].split("|") if word]
                if parts[1] not in candidates:
                    raise RowFault(number, f"the right word {parts[1]!r} is not among the candidates.")
                yield {"passage": " ".join(sentences), "before": before.rstrip(), "after": after, "choices": candidates,
                       "gold": candidates.index(parts[1])}
                sentences = []
            elif rest.strip():
                sentences.append(rest.strip())
