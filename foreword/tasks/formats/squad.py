"""SQuAD's JSON: articles, paragraphs and questions with the places of their answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from foreword.basics.files import parse_json
from foreword.basics.messages import Fault
from foreword.tasks.files import Files, text_of
from foreword.tasks.template import Row


class Squad(Files):
    """SQuAD's JSON: articles, paragraphs, questions, each with one or more right answers; in 2.0 perhaps none.

    CMRC 2018 and DRCD have it too. `spans` are the answers with the character at which each begins.
    """

    kind: Literal["squad"] = "squad"

    def read(self, path: Path) -> Iterator[Row]:
        try:
            for article in parse_json(text_of(path))["data"]:
                for paragraph in article["paragraphs"]:
                    for asked in paragraph["qas"]:
                        right = [] if asked.get("is_impossible") else asked["answers"]
                        spans = {(one["text"], one["answer_start"]): None for one in right}  # each once
                        title = article.get("title", paragraph.get("id", ""))  # CMRC has none
                        yield {
                            "id": str(asked.get("id", "")),
                            "title": str(title).replace("_", " "),
                            "context": paragraph["context"],
                            "question": asked["question"].strip(),
                            "answers": list(dict.fromkeys(text for text, _ in spans)),
                            "spans": [{"text": text, "start": start} for text, start in spans],
                        }
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise Fault(f"this is not a SQuAD file: {error!r}.", where=str(path)) from error
