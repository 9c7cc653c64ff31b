"""The kinds of tokenizer: bytes, characters, words, and four ways to learn the pieces between them.

Training counts only the text it is given. Bytes, Unicode characters and byte BPE give back every text as it was;
the others are lossy, so their scores compare with the former only per byte of what they keep.
"""

from __future__ import annotations

import importlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Literal

from pydantic import Field
from tokenizers import Tokenizer as Backend
from tokenizers import pre_tokenizers, trainers

from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault
from foreword.basics.numbers import Size, Whole
from foreword.basics.progress import say
from foreword.basics.spec import Spec
from foreword.text.words import HAN, has_chinese, mostly_chinese
from foreword.tokens import backends, conversions
from foreword.tokens.backends import BERT_SPECIALS, END, WORD_END
from foreword.tokens.conversions import Conversion
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.word2phrase import find_phrases, pattern

UNKNOWN = "<unk>"
_PIECES = re.compile(f"\n|[{HAN}]+|{backends.APART}")
OPEN_ENDED = {"[end]": END, "[begin]": END}  # GPT-2: one token between documents, both end and beginning


class TokenizerSpec(Spec):
    """The settings of one kind, and how to learn it from text."""

    kind: str
    lossless: ClassVar[bool] = True
    characters: list[Conversion] | None = None  # read as others: traditional Chinese as simplified, full width as half

    def learn(self, texts: Iterator[str]) -> Tokenizer:
        """Trained on text in the characters that it is to read; it converts every text by itself from then on."""
        if not self.characters:
            return self.train(texts)
        table = conversions.table(self.characters)
        codes = {ord(mine): theirs for mine, theirs in table.items()}
        made = self.train(text.translate(codes) for text in texts)
        return Tokenizer(made.backend, made.kind, False, made.specials, table)

    def train(self, texts: Iterator[str]) -> Tokenizer:
        raise TypeError(f"{type(self).__name__} does not say how it is trained")

    def _tokenizer(self, backend: Backend, specials: dict[str, str]) -> Tokenizer:
        return Tokenizer(backend, self.kind, self.lossless, dict(specials))

    def _room_for(self, vocabulary: int, needed: int, what: str) -> None:
        if vocabulary < needed:
            raise Fault(
                f"a vocabulary of {vocabulary:,} is too small for {self.kind}: {what} need {needed:,}.",
                f"The smallest that works on this text is {needed:,}.",
            )


class Byte(TokenizerSpec):
    """The 256 bytes of UTF-8, each its own id, and an end. Nothing is learned; nothing is unknown."""

    kind: Literal["byte"] = "byte"

    def train(self, texts: Iterator[str]) -> Tokenizer:
        vocabulary = {letter: byte for byte, letter in enumerate(backends.byte_letters())}
        backend = backends.byte_level({**vocabulary, END: 256}, [], split=False)
        backends.add_specials(backend, [END])
        return self._tokenizer(backend, OPEN_ENDED)


class Unicode(TokenizerSpec):
    """The characters of the training text; any other is written as its UTF-8 bytes, so that nothing is lost.

    Ids 0 to 127 are ASCII, 128 to 255 the other bytes, then the characters seen, the most frequent first.
    """

    kind: Literal["unicode"] = "unicode"
    vocabulary: Size | None = None  # None: every character seen at least `minimum` times
    minimum: Size = Field(default=1, ge=1)

    def train(self, texts: Iterator[str]) -> Tokenizer:
        if self.vocabulary is not None:
            self._room_for(self.vocabulary, 257, "the bytes and an end")
        seen: Counter[str] = Counter()
        for text in texts:
            seen.update(text)
        others = [character for character, times in seen.items() if character > "\x7f" and times >= self.minimum]
        ordered = sorted(others, key=lambda character: (-seen[character], character))
        pieces = [*map(chr, range(128)), *(f"<0x{byte:02X}>" for byte in range(128, 256))]
        pieces += ordered[: self.vocabulary and self.vocabulary - 257]
        backend = backends.characters({piece: id for id, piece in enumerate([*pieces, END])})
        backends.add_specials(backend, [END])
        return self._tokenizer(backend, OPEN_ENDED)


class Ascii(TokenizerSpec):
    """The 128 characters of ASCII and an end; every other character is dropped."""

    kind: Literal["ascii"] = "ascii"
    lossless: ClassVar[bool] = False

    def train(self, texts: Iterator[str]) -> Tokenizer:
        pieces = [*map(chr, range(128)), END]
        backend = backends.characters({piece: id for id, piece in enumerate(pieces)}, ascii_only=True)
        backends.add_specials(backend, [END])
        return self._tokenizer(backend, OPEN_ENDED)


