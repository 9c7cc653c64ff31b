"""Byte-level BPE with GPT-2's split, the same ids as `tokenizers` several times faster.

The compiled encoder (tokenize.c) does what `tokenizers` does, remembers the words it has met and allocates nothing by the word.
Without a compiler `tiktoken` is asked, wherever its rule and the tokenizer's are the same: it merges the pair whose product
has the lowest id, and takes a word that is itself a token whole. That is the same if products were numbered in the order of
their merges and every token is reached by its own merges: both are checked, and other tokenizers are left to `tokenizers`.
"""

from __future__ import annotations

import json
import re
import threading
import weakref
from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
from tokenizers import Tokenizer as Backend
from tokenizers import pre_tokenizers

from foreword.basics.files import JsonObject
from foreword.basics.messages import RunFailed
from foreword.kernels import tokenize
from foreword.kernels.tokenize import address
from foreword.tokens import backends
from foreword.tokens.page import LONGEST, CharacterTable, Page

Ids = tuple[np.ndarray, np.ndarray]  # of all texts of a page behind one another, uint32, and how many each text has
Encode = Callable[[Page], Ids]
WORTH = 2**16  # bytes below which getting ready would take longer than it saves
OTHER, LETTER, DIGIT, SPACE = range(4)  # as tokenize.c knows them
# GPT-2's split, as `tokenizers` has it built in
SPLIT = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# tiktoken's engine gives up on endless whitespace, because of the look-ahead
_ENDLESS = re.compile(r"\s{4096}")


def quick_encoder(backend: Backend) -> Encode | None:
    """What encodes a page, or None if `tokenizers` must do it."""
    content = json.loads(backend.to_str())
    if not _plain(content):
        return None
    return compiled_encoder(backend, content) or tiktoken_encoder(backend, content)


def compiled_encoder(backend: Backend, content: JsonObject) -> Encode | None:
    library = tokenize.library()
    if library is None:
        return None
    vocabulary, merges = content["model"]["vocab"], _merges(content)
    letters = np.array([vocabulary[letter] for letter in backends.byte_letters()], np.uint32)
    rules = np.array(
        [(vocabulary[left], vocabulary[right], vocabulary[left + right]) for left, right in merges], np.uint32
    )
    classes = split_classes()
    encoder = library.learn(address(classes.content), address(letters), address(rules), len(rules))
    if not encoder:
        return None
    one_at_a_time = threading.Lock()  # the words it remembers are shared

    def encode(page: Page) -> Ids:
        if page.size > LONGEST:
            return by_tokenizers(backend, page.texts)
        ids, numbers = np.empty(page.size + 8, np.uint32), np.empty(len(page.texts), np.int64)
        with one_at_a_time:
            classes.covering(page, library)
            total = library.encode(
                encoder, page.content, address(page.spans), len(page.texts), address(ids), address(numbers)
            )
        if total < 0:
            raise RunFailed("there is no memory left for one word of the text.", "Give the text in smaller documents.")
        return ids[:total], numbers

    weakref.finalize(encode, library.forget, encoder)
    return encode


def tiktoken_encoder(backend: Backend, content: JsonObject) -> Encode | None:
    try:
        import tiktoken
    except ImportError:
        return None
    ranks = _ranks(backend, content)
    if ranks is None:
        return None
    engine = tiktoken.Encoding("foreword", pat_str=SPLIT, mergeable_ranks=ranks, special_tokens={})

    def encode(page: Page) -> Ids:
        if any(map(endless, page.texts)):
            return by_tokenizers(backend, page.texts)
        return flat(engine.encode_to_numpy(text, disallowed_special=()) for text in page.texts)

    return encode


def by_tokenizers(backend: Backend, texts: list[str]) -> Ids:
    return flat(encoding.ids for encoding in backend.encode_batch_fast(texts, add_special_tokens=False))


def flat(found: Iterable[np.ndarray | list[int]]) -> Ids:
    """Ids by text as ids behind one another."""
    arrays = [np.asarray(ids, np.uint32) for ids in found]
    return np.concatenate([np.empty(0, np.uint32), *arrays]), np.fromiter(map(len, arrays), np.int64, len(arrays))


def endless(text: str) -> bool:
    return _ENDLESS.search(text) is not None


@cache
def split_classes() -> CharacterTable:
    """Letter, digit, space or other, asked of `tokenizers` itself: libraries know Unicode from tables of different years."""
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)

    def between(characters: str, sign: str) -> list[bool]:
        """Whether each character stays in one piece with the sign on both of its sides."""
        probes = "".join(f" {sign}{character}{sign}" for character in characters)
        spans = {span for _, span in splitter.pre_tokenize_str(probes)}
        return [(4 * i, 4 * i + 4) in spans for i in range(len(characters))]

    def describe(characters: str) -> list[int]:
        kinds = zip(between(characters, "a"), between(characters, "1"), between(characters, "!"))
        return [LETTER if letter else DIGIT if digit else OTHER if other else SPACE for letter, digit, other in kinds]

    return CharacterTable(describe)


def _plain(content: JsonObject) -> bool:
    """Whether it is byte-level BPE with GPT-2's split and nothing else."""
    model, split = content["model"], content.get("pre_tokenizer") or {}
    if model.get("type") != "BPE" or content.get("normalizer") is not None or split.get("type") != "ByteLevel":
        return False
    other = ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback", "ignore_merges")
    return (
        bool(split.get("use_regex"))
        and not split.get("add_prefix_space")
        and not any(model.get(name) for name in other)
        and all(token["special"] for token in content.get("added_tokens", []))
        and set(backends.byte_letters()) <= set(model["vocab"])
    )


def _merges(content: JsonObject) -> list[tuple[str, str]]:
    merges = content["model"]["merges"]
    return [
        (merge[0], merge[1]) for merge in (merge if isinstance(merge, list) else merge.split(" ") for merge in merges)
    ]


def _ranks(backend: Backend, content: JsonObject) -> dict[bytes, int] | None:
    """The bytes of every token and its id, if merging by lowest id is this tokenizer's rule."""
    specials = {token["content"] for token in content.get("added_tokens", [])}
    vocabulary = {piece: id for piece, id in content["model"]["vocab"].items() if piece not in specials}
    products = [vocabulary.get("".join(merge), -1) for merge in _merges(content)]
    letters = {letter: byte for byte, letter in enumerate(backends.byte_letters())}
    in_order = all(a < b for a, b in zip(products, products[1:])) and -1 not in products
    complete = set(letters) <= set(vocabulary) and len(vocabulary) == len(letters) + len(products)
    if not in_order or not complete:
        return None
    if any(len(backend.model.tokenize(piece)) != 1 for piece in vocabulary):  # a token its own merges do not reach
        return None
    return {bytes(letters[letter] for letter in piece): id for piece, id in vocabulary.items()}
