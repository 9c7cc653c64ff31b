"""The compiled encoder, tiktoken and tokenizers give the same ids; where tiktoken would not, it is not asked."""

import json
import random
import threading
from pydoc_data.topics import topics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend

from foreword.basics.messages import Fault
from foreword.kernels import tokenize
from foreword.tokens import backends, quick
from foreword.tokens.kinds import ByteBPE
from foreword.tokens.page import Page
from tests.published_tokenizers import gpt2_from_ranks
from tests.widths import needs_kernels

CHINESE = "满纸荒唐言，一把辛酸泪。都云作者痴，谁解其中味？\n"
ODD = [
    *"\t\n\x0b\x0c\r \x1c\x1d\x1e\x1f\x85\xa0\u1680\u2003\u2028\u2029\u202f\u205f\u3000\u200b\ufeff\x00\x01\x7f",
    "  ",
    "\n\n",
    " \n ",
    "'",
    "'s",
    "'t",
    "'re",
    "'ve",
    "'m",
    "'ll",
    "'d",
    "'S",
    "'r",
    "'v",
    "'l",
    " 's",
    "\u2019s",
    "the",
    " the",
    "naïve",
    "İ",
    "ﬀ",
    "e\u0301",
    "½",
    "²",
    "Ⅷ",
    "१२",
    "7",
    "12,345",
    "٣",
    "_",
    "--",
    "<|endoftext|>",
    "满纸",
    "，",
    "👩‍👩‍👧",
    "\U0003ffff",
    "\U000e0041",
    "\ud7ff",
    "\ue000",
]
TEXTS = st.lists(
    st.one_of(
        st.sampled_from(ODD),
        st.text(max_size=6),
        st.text(st.characters(max_codepoint=127), max_size=8),
        st.binary(max_size=6).map(lambda some: some.decode("utf-8", "replace")),
    ),
    max_size=40,
).map("".join)


@pytest.fixture(scope="module")
def trained():
    return ByteBPE(vocabulary=1500).train(iter([*topics.values(), CHINESE * 20]))


@pytest.fixture(scope="module")
def pairs():
    """Any two bytes merge, in an order of chance: ids that show where a text was cut, and merges in no order of ids."""
    letters = backends.byte_letters()
    both = [(left, right) for left in letters for right in letters]
    products = {piece: id for id, piece in enumerate([*letters, *("".join(pair) for pair in both)])}
    random.Random(1).shuffle(both)
    return backends.byte_level(products, both)


_known = {}


def encoders(backend):
    """Those that there are on this machine, made once."""
    if id(backend) not in _known:
        content = json.loads(backend.to_str())
        found = [make(backend, content) for make in (quick.compiled_encoder, quick.tiktoken_encoder)]
        _known[id(backend)] = backend, [encode for encode in found if encode is not None]
    return _known[id(backend)][1]


def same(backend, texts):
    slow, number = quick.by_tokenizers(backend, texts)
    for encode in encoders(backend):
        ids, numbers = encode(Page.of(texts))
        assert np.array_equal(numbers, number)
        assert np.array_equal(ids, slow)


def test_there_is_a_compiled_encoder_or_tiktoken(trained):
    if not encoders(trained.backend):
        pytest.skip("NEITHER A C COMPILER NOR tiktoken IS HERE: quick encoding was not tried")
    assert trained.is_quick or tokenize.library() is None


def test_mixed_text_gives_the_same_ids(trained):
    text = "".join(
        f"{topic}\r\n\t{CHINESE}👩‍👩‍👧 naïve don't 12,345  \x00\u2028<|endoftext|>" for topic in topics.values()
    )
    assert len(text) > quick.WORTH
    same(trained.backend, [text])
    assert np.array_equal(trained.encode_many([text])[0], trained.backend.encode(text, add_special_tokens=False).ids)


@settings(deadline=None, max_examples=200)
@given(texts=st.lists(TEXTS, max_size=4))
def test_any_text_gives_the_same_ids(trained, pairs, texts):
    same(trained.backend, texts)
    same(pairs, texts)


def test_a_text_cut_anywhere_gives_the_ids_of_its_parts(trained, pairs):
    """No word reaches into the next text of a page, whatever stands at the border."""
    text = "".join(random.Random(3).choices(ODD, k=150))
    parts = [part for at in range(len(text)) for part in (text[:at], text[at:])]
    same(trained.backend, parts)
    same(pairs, parts)