class Word(TokenizerSpec):
    """Words between white space, the most frequent first; a newline is a word, and the rest is <unk>."""

    kind: Literal["word"] = "word"
    lossless: ClassVar[bool] = False
    vocabulary: Size | None = None  # None: every word seen at least `minimum` times
    minimum: Size = Field(default=1, ge=1)
    lowercase: bool = False

    def train(self, texts: Iterator[str]) -> Tokenizer:
        if self.vocabulary is not None:
            self._room_for(self.vocabulary, 3, "<unk>, an end and a word")
        seen: Counter[str] = Counter()
        for text in texts:
            # as the backend splits: on white space, keeping newlines
            text = text.lower() if self.lowercase else text
            seen.update(text.split())
            seen["\n"] += text.count("\n")
        del seen[UNKNOWN], seen[END]  # written out in the text ("<unk>" in WikiText), they are no new words
        ordered = sorted(
            (word for word, times in seen.items() if times >= self.minimum), key=lambda word: (-seen[word], word)
        )
        return self.of([UNKNOWN, *ordered[: self.vocabulary and self.vocabulary - 2]], END)

    def of(self, pieces: Sequence[str], end: str) -> Tokenizer:
        """The tokenizer of these words, in the order of their ids; "<unk>" and `end` are added if they are not among them."""
        backend = backends.words({piece: id for id, piece in enumerate(pieces)}, UNKNOWN, self.lowercase)
        backends.add_specials(backend, [UNKNOWN, end])
        return self._tokenizer(backend, {"[unknown]": UNKNOWN, "[end]": end, "[begin]": end})


class Words(TokenizerSpec):
    """Lower-case words and marks, each apart, the most frequent first; Chinese by words (jieba) or characters.

    jieba is asked while it is trained, never afterwards: text is cut into the likeliest of the words it found.
    """

    kind: Literal["words"] = "words"
    lossless: ClassVar[bool] = False
    vocabulary: Size | None = None  # None: every word seen at least `minimum` times
    minimum: Size = Field(default=1, ge=1)
    lowercase: bool = True
    chinese: Literal["words", "characters"] = "words"
    phrases: Whole = Field(default=0, ge=0)  # passes that join words into phrases ("new york"), two words in each
    phrase_score: float = 100.0  # above which they are joined
    phrase_discount: Whole = 5  # of the times that two words stand together: rare pairs are no phrases

    def train(self, texts: Iterator[str]) -> Tokenizer:
        if self.vocabulary is not None:
            self._room_for(self.vocabulary, 3, "<unk>, an end and a word")
        kept = [text.lower() if self.lowercase else text for text in texts]
        cut = _jieba() if self.chinese == "words" and mostly_chinese(text[:1000] for text in kept[:500]) else None
        seen: Counter[str] = Counter()
        joined = [] if cut else self._phrases(kept)
        pieces_of = pattern(joined, _PIECES.pattern) if joined else _PIECES
        for text in kept:
            for piece in pieces_of.findall(text):
                seen.update([piece] if not has_chinese(piece) else cut(piece) if cut else list(piece))
        del seen[UNKNOWN], seen[END]
        ordered = sorted(
            (word for word, times in seen.items() if times >= self.minimum), key=lambda word: (-seen[word], word)
        )
        pieces = [UNKNOWN, *ordered[: self.vocabulary and self.vocabulary - 2]]
        if cut is None:
            known = [piece for piece in pieces if " " in piece]
            words = {piece: id for id, piece in enumerate(pieces)}
            backend = backends.split_words(words, UNKNOWN, self.lowercase, known)
        else:
            total = sum(seen[piece] for piece in pieces[1:])
            scores = [(piece, round(math.log(seen[piece] / total), 3)) for piece in pieces[1:]]  # as they are read back
            backend = backends.segmented_words([(UNKNOWN, 0.0), *scores], self.lowercase)
        backends.add_specials(backend, [UNKNOWN, END])
        return self._tokenizer(backend, {"[unknown]": UNKNOWN, **OPEN_ENDED})

    def _phrases(self, texts: Sequence[str]) -> list[str]:
        return find_phrases(texts, _PIECES.pattern, self.phrases, self.phrase_score, self.phrase_discount)


