"""The machinery of each family, built with the `tokenizers` library from a vocabulary (and merges)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as Backend

from foreword.text.words import HAN
from foreword.tokens.word2phrase import with_phrases

END = "<|endoftext|>"
APART = rf"[^\W_{HAN}]+(?:['’][^\W_{HAN}]+)*|[^\s\w]|_"  # a word of other letters, or a mark
WORD_END = "</w>"
KANA_AND_HANGUL = "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9d\uac00-\ud7a3\u1100-\u11ff"
BERT_SPECIALS = {
    "[pad]": "[PAD]",
    "[unknown]": "[UNK]",
    "[cls]": "[CLS]",
    "[separator]": "[SEP]",
    "[mask]": "[MASK]",
    "[end]": "[SEP]",
}
ROBERTA_SPECIALS = {
    "[cls]": "<s>",
    "[begin]": "<s>",
    "[pad]": "<pad>",
    "[separator]": "</s>",
    "[end]": "</s>",
    "[unknown]": "<unk>",
    "[mask]": "<mask>",
}

Merges = list[tuple[str, str]]


@cache
def byte_letters() -> tuple[str, ...]:
    """GPT-2's printable letter for each byte: the printable bytes stand for themselves, the others move past 255."""
    printable = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    moved = iter(range(256, 512))
    return tuple(chr(byte) if byte in printable else chr(next(moved)) for byte in range(256))


def byte_level(vocabulary: dict[str, int], merges: Merges, split: bool = True) -> Backend:
    """GPT-2: bytes as letters; `split` keeps merges inside words, numbers, punctuation and spaces."""
    backend = Backend(models.BPE(vocab=vocabulary, merges=merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=split)
    backend.decoder = decoders.ByteLevel()
    # without this the offsets of " word" would leave out its space
    backend.post_processor = processors.ByteLevel(trim_offsets=False)
    return backend


def between_tags(backend: Backend) -> Backend:
    """RoBERTa: <s> ... </s> around a text, <s> ... </s></s> ... </s> around two, for those who ask."""
    begin, end = (
        (token, backend.get_vocab()[token]) for token in (ROBERTA_SPECIALS["[cls]"], ROBERTA_SPECIALS["[separator]"])
    )
    backend.post_processor = processors.RobertaProcessing(end, begin, trim_offsets=False, add_prefix_space=False)
    return backend


def characters(vocabulary: dict[str, int], ascii_only: bool = False) -> Backend:
    """One id per character; a character without one falls back to its UTF-8 bytes, or is dropped (`ascii_only`)."""
    backend = Backend(models.BPE(vocab=vocabulary, merges=[], byte_fallback=not ascii_only))
    if ascii_only:
        backend.normalizer = normalizers.Replace(Regex(r"[^\x00-\x7f]"), "")
        backend.decoder = decoders.Fuse()
    else:
        backend.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    return backend


def words(vocabulary: dict[str, int], unknown: str, lowercase: bool) -> Backend:
    """Words between whitespace; a newline is a word of its own, as WikiText's <eos>."""
    backend = Backend(models.WordLevel(vocab=vocabulary, unk_token=unknown))
    if lowercase:
        backend.normalizer = normalizers.Lowercase()
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"[^\S\n]+"), "removed"),
            pre_tokenizers.Split("\n", "isolated"),
        ]
    )
    # the prefix is one that no word has: whitespace never survives inside a word
    backend.decoder = decoders.Sequence(
        [
            decoders.WordPiece(prefix=" ", cleanup=False),
            decoders.Fuse(),
            decoders.Replace(" \n", "\n"),
            decoders.Replace("\n ", "\n"),
        ]
    )
    return backend


def split_words(vocabulary: dict[str, int], unknown: str, lowercase: bool, phrases: Sequence[str] = ()) -> Backend:
    """Words, numbers and marks apart, whatever stands between them; a newline is a word, and so is a Chinese character.

    phrases: several words that are one, with a space between them.
    """
    backend = words(vocabulary, unknown, lowercase)
    found = with_phrases(phrases, f"\n|[{HAN}]|{APART}")
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(found), "removed", invert=True)
    return backend


def segmented_words(vocabulary: list[tuple[str, float]], lowercase: bool) -> Backend:
    """The same where words are written without spaces: of all ways to cut a stretch of Chinese into words, the likeliest."""
    backend = Backend(models.Unigram(vocab=vocabulary, unk_id=0, byte_fallback=False))
    if lowercase:
        backend.normalizer = normalizers.Lowercase()
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(f"\n|[{HAN}]+|{APART}"), "removed", invert=True)
    backend.decoder = decoders.Fuse()
    return backend


def lowercase_bpe(vocabulary: dict[str, int], merges: Merges, unknown: str = "<unk>") -> Backend:
    """GPT-1: lower case, BERT's split into words and punctuation, merges that see the end of a word (`</w>`)."""
    backend = Backend(
        models.BPE(
            vocab=vocabulary,
            merges=merges,
            unk_token=unknown,
            end_of_word_suffix=WORD_END,
            continuing_subword_prefix="",
            fuse_unk=False,
        )
    )
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.BPEDecoder(suffix=WORD_END)
    return backend


def wordpiece(vocabulary: dict[str, int], lowercase: bool, alone: str | None = None) -> Backend:
    """BERT: greedy longest pieces, CJK characters apart, and [CLS] ... [SEP] ... [SEP] for those who ask."""
    backend = Backend(models.WordPiece(vocab=vocabulary, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=alone != "none", strip_accents=None, lowercase=lowercase
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if alone == "cjk":
        each = pre_tokenizers.Split(Regex(f"[{KANA_AND_HANGUL}]"), "isolated")
        backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.BertPreTokenizer(), each])
    backend.decoder = decoders.WordPiece(prefix="##")
    add_specials(backend, [BERT_SPECIALS[name] for name in ("[pad]", "[unknown]", "[cls]", "[separator]", "[mask]")])
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[(name, backend.token_to_id(name)) for name in ("[CLS]", "[SEP]")],
    )
    return backend


def pieces(vocabulary: list[tuple[str, float]]) -> Backend:
    """SentencePiece: NFKC, runs of spaces and newlines become one `▁`, the likeliest cut under a unigram model."""
    backend = Backend(models.Unigram(vocab=vocabulary, unk_id=0, byte_fallback=False))
    backend.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    backend.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    backend.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    return backend


def add_specials(backend: Backend, names: list[str]) -> None:
    """A name that the model's vocabulary has keeps its id; the others take the next ones."""
    backend.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
