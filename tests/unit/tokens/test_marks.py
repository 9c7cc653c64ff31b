"""Word starts and sentence ends, checked on the text between the marks."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.basics.messages import Fault
from foreword.tokens import KINDS, marks
from foreword.tokens.marks import MARKS, check, encode_page, marked_in_python
from foreword.tokens.page import Page

ENGLISH = (
    'Dr. Smith paid 3.14 dollars. "Why?" he asked... Nobody knew (not even J. Doe.) The end!\n\n'
    "A heading without a stop\n\nIt's unbelievable. One line.\nAnother line"
)
CHINESE = "话说天下大势，分久必合。“你好！”他说。Hello world.今天好吗？好…好\n第二行"
KINDS_HERE = KINDS.names()


def encode_with_marks(tokenizer, texts: list[str], names: tuple[str, ...]):
    """The ids of each text and their marks."""
    return encode_page(tokenizer, Page.of(texts), names).by_text()


def trained(kind: str):
    spec = KINDS.find(kind)
    sized = {"vocabulary": 330} if kind in ("byte_bpe", "char_bpe", "wordpiece", "unigram") else {}
    return spec(**sized).train(iter([ENGLISH, CHINESE, ENGLISH]))


def parts(tokenizer, text: str, mark: str, ends: bool) -> list[str]:
    """The text cut before (or after) the tokens that carry the mark, as decoded."""
    ids, flags = encode_with_marks(tokenizer, [text], (mark,))
    cuts, one = [], []
    for id, flag in zip(ids[0].tolist(), flags[0].tolist()):
        if flag and not ends and one:
            cuts.append(one)
            one = []
        one.append(id)
        if flag and ends:
            cuts.append(one)
            one = []
    return [tokenizer.decode(cut).strip() for cut in [*cuts, one] if cut]


SENTENCES = [
    "Dr. Smith paid 3.14 dollars.",
    '"Why?"',
    "he asked...",
    "Nobody knew (not even J. Doe.)",
    "The end!",
    "A heading without a stop",
    "It's unbelievable.",
    "One line.",
    "Another line",
]
CHINESE_SENTENCES = [
    "话说天下大势，分久必合。",
    "“你好！”",
    "他说。",
    "Hello world.",
    "今天好吗？",
    "好…",
    "好\n第二行",
]


@pytest.mark.parametrize("kind", ["byte", "unicode", "byte_bpe"])
def test_sentences_end_where_a_reader_would_end_them(kind):
    tokenizer = trained(kind)
    assert parts(tokenizer, ENGLISH, "sentence_end", ends=True) == SENTENCES
    assert parts(tokenizer, CHINESE, "sentence_end", ends=True) == CHINESE_SENTENCES


@pytest.mark.parametrize("kind", ["char_bpe", "wordpiece", "unigram", "ascii"])
def test_sentences_end_in_the_same_places_for_lossy_kinds(kind):
    def letters(text: str) -> str:
        return "".join(character for character in text.lower() if character.isascii() and character.isalnum())

    tokenizer = trained(kind)
    found = parts(tokenizer, ENGLISH, "sentence_end", ends=True)
    assert [letters(sentence) for sentence in found] == [letters(sentence) for sentence in SENTENCES]
    if kind != "ascii":
        assert len(parts(tokenizer, CHINESE, "sentence_end", ends=True)) == len(CHINESE_SENTENCES)


@pytest.mark.parametrize("kind", ["byte", "unicode", "byte_bpe"])
def test_words_start_at_letters_marks_and_chinese_characters(kind):
    tokenizer = trained(kind)
    assert parts(tokenizer, "It is unbelievable, e\u0301t\u00e9.", "word_start", ends=False) == [
        "It",
        "is",
        "unbelievable",
        ",",
        "e\u0301t\u00e9",
        ".",
    ]
    assert parts(tokenizer, "你好 world！", "word_start", ends=False) == ["你", "好", "world", "！"]


@pytest.mark.parametrize("kind", ["wordpiece", "char_bpe"])
def test_words_of_lossy_kinds_start_where_their_first_piece_stands(kind):
    tokenizer = trained(kind)
    ids, flags = encode_with_marks(tokenizer, ["  Unbelievable lines 你好"], ("word_start",))
    pieces = tokenizer.pieces(ids[0])
    starts = [piece for piece, flag in zip(pieces, flags[0]) if flag]
    assert len(pieces) > 4
    assert len(starts) == 4
    assert pieces[0] == starts[0]
    assert not any(piece.startswith("##") for piece in starts)


@pytest.mark.parametrize("kind", KINDS_HERE)
def test_the_marks_of_many_texts_are_those_of_each(kind):
    tokenizer = trained(kind)
    texts = [ENGLISH, "", CHINESE, "no stop", "   ", "one\n\n\n", "\n\ntwo. ", "é"]
    ids, flags = encode_with_marks(tokenizer, texts, MARKS)
    for text, some_ids, some_flags in zip(texts, ids, flags):
        alone_ids, alone_flags = encode_with_marks(tokenizer, [text], MARKS)
        assert some_ids.tolist() == alone_ids[0].tolist() == tokenizer.encode(text)
        assert some_flags.tolist() == alone_flags[0].tolist()
        assert len(some_flags) == len(some_ids)


@pytest.mark.parametrize("kind", ["byte", "byte_bpe", "wordpiece", "unigram", "word"])
def test_the_end_of_a_document_is_the_end_of_a_sentence(kind):
    _, flags = encode_with_marks(trained(kind), ["no stop here", "nor here"], ("sentence_end",))
    assert [flag[-1] for flag in flags] == [1, 1]
    assert [flag.sum() for flag in flags] == [1, 1]


def test_a_last_character_that_is_dropped_leaves_its_sentence_to_the_token_before():
    _, flags = encode_with_marks(trained("wordpiece"), ["the end \x01", "the lines"], ("sentence_end",))
    assert [flag.tolist().index(1) for flag in flags] == [len(flag) - 1 for flag in flags]


def test_each_mark_has_its_bit_in_the_order_of_the_names():
    tokenizer = trained("byte")
    _, flags = encode_with_marks(tokenizer, ["a b."], ("word_start", "sentence_end"))
    assert flags[0].tolist() == [1, 0, 1, 3]
    _, flags = encode_with_marks(tokenizer, ["a b."], ("sentence_end", "word_start"))
    assert flags[0].tolist() == [2, 0, 2, 3]


def test_a_page_of_dots_or_newlines_is_no_trouble():
    tokenizer = trained("byte")
    for text in ("." * 200_000 + "x", "\n" * 200_000, '."' * 50_000 + "x", "a" + "\n \t" * 50_000):
        ids, flags = encode_with_marks(tokenizer, [text], MARKS)
        assert len(ids[0]) == len(flags[0]) == len(text)


def test_an_unknown_mark_is_a_fault():
    with pytest.raises(Fault, match="Did you mean word_start"):
        check(("word_strat",))


# --- what page.c finds is what the expressions find ---------------------------------------------------------------------

SIGNS = [
    *" \n\t\r\x0b\x1c\x1f\x85\xa0\u2028\u3000.!?…。！？｡,;:'\"”’»)]}』」》〉）】〕_-\x00\u200b",
    "\n\n",
    "\n \n",
    "\r\n\r\n",
    "...",
    "?!",
    ".)",
    '."',
    "Mr",
    "Mrs",
    "Ms",
    "Dr",
    "Prof",
    "St",
    "Sr",
    "Jr",
    "vs",
    "cf",
    "No",
    "e.g",
    "i.e",
    "A",
    "I",
    "J",
    "Z",
    "xA",
    "_A",
    "éA",
    "你A",
    "aDr",
    "e",
    "i",
    "g",
    "é",
    "e\u0301",
    "12",
    "½",
    "你",
    "好",
    "か",
    "ア",
    "한",
    "〇",
    "𠀀",
    "👩",
    "word",
    " A. ",
    " I. ",
    "xA. ",
    "_A. ",
    "éA. ",
    "你A. ",
    ".A. ",
    "Dr. ",
    "aDr. ",
    "Dr\n. ",
    "No.\n",
    '.""""""""""""""" ',
    '."""""""""""""""" ',
    '.""""""""""""""""" ',
    "..你",
    ".x",
    "...x",
]
WRITTEN = st.lists(st.one_of(st.sampled_from(SIGNS), st.text(max_size=4)), max_size=40).map("".join)
NAMES = st.sampled_from([MARKS, MARKS[::-1], MARKS[:1], MARKS[1:]])