def with_words(words: Sequence[str], lowercase: bool = True) -> Tokenizer:
    """A `words` tokenizer of these words, the most frequent first; by Zipf's law, where Chinese has to be cut into them."""
    pieces = dict.fromkeys([UNKNOWN, *words])
    if mostly_chinese(words[:1000]):
        total = math.log(sum(1 / place for place in range(1, len(pieces) + 1)))
        scores = [(piece, round(-math.log(place) - total, 3)) for place, piece in enumerate(pieces, 1)]
        backend = backends.segmented_words([(UNKNOWN, 0.0), *scores[1:]], lowercase)
    else:
        backend = backends.split_words({piece: id for id, piece in enumerate(pieces)}, UNKNOWN, lowercase)
    backends.add_specials(backend, [UNKNOWN, END])
    return Words(lowercase=lowercase)._tokenizer(backend, {"[unknown]": UNKNOWN, **OPEN_ENDED})


def _jieba() -> Callable[[str], list[str]] | None:
    """What cuts Chinese into words; None, and a line on stderr, where the package is not there."""
    try:
        jieba = importlib.import_module("jieba")
    except ImportError:
        say("the package jieba is not here: each Chinese character is a word. pip install jieba, and words are words.")
        return None
    jieba.setLogLevel("ERROR")
    return jieba.lcut


class ByteBPE(TokenizerSpec):
    """GPT-2: byte pairs merged inside words, numbers, punctuation or spaces, never across.

    `specials = "roberta"`: <s>, <pad>, </s> and <unk> are 0 to 3, and <mask> is the last; else <|endoftext|> is the last.
    """

    kind: Literal["byte_bpe"] = "byte_bpe"
    vocabulary: Size = 8192  # at most
    minimum: Size = Field(default=1, ge=1)  # a pair seen less often is not merged: little text has few tokens
    specials: Literal["roberta"] | None = None

    def train(self, texts: Iterator[str]) -> Tokenizer:
        names = OPEN_ENDED if self.specials is None else backends.ROBERTA_SPECIALS
        *first, last = dict.fromkeys(names.values())
        self._room_for(self.vocabulary, 257 + len(first), "the bytes and " + ("the specials" if first else "an end"))
        trainer = trainers.BpeTrainer(
            vocab_size=self.vocabulary - 1 - len(first),
            min_frequency=self.minimum,
            show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        )
        model = _trained(backends.byte_level({}, []), trainer, texts)
        pieces = {piece: id for id, piece in enumerate([*first, *sorted(model["vocab"], key=model["vocab"].get), last])}
        backend = backends.byte_level(pieces, _merges(model))
        backends.add_specials(backend, [*first, last])
        return self._tokenizer(backends.between_tags(backend) if first else backend, names)


class CharBPE(TokenizerSpec):
    """Sennrich's BPE as GPT-1 used it: lower case, characters merged inside words, the end of a word visible."""

    kind: Literal["char_bpe"] = "char_bpe"
    lossless: ClassVar[bool] = False
    vocabulary: Size = 8192  # at most
    minimum: Size = Field(default=1, ge=1)  # as of byte BPE

    def train(self, texts: Iterator[str]) -> Tokenizer:
        kept = list(texts)

        def train(size: int, first: list[str]) -> JsonObject:
            trainer = trainers.BpeTrainer(
                vocab_size=size,
                min_frequency=self.minimum,
                show_progress=False,
                special_tokens=first,
                end_of_word_suffix=WORD_END,
            )
            return _trained(backends.lowercase_bpe({UNKNOWN: 0}, []), trainer, iter(kept))

        alphabet = _alphabet(train, [UNKNOWN])
        self._room_for(self.vocabulary, len(alphabet) + 1, "the characters, inside and at the end of words,")
        model = train(self.vocabulary - 1, alphabet)
        pieces = model["vocab"]
        backend = backends.lowercase_bpe({**pieces, END: len(pieces)}, _merges(model))
        backends.add_specials(backend, [UNKNOWN, END])
        return self._tokenizer(backend, {"[unknown]": UNKNOWN, **OPEN_ENDED})


