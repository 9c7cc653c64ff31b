"""What a user gives as data or tokenizer, and what it turns out to be."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreword.basics.files import cache_folder
from foreword.basics.messages import Fault, did_you_mean
from foreword.basics.progress import say

if TYPE_CHECKING:
    from foreword.assembly.recipe import Recipe
    from foreword.tokens.kinds import TokenizerSpec
    from foreword.tokens.tokenizer import Tokenizer


def shares(text: str) -> tuple[float, float, float]:
    """'0.9/0.05/0.05' -> three shares that make one."""
    try:
        train, valid, test = (float(part) for part in text.split("/"))
    except ValueError as error:
        raise Fault(f"--splits {text}: three shares are written 0.9/0.05/0.05.") from error
    if min(train, valid, test) < 0 or train == 0 or abs(train + valid + test - 1) > 1e-6:
        raise Fault(f"--splits {text}: the shares must add up to 1, with some to train on.")
    return train, valid, test


def chosen_tokenizer(name: str, settings: dict[str, Any]) -> Tokenizer | TokenizerSpec:
    """A kind to be trained, or the tokenizer of a run, a store or a model folder."""
    from foreword.tokens import KINDS
    from foreword.tokens.tokenizer import Tokenizer

    path = Path(name)
    if name in KINDS.places:
        cls = KINDS.find(name)
        for setting in settings:
            if setting not in cls.model_fields:
                raise Fault(f"a {name} tokenizer has no {setting}.")
        return cls(**settings)
    for folder in (path / "model", path):
        if any((folder / file).is_file() for file in ("tokenizer.json", "vocab.json", "vocab.txt")):
            if settings:
                raise Fault(f"{name} is already made: --{next(iter(settings))} cannot change it.")
            return Tokenizer.load(folder)
    raise Fault(f"{name!r} is neither a kind of tokenizer nor a folder that has one.{did_you_mean(name, KINDS.names())}",
                f"Kinds: {', '.join(KINDS.names())}.")


def store_for(recipe: Recipe, data: Path, documents: str = "auto", column: str = "text",
              tokenizer: Tokenizer | None = None) -> Path:
    """The store to train on: `data` itself if it is one, else one made from the text there (and kept for the next time)."""
    from foreword.text import reading
    from foreword.tokens.build import build_store

    if (data / "store.json").is_file():
        return data
    said = f"{documents}|{column}|{tokenizer.fingerprint if tokenizer else recipe.tokenizer.model_dump_json()}"
    key = hashlib.blake2b(f"{reading.fingerprint([data])}|{said}".encode(), digest_size=6).hexdigest()
    out = cache_folder() / "stores" / f"{data.resolve().stem}-{key}"
    if not (out / "store.json").is_file():
        say(f"{data} is text: making a store of it in {out}")
        out.parent.mkdir(parents=True, exist_ok=True)
        build_store([data], out, tokenizer or recipe.tokenizer, documents=documents, column=column)      # type: ignore[arg-type]
    else:
        say(f"{data} is text: using the store made of it before, {out}")
    return out


def recipe_for(name: str, size: str, settings: Sequence[str] | None) -> Recipe:
    from foreword.assembly import loader
    return loader.load(name, size, settings or [])
