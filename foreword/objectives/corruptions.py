"""Other ways than spans to make a source and a target of one text (Raffel et al. 2019, table 3 and section 3.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from foreword.basics.messages import Fault
from foreword.tokens.tokenizer import Tokenizer

Style = Literal["spans", "replace", "drop", "bert", "mass", "prefix", "shuffle"]
Corruption = Callable[[np.ndarray, np.ndarray, Tokenizer, np.random.Generator], tuple[np.ndarray, np.ndarray]]


def replace(ids: np.ndarray, hidden: np.ndarray, tokenizer: Tokenizer, draw: np.random.Generator) -> tuple:
    """Single tokens are hidden; neighbours among them share one name, before which they stand in the target."""
    first = hidden & ~np.concatenate([[False], hidden[:-1]])
    spans = int(first.sum())
    if not tokenizer.has(f"[span{spans - 1}]"):
        raise Fault(
            f"a row of {len(ids)} tokens has {spans} hidden spans, and {tokenizer.name} names fewer.",
            f"Make a tokenizer that names them:  --set tokenizer.spans={int(hidden.sum())}, or shorter rows.",
        )
    names = np.asarray([tokenizer.special(f"[span{number}]") for number in range(spans)])
    named = np.where(first, names[np.maximum(np.cumsum(first) - 1, 0)], ids)
    at = np.flatnonzero(first[hidden])
    return named[~hidden | first], np.insert(ids[hidden], at, names)


def drop(ids: np.ndarray, hidden: np.ndarray, tokenizer: Tokenizer, draw: np.random.Generator) -> tuple:
    """Hidden tokens are left out, and the target is what was."""
    return ids[~hidden], ids[hidden]


def mass(ids: np.ndarray, hidden: np.ndarray, tokenizer: Tokenizer, draw: np.random.Generator) -> tuple:
    """Hidden tokens are [mask], and the target is the whole text (Song et al. 2019)."""
    return np.where(hidden, tokenizer.special("[mask]"), ids), ids


def bert(ids: np.ndarray, hidden: np.ndarray, tokenizer: Tokenizer, draw: np.random.Generator) -> tuple:
    """The same, but a tenth of them are other tokens of the text."""
    source, _ = mass(ids, hidden, tokenizer, draw)
    other = hidden & (draw.random(len(ids)) < 0.1)
    return np.where(other, draw.choice(ids, len(ids)), source), ids


def prefix(ids: np.ndarray, hidden: np.ndarray, tokenizer: Tokenizer, draw: np.random.Generator) -> tuple:
    """The text is cut at a place drawn anew, and its rest is written."""
    cut = int(draw.integers(1, len(ids)))
    return ids[:cut], ids[cut:]


def shuffle(ids: np.ndarray, hidden: np.ndarray, tokenizer: Tokenizer, draw: np.random.Generator) -> tuple:
    """The tokens in another order, and the target in theirs."""
    return draw.permutation(ids), ids


STYLES: dict[str, Corruption] = {
    "replace": replace,
    "drop": drop,
    "bert": bert,
    "mass": mass,
    "prefix": prefix,
    "shuffle": shuffle,
}
