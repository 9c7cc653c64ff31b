"""More pieces for a tokenizer that is there, so that a field's own words are whole: the old ids keep their meaning."""

from __future__ import annotations

import heapq
import json
from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np
from tokenizers import Tokenizer as Backend

from foreword.basics.messages import Fault
from foreword.tokens.tokenizer import Tokenizer

SELDOM = 5  # what is seen less often becomes no piece
INSIDE = "##"  # WordPiece's mark of a piece that does not begin a word


def extended(tokenizer: Tokenizer, texts: Iterable[str], pieces: int) -> Tokenizer:
    """The same with so many pieces more (fewer where the text has no more), learned from these texts.

    BPE merges on from where it stopped; WordPiece takes the words whose pieces it saves most of.
    """
    if tokenizer.kind not in ("byte_bpe", "wordpiece"):
        raise Fault(f"{tokenizer.name} cannot take more pieces; byte_bpe and wordpiece can.", "Leave out --add.")
    content = json.loads(tokenizer.backend.to_str())
    words = _words(tokenizer, texts)
    vocabulary: dict[str, int] = content["model"]["vocab"]
    if tokenizer.kind == "wordpiece":
        new = _whole_words(words, pieces)
    else:
        merges = _merges(words, pieces, set(vocabulary))
        as_pairs = bool(content["model"]["merges"]) and isinstance(content["model"]["merges"][0], list)
        content["model"]["merges"] += [list(pair) if as_pairs else " ".join(pair) for pair in merges]
        new = list(dict.fromkeys(a + b for a, b in merges))
    first = len(tokenizer)
    vocabulary |= {piece: first + number for number, piece in enumerate(new)}
    backend = Backend.from_str(json.dumps(content, ensure_ascii=False))
    return Tokenizer(backend, tokenizer.kind, tokenizer.lossless, dict(tokenizer.specials), dict(tokenizer.characters))


def old_pieces(old: Tokenizer, new: Tokenizer) -> list[np.ndarray] | None:
    """For each id that only `new` has, the ids that `old` makes of the same piece; None where `new` does not extend `old`."""
    if len(new) <= len(old) or new.pieces(np.arange(len(old))) != old.pieces(np.arange(len(old))):
        return None
    if {name: new.special(name) for name in new.specials} != {name: old.special(name) for name in old.specials}:
        return None
    model = old.backend.model
    return [
        np.array([token.id for token in model.tokenize(piece)]) for piece in new.pieces(np.arange(len(old), len(new)))
    ]


def _words(tokenizer: Tokenizer, texts: Iterable[str]) -> dict[tuple[str, ...], int]:
    """How often each word occurs, as the pieces it has now; what holds an unknown one is left out."""
    backend, counts = tokenizer.backend, Counter[str]()
    for text in texts:
        text = tokenizer.converted(text)
        normal = backend.normalizer.normalize_str(text) if backend.normalizer else text
        split = backend.pre_tokenizer.pre_tokenize_str(normal) if backend.pre_tokenizer else [(normal, (0, 0))]
        counts.update(word for word, _ in split)
    model, found = backend.model, dict[tuple[str, ...], int]()
    unknown = tokenizer.specials.get("[unknown]")
    for word, count in counts.items():
        pieces = tuple(token.value for token in model.tokenize(word))
        if len(pieces) > 1 and unknown not in pieces:
            found[pieces] = found.get(pieces, 0) + count
    return found


def _whole_words(words: dict[tuple[str, ...], int], most: int) -> list[str]:
    """The words that save most pieces."""
    worth = {
        parts[0] + "".join(part.removeprefix(INSIDE) for part in parts[1:]): count * (len(parts) - 1)
        for parts, count in words.items()
        if count >= SELDOM
    }
    return heapq.nsmallest(most, worth, key=lambda word: (-worth[word], word))


def _merges(words: dict[tuple[str, ...], int], most: int, known: set[str]) -> list[tuple[str, str]]:
    """The merges that BPE would make next: again and again the most frequent pair of neighbours, until so many pieces are new."""
    parts, counts = [list(word) for word in words], list(words.values())
    pairs, where = Counter[tuple[str, str]](), defaultdict[tuple[str, str], set[int]](set)
    for number, word in enumerate(parts):
        for pair in zip(word, word[1:]):
            pairs[pair] += counts[number]
            where[pair].add(number)
    heap = [(-count, pair) for pair, count in pairs.items()]
    heapq.heapify(heap)
    found, fresh = list[tuple[str, str]](), 0
    while heap and fresh < most:
        count, pair = heapq.heappop(heap)
        if -count != pairs[pair]:  # it has changed since
            if pairs[pair] > 0:
                heapq.heappush(heap, (-pairs[pair], pair))
            continue
        if -count < SELDOM:
            break
        found.append(pair)
        fresh += "".join(pair) not in known
        known.add("".join(pair))
        for number in list(where.pop(pair)):
            before = parts[number]
            parts[number] = after = _merged(before, pair)
            for gone in zip(before, before[1:]):
                pairs[gone] -= counts[number]
            for here in zip(after, after[1:]):
                pairs[here] += counts[number]
                if number not in where[here]:
                    where[here].add(number)
                heapq.heappush(heap, (-pairs[here], here))
    return found


def _merged(word: list[str], pair: tuple[str, str]) -> list[str]:
    """Every place of the pair, from left to right, as one piece."""
    made: list[str] = []
    for piece in word:
        if made and (made[-1], piece) == pair:
            made[-1] = "".join(pair)
        else:
            made.append(piece)
    return made
