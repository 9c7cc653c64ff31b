"""tiktoken and tokenizers give the same ids, and where they would not, tiktoken is not asked."""

import json
import random
from pydoc_data.topics import topics

import numpy as np
import pytest
from tokenizers import Tokenizer as Backend

from foreword.basics.messages import Fault
from foreword.tokens import quick
from foreword.tokens.kinds import ByteBPE
from foreword.tokens.published import gpt2_from_ranks

pytest.importorskip("tiktoken", reason="tiktoken IS NOT INSTALLED: quick encoding was not tried")
CHINESE = "满纸荒唐言，一把辛酸泪。都云作者痴，谁解其中味？\n"


@pytest.fixture(scope="module")
def trained():
    return ByteBPE(vocabulary=1500).train(iter([*topics.values(), CHINESE * 20]))


def same(tokenizer, text):
    slow = np.asarray(tokenizer.backend.encode(text, add_special_tokens=False).ids)
    return np.array_equal(quick.quick_encoder(tokenizer.backend)(text), slow)


def test_mixed_text_gives_the_same_ids(trained):
    text = "".join(f"{topic}\r\n\t{CHINESE}👩‍👩‍👧 naïve don't 12,345  \x00\u2028<|endoftext|>" for topic in topics.values())
    assert len(text) > quick.WORTH
    assert same(trained, text)
    assert np.array_equal(trained.encode_many([text])[0], trained.backend.encode(text, add_special_tokens=False).ids)


def test_ten_megabytes_of_mixed_text_give_the_same_ids(trained):
    """English, Chinese, code, numbers and emoji in ever new order, as tiktoken and tokenizers cut it."""
    draw = random.Random(7)
    pieces = [*topics.values(), CHINESE * 8, "👩‍👩‍👧 naïve don't 12,345\n" * 20, "\tif x != 0x1F:\r\n        return {}\n" * 20]
    texts, size = [], 0
    while size < 10_000_000:
        texts.append("".join(draw.choice(pieces) + str(draw.random()) for _ in range(12)))
        size += len(texts[-1].encode())
    engine = quick.quick_encoder(trained.backend)
    for text, encoding in zip(texts, trained.backend.encode_batch_fast(texts, add_special_tokens=False)):
        assert np.array_equal(engine(text), encoding.ids)


def test_every_character_there_is_gives_the_same_ids(trained):
    """The two libraries know Unicode from different tables: a letter to one could be a sign to the other."""
    engine = quick.quick_encoder(trained.backend)
    letters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    texts = ["a".join(f" {letter}{letter}" for letter in letters[at: at + 4096]) for at in range(0, len(letters), 4096)]
    for text, encoding in zip(texts, trained.backend.encode_batch_fast(texts, add_special_tokens=False)):
        assert np.array_equal(engine(text), encoding.ids), text[:20]


@pytest.mark.parametrize("seed", range(30))
def test_random_bytes_give_the_same_ids(trained, seed):
    draw = random.Random(seed)
    text = draw.randbytes(4000).decode("utf-8", "replace") + "".join(draw.choices("  \n\tab1.,'", k=4000))
    assert same(trained, text)


def test_published_ranks_give_the_same_ids(data):
    tokenizer = gpt2_from_ranks(data / "gpt2-bpe" / "gpt2.tiktoken")
    text = (data / "wikitext-2" / "valid.txt").read_text(encoding="utf-8") + CHINESE
    assert quick.quick_encoder(tokenizer.backend) is not None
    assert same(tokenizer, text)


def test_endless_whitespace_is_left_to_tokenizers(trained):
    text = "a" + " " * 2_000_000 + "b"
    assert quick.endless(text)
    assert trained.decode(trained.encode_many([text])[0]) == text


def test_half_a_surrogate_pair_is_refused(trained):
    with pytest.raises(Fault, match="surrogate"):
        trained.encode_many(["x" * quick.WORTH + "\ud800"])


@pytest.mark.parametrize("change", ["order", "prefix", "added", "unreached"])
def test_another_rule_is_left_to_tokenizers(trained, change):
    """The control: each of these makes tiktoken's ids differ, and each is noticed."""
    content = json.loads(trained.backend.to_str())
    model = content["model"]
    if change == "order":
        model["merges"][100], model["merges"][900] = model["merges"][900], model["merges"][100]
    elif change == "prefix":
        content["pre_tokenizer"]["add_prefix_space"] = True
    elif change == "added":
        content["added_tokens"].append({**content["added_tokens"][0], "id": len(trained), "content": "the", "special": False})
    else:
        model["vocab"]["zqzqzq"] = len(trained)
    assert quick.quick_encoder(Backend.from_str(json.dumps(content))) is None
