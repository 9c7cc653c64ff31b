"""Byte-level BPE through `tiktoken`: the same ids, several times faster, wherever its rule and the tokenizer's are the same.

`tiktoken` merges the pair whose product has the lowest id, and takes a word that is itself a token whole. That is what
`tokenizers` does too if products were numbered in the order of their merges and every token is reached by its own merges:
both are checked here, and a tokenizer for which they do not hold is left to `tokenizers`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from tokenizers import Tokenizer as Backend

from foreword.tokens import backends

Encode = Callable[[str], np.ndarray]
WORTH = 2**16             # characters below which getting ready would take longer than it saves
# GPT-2's split, as `tokenizers` has it built in
SPLIT = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# tiktoken's engine gives up on endless whitespace, because of the look-ahead
_ENDLESS = re.compile(r"\s{4096}")


def quick_encoder(backend: Backend) -> Encode | None:
    """What encodes one text, or None if `tokenizers` must do it."""
    try:
        import tiktoken
    except ImportError:
        return None
    ranks = _ranks(backend)
    if ranks is None:
        return None
    engine = tiktoken.Encoding("foreword", pat_str=SPLIT, mergeable_ranks=ranks, special_tokens={})

    def encode(text: str) -> np.ndarray:
        return engine.encode_to_numpy(text, disallowed_special=()).astype(np.int64)

    return encode


def endless(text: str) -> bool:
    return _ENDLESS.search(text) is not None


def _ranks(backend: Backend) -> dict[bytes, int] | None:
    """The bytes of every token and its id, if merging by lowest id is this tokenizer's rule."""
    content: dict[str, Any] = json.loads(backend.to_str())
    model, split = content["model"], content.get("pre_tokenizer") or {}
    plain = (model.get("type") == "BPE" and content.get("normalizer") is None and split.get("type") == "ByteLevel"
             and split.get("use_regex") and not split.get("add_prefix_space")
             and not any(model.get(name) for name in ("dropout", "continuing_subword_prefix", "end_of_word_suffix",
                                                      "byte_fallback", "ignore_merges"))
             and all(token["special"] for token in content.get("added_tokens", [])))
    if not plain:
        return None
    specials = {token["content"] for token in content.get("added_tokens", [])}
    vocabulary = {piece: id for piece, id in model["vocab"].items() if piece not in specials}
    merges = [tuple(merge) if isinstance(merge, list) else tuple(merge.split(" ")) for merge in model["merges"]]
    products = [vocabulary.get("".join(merge), -1) for merge in merges]
    letters = {letter: byte for byte, letter in enumerate(backends.byte_letters())}
    in_order = all(a < b for a, b in zip(products, products[1:])) and -1 not in products
    complete = set(letters) <= set(vocabulary) and len(vocabulary) == len(letters) + len(products)
    if not in_order or not complete:
        return None
    if any(len(backend.model.tokenize(piece)) != 1 for piece in vocabulary):       # a token its own merges do not reach
        return None
    return {bytes(letters[letter] for letter in piece): id for piece, id in vocabulary.items()}
