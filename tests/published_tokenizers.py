"""The published vocabularies of GPT-1, GPT-2 and BERT, from the files their authors released."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path

from foreword.basics.files import read_json
from foreword.basics.messages import Fault
from foreword.tokens import backends
from foreword.tokens.tokenizer import Tokenizer, read_merges, read_vocabulary


def gpt2_from_ranks(path: Path) -> Tokenizer:
    """GPT-2 from tiktoken's ranks (base64 token, rank): the rank is the id, and 50256 is <|endoftext|>."""
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(Path(path).read_text(encoding="ascii").split("\n"), 1):
        if line:
            try:
                token, rank = line.split(" ")
                ranks[base64.b64decode(token, validate=True)] = int(rank)
            except (ValueError, binascii.Error) as error:
                raise Fault("this is not a base64 token and its rank.", where=f"{path}:{number}") from error
    letters = backends.byte_letters()

    def spelled(token: bytes) -> str:
        return "".join(letters[byte] for byte in token)

    merges = [
        tuple(spelled(half) for half in _halves(token, ranks))
        for token in sorted(ranks, key=ranks.__getitem__)
        if len(token) > 1
    ]
    vocabulary = {spelled(token): rank for token, rank in ranks.items()}
    vocabulary[backends.END] = len(vocabulary)
    backend = backends.byte_level(vocabulary, [(left, right) for left, right in merges])
    backends.add_specials(backend, [backends.END])
    return Tokenizer(backend, "byte_bpe", True, {"[end]": backends.END, "[begin]": backends.END})


def _halves(token: bytes, ranks: dict[bytes, int]) -> tuple[bytes, bytes]:
    """The merge that made a token: what merging in order of rank leaves when its own rank is not allowed."""
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        best = min(range(len(parts) - 1), key=lambda i: ranks.get(parts[i] + parts[i + 1], len(ranks)))
        parts[best : best + 2] = [parts[best] + parts[best + 1]]
    return parts[0], parts[1]


def gpt1_from_files(encoder_json: Path, merges: Path) -> Tokenizer:
    """GPT-1 from OpenAI's encoder and merges. It has an unknown token and no end."""
    vocabulary = read_json(Path(encoder_json))
    backend = backends.lowercase_bpe(vocabulary, read_merges(Path(merges)))
    backends.add_specials(backend, ["<unk>"])
    return Tokenizer(backend, "char_bpe", False, {"[unknown]": "<unk>"})


def bert_from_vocab(path: Path, lowercase: bool = True) -> Tokenizer:
    """BERT from its vocab.txt."""
    vocabulary = read_vocabulary(Path(path))
    missing = [token for token in dict.fromkeys(backends.BERT_SPECIALS.values()) if token not in vocabulary]
    if missing:
        raise Fault(f"{path} is not a BERT vocabulary: it has no {', '.join(missing)}.")
    return Tokenizer(backends.wordpiece(vocabulary, lowercase), "wordpiece", False, dict(backends.BERT_SPECIALS))