@pytest.fixture(scope="module", params=["byte", "byte_bpe", "unicode"])
def lossless(request):
    return trained(request.param)


def agrees(tokenizer, texts, names):
    found = encode_page(tokenizer, Page.of(texts), names)
    defined = marked_in_python(tokenizer, texts, tokenizer.token_bytes(), names)
    assert np.array_equal(found.ids, defined.ids)
    assert np.array_equal(found.numbers, defined.numbers)
    assert np.array_equal(found.flags, defined.flags)


@settings(deadline=None, max_examples=300)
@given(texts=st.lists(WRITTEN, max_size=4), names=NAMES)
def test_any_text_is_marked_as_the_definition_says(lossless, texts, names):
    agrees(lossless, texts, names)


def test_a_text_cut_anywhere_is_marked_as_the_definition_says(lossless):
    text = "".join(random.Random(5).choices(SIGNS, k=250))
    agrees(lossless, [part for at in range(len(text)) for part in (text[:at], text[at:])], MARKS)


@pytest.mark.thorough
def test_every_character_there_is_is_marked_as_the_definition_says():
    letters = "".join(chr(code) for code in (*range(0xD800), *range(0xE000, 0x32000)))
    agrees(trained("byte"), ["".join(f"{letter}a{letter}.{letter}A. \n{letter}\n" for letter in letters)], MARKS)


@settings(deadline=None)
@given(texts=st.lists(WRITTEN, max_size=4))
def test_words_are_counted_as_python_splits_them(texts):
    assert marks.words(Page.of(texts)).tolist() == [len(text.split()) for text in texts]


def test_white_space_is_what_python_says_for_every_character():
    texts = [f"a{chr(code)}b" for code in (*range(0xD800), *range(0xE000, 0x12000))]
    assert marks.words(Page.of(texts)).tolist() == [len(text.split()) for text in texts]
