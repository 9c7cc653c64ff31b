"""TOKENS: text <-> ids, and ids on disk."""

from foreword.basics.registry import Registry

KINDS = Registry(
    "tokenizer",
    {
        "byte": "foreword.tokens.kinds:Byte",
        "unicode": "foreword.tokens.kinds:Unicode",
        "ascii": "foreword.tokens.kinds:Ascii",
        "word": "foreword.tokens.kinds:Word",
        "words": "foreword.tokens.kinds:Words",
        "byte_bpe": "foreword.tokens.kinds:ByteBPE",
        "char_bpe": "foreword.tokens.kinds:CharBPE",
        "wordpiece": "foreword.tokens.kinds:WordPiece",
        "unigram": "foreword.tokens.kinds:Unigram",
    },
)
