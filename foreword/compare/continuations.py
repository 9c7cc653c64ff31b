"""A prompt from held-out text, its true continuation, and what each of several models writes instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from foreword.model import LoadedModel
from foreword.report import Continuations

PROMPT, REST = 180, 160  # characters shown of each
PROSE = 0.93  # letters and spaces: below are tables, formulas and code


def continuations(
    models: Mapping[str, LoadedModel], texts: Iterable[str], number: int, seed: int = 1
) -> list[Continuations]:
    """The first passages of `texts` that read as prose, continued by the text itself and by every model."""
    passages = _some(texts, number)
    prompts = [prompt for prompt, _ in passages]
    if not prompts:
        return []
    how: dict[str, Any] = {"seed": seed, "max_tokens": 60, "temperature": 0.7, "top_p": 0.9}
    written = {name: list(map(_short, model.generate(prompts, **how))) for name, model in models.items()}
    return [
        Continuations(prompt, {"the text itself": rest, **{name: some[place] for name, some in written.items()}})
        for place, (prompt, rest) in enumerate(passages)
    ]


def _some(texts: Iterable[str], number: int) -> list[tuple[str, str]]:
    """As many passages as asked for, from as many documents; where there is too little prose, from anything."""
    prose, others = [], []
    for text in texts:
        paragraphs = [paragraph.strip("\n") for paragraph in text.split("\n\n") if len(paragraph) >= PROMPT + REST]
        found = next(filter(_is_prose, paragraphs), None)
        if found is not None:
            prose.append(_cut(found))
        elif len(text) > 2:
            others.append(_cut(max(paragraphs, key=len, default=text.strip())))
        if len(prose) == number:
            break
    return [*prose, *others][:number]


def _is_prose(paragraph: str) -> bool:
    plain = sum(letter.isalpha() or letter.isspace() for letter in paragraph)
    return plain >= PROSE * len(paragraph) and not paragraph[0].islower()


def _cut(passage: str) -> tuple[str, str]:
    """A prompt that ends at the end of a word, and what follows it. The space belongs to what follows."""
    middle = min(PROMPT, len(passage) // 2)
    place = max(passage.rfind(" ", middle // 2, middle), passage.rfind("\n", middle // 2, middle))
    place = place if place > 0 else max(middle, 1)
    return passage[:place], _short(passage[place:])


def _short(text: str) -> str:
    """The beginning, to the end of a word."""
    text = text.strip("\n")
    if len(text) <= REST:
        return text.rstrip()
    place = text.rfind(" ", REST // 2, REST)
    return f"{text[: place if place > 0 else REST].rstrip()} ..."