class WordPiece(TokenizerSpec):
    """BERT: pieces of words, `##` inside; CJK characters stand alone; [PAD] [UNK] [CLS] [SEP] [MASK] are 0 to 4.

    `alone`: the ideographs (BERT), kana and Hangul too ("cjk"), or none: a run of them is split into pieces like a word.
    """

    kind: Literal["wordpiece"] = "wordpiece"
    lossless: ClassVar[bool] = False
    vocabulary: Size = 8192  # at most
    minimum: Size = Field(default=1, ge=1)  # as of byte BPE
    lowercase: bool = True
    alone: Literal["cjk", "none"] | None = None  # the ideographs by default

    def train(self, texts: Iterator[str]) -> Tokenizer:
        kept = list(texts)
        specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

        def train(size: int, first: list[str]) -> JsonObject:
            trainer = trainers.WordPieceTrainer(
                vocab_size=size,
                min_frequency=self.minimum,
                show_progress=False,
                special_tokens=first,
                continuing_subword_prefix="##",
            )
            empty = backends.wordpiece({special: id for id, special in enumerate(specials)}, self.lowercase, self.alone)
            return _trained(empty, trainer, iter(kept))

        alphabet = _alphabet(train, specials)
        self._room_for(self.vocabulary, len(alphabet), "the characters, at the start of and inside words,")
        pieces = train(self.vocabulary, alphabet)["vocab"]
        return self._tokenizer(backends.wordpiece(pieces, self.lowercase, self.alone), BERT_SPECIALS)


class Unigram(TokenizerSpec):
    """SentencePiece's unigram model, as T5 and XLNet used it: NFKC, and any white space is one space."""

    kind: Literal["unigram"] = "unigram"
    lossless: ClassVar[bool] = False
    vocabulary: Size = 8192
    spans: Whole | None = None  # names for hidden spans, <extra_id_0> the last id (T5: 100); none by default

    def train(self, texts: Iterator[str]) -> Tokenizer:
        specials = {"[end]": "</s>", "[pad]": "<pad>", "[mask]": "[MASK]", "[cls]": "[CLS]", "[separator]": "[SEP]"}
        specials |= {f"[span{number}]": f"<extra_id_{number}>" for number in reversed(range(self.spans or 0))}
        kept, empty = list(texts), backends.pieces([(UNKNOWN, 0.0)])
        alphabet = {"▁"}.union(*(empty.normalizer.normalize_str(text) for text in kept)) - {" "}
        # <unk>, and one piece more: asked for the characters alone, the library misses its mark and keeps all pieces
        self._room_for(self.vocabulary, len(alphabet) + 2 + len(specials), "the characters, a piece and the specials")
        trainer = trainers.UnigramTrainer(
            vocab_size=self.vocabulary - len(specials), show_progress=False, special_tokens=[UNKNOWN], unk_token=UNKNOWN
        )
        pieces = _settled(_trained(empty, trainer, iter(kept))["vocab"])
        # The specials stay outside the model: inside, "</s>" written in a text would be the likeliest cut of it.
        backend = backends.pieces(pieces)
        backends.add_specials(backend, [UNKNOWN, *specials.values()])
        return self._tokenizer(backend, {"[unknown]": UNKNOWN, **specials})


def _trained(backend: Backend, trainer: trainers.Trainer, texts: Iterator[str]) -> JsonObject:
    """The model part of tokenizer.json after training."""
    length = 0

    def counted() -> Iterator[str]:
        nonlocal length
        for text in texts:
            length += len(text)
            yield text

    backend.train_from_iterator(counted(), trainer)
    if not length:
        raise Fault("there is no text to learn a tokenizer from.")
    return json.loads(backend.to_str())["model"]


def _merges(model: JsonObject) -> backends.Merges:
    return [(left, right) for left, right in model["merges"]]


def _alphabet(train: Callable[[int, list[str]], JsonObject], specials: list[str]) -> list[str]:
    """The specials and the single characters with their marks, in order.

    The library numbers marked characters (`a</w>`, `##a`) in the order of a hash table seeded at random, and the
    numbers decide which of two equally frequent pairs is merged first. Given in advance, training is repeatable.
    """
    found = train(0, specials)["vocab"]
    return [*specials, *sorted(set(found) - set(specials))]


def _settled(vocabulary: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Scores and order that do not depend on the order of the library's hash tables.

    It adds the characters it must keep at the bottom, each 0.0001 below the one before, in random order: they all get
    the highest of these. The other scores differ in the eleventh digit (the order of a sum): three digits are kept.
    """
    unknown, *rest = sorted(vocabulary, key=lambda item: (item[0] != UNKNOWN, item[1]))
    ladder = 0
    while (
        ladder < len(rest)
        and len(rest[ladder][0]) == 1
        and (ladder == 0 or abs(rest[ladder][1] - rest[ladder - 1][1] - 1e-4) < 1e-7)
    ):
        ladder += 1
    top = rest[ladder - 1][1] if ladder else 0.0
    rounded = [(piece, round(max(score, top) if i < ladder else score, 3)) for i, (piece, score) in enumerate(rest)]
    return [(unknown[0], 0.0), *sorted(rounded, key=lambda item: (-item[1], item[0]))]