@pytest.mark.thorough
def test_ten_megabytes_of_mixed_text_give_the_same_ids(trained):
    """English, Chinese, code, numbers and emoji in ever new order."""
    draw = random.Random(7)
    pieces = [
        *topics.values(),
        CHINESE * 8,
        "👩‍👩‍👧 naïve don't 12,345\n" * 20,
        "\tif x != 0x1F:\r\n        return {}\n" * 20,
    ]
    texts, size = [], 0
    while size < 10_000_000:
        texts.append("".join(draw.choice(pieces) + str(draw.random()) for _ in range(12)))
        size += len(texts[-1].encode())
    same(trained.backend, texts)


@needs_kernels
@pytest.mark.thorough
def test_every_character_there_is_gives_the_same_ids(pairs):
    """Libraries know Unicode from different tables: a letter to one could be a sign to the other."""
    letters = [chr(code) for code in (*range(0xD800), *range(0xE000, 0x32000), *range(0xE0000, 0xE0200))]
    texts = [
        "".join(f"{letter}a{letter}1{letter}! {letter}" for letter in letters[at : at + 4096])
        for at in range(0, len(letters), 4096)
    ]
    slow, number = quick.by_tokenizers(pairs, texts)
    ids, numbers = encoders(pairs)[0](Page.of(texts))
    assert np.array_equal(numbers, number)
    assert np.array_equal(ids, slow)


@pytest.mark.parametrize(
    "word", ["a" * 100_000, "ab" * 5000 + "c", "the" * 3000, "\x00" * 31, "z" * 32, "é" * 16, "満" * 4000]
)
def test_words_of_any_length_give_the_same_ids(trained, pairs, word):
    same(trained.backend, [word, f" {word}", word[:-1]])
    same(pairs, [word, f" {word}", word[:-1]])


def test_more_words_than_are_remembered_give_the_same_ids(trained):
    words = [f"w{number:x}q" for number in range(100_000)]
    same(trained.backend, [" ".join(words), " ".join(words[::-7])])


def test_published_ranks_give_the_same_ids(data):
    tokenizer = gpt2_from_ranks(data / "gpt2-bpe" / "gpt2.tiktoken")
    text = (data / "wikitext-2" / "valid.txt").read_text(encoding="utf-8") + CHINESE
    assert len(encoders(tokenizer.backend)) > 0
    same(tokenizer.backend, [text])


def test_endless_whitespace_is_no_trouble(trained):
    text = "a" + " " * 200_000 + "b"
    assert quick.endless(text)
    assert trained.decode(trained.encode_many([text])[0]) == text
    same(trained.backend, [text])


def test_half_a_surrogate_pair_is_refused(trained):
    with pytest.raises(Fault, match="surrogate"):
        trained.encode_many(["x" * quick.WORTH + "\ud800"])


def test_two_threads_do_not_disturb_each_other(trained):
    encode = quick.quick_encoder(trained.backend)
    pages = [Page.of(list(topics.values())), Page.of([CHINESE * 4000])]
    alone, found = [encode(page)[0] for page in pages], [[], []]

    def work(which):
        for _ in range(4):
            found[which].append(encode(pages[which])[0])

    threads = [threading.Thread(target=work, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(alone[which], ids) for which in (0, 1) for ids in found[which])


@pytest.mark.parametrize("change", ["order", "prefix", "added", "unreached"])
def test_another_rule_is_left_to_tokenizers(trained, change):
    """The control: each of these makes tiktoken's ids differ, and each is noticed. The compiled one knows two of them."""
    content = json.loads(trained.backend.to_str())
    model = content["model"]
    if change == "order":
        model["merges"][100], model["merges"][900] = model["merges"][900], model["merges"][100]
    elif change == "prefix":
        content["pre_tokenizer"]["add_prefix_space"] = True
    elif change == "added":
        content["added_tokens"].append(
            {**content["added_tokens"][0], "id": len(trained), "content": "the", "special": False}
        )
    else:
        model["vocab"]["zqzqzq"] = len(trained)
    backend = Backend.from_str(json.dumps(content))
    if change in ("prefix", "added"):
        assert quick.quick_encoder(backend) is None
    else:
        assert quick.tiktoken_encoder(backend, json.loads(backend.to_str())) is None
        same(backend, [*topics.values(), "zqzqzq"])


def test_without_a_compiler_the_ids_are_the_same(trained, monkeypatch):
    texts = [*topics.values(), CHINESE]
    ids, numbers = quick.quick_encoder(trained.backend)(Page.of(texts))
    monkeypatch.setattr(tokenize, "library", lambda: None)
    slow, number = (
        quick.quick_encoder(trained.backend) or (lambda page: quick.by_tokenizers(trained.backend, page.texts))
    )(Page.of(texts))
    assert np.array_equal(ids, slow)
    assert np.array_equal(numbers, number)
