"""What every kind of tokenizer promises, trained on a little English and Chinese."""

import functools
import json
import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foreword.basics.messages import Fault
from foreword.tokens import KINDS
from foreword.tokens.tokenizer import Tokenizer

ENGLISH = (
    "The quick brown fox jumps over the lazy dog. It's 42 degrees, isn't it?\n\nShe sells sea-shells by the sea "
    "shore; the shells she sells are surely seashells.\nUnbelievable! Believers believe in the unbelievable.\n"
)
CHINESE = "话说天下大势，分久必合，合久必分。你好，世界！今天天气很好。\n"
LOSSLESS = ("byte", "unicode", "byte_bpe")
SPECIALS = {name: {"[end]", "[begin]"} for name in ("byte", "unicode", "ascii", "byte_bpe")} | {
    "word": {"[end]", "[begin]", "[unknown]"},
    "words": {"[end]", "[begin]", "[unknown]"},
    "char_bpe": {"[end]", "[begin]", "[unknown]"},
    "wordpiece": {"[pad]", "[unknown]", "[cls]", "[separator]", "[mask]", "[end]"},
    "unigram": {"[pad]", "[unknown]", "[cls]", "[separator]", "[mask]", "[end]"},
}
PLAIN = [
    ENGLISH,
    CHINESE,
    "Hello World,  it's 42\tdegrees \n\n\n naïve café 😀👍🏽",
    " leading and trailing ",
    "ＦＵＬＬ width",
    "x" * 500,
]
SPECIAL_LOOKING = "a <|endoftext|> b </s> c [MASK] d [SEP] e [CLS] f <pad> g [PAD]"


def settings_of(kind: str) -> dict:
    return {"vocabulary": 400} if kind in ("byte_bpe", "char_bpe", "wordpiece", "unigram") else {}


@functools.cache
def trained(kind: str) -> Tokenizer:
    return KINDS.find(kind)(**settings_of(kind)).train(iter([ENGLISH, CHINESE] * 3))


every_kind = pytest.mark.parametrize("kind", KINDS.names())


def test_the_lossless_kinds_are_those():
    assert [kind for kind in KINDS.names() if KINDS.find(kind).lossless] == sorted(LOSSLESS)
    assert [kind for kind in KINDS.names() if trained(kind).lossless] == sorted(LOSSLESS)


@pytest.mark.parametrize("kind", LOSSLESS)
@settings(max_examples=150, deadline=None)
@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
@example("")
@example("\x00\r\n\r\x0b\u2028\ufeff\u00a0")
@example("e\u0301 é 👩‍👩‍👧‍👦 \U0010ffff")
@example(SPECIAL_LOOKING)
@example("<0x41><0xE4>Ġ▁##</w>")
def test_decoding_gives_the_text_back(kind, text):
    tokenizer = trained(kind)
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert tokenizer.token_bytes()[ids].sum() == len(text.encode())


@every_kind
@settings(max_examples=60, deadline=None)
@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
@example(SPECIAL_LOOKING)
def test_ids_are_in_range_and_no_text_becomes_a_special(kind, text):
    tokenizer = trained(kind)
    ids = tokenizer.encode(text)
    assert all(0 <= id < len(tokenizer) for id in ids)
    vocabulary = tokenizer.vocabulary()
    assert not {*vocabulary.silent, vocabulary.end} & set(ids)
    assert isinstance(tokenizer.decode(ids), str)


@every_kind
def test_half_a_surrogate_pair_is_a_fault(kind):
    with pytest.raises(Fault, match=r"character 2 of the text \(U\+D800\)"):
        trained(kind).encode("ab\ud800")


@every_kind
def test_the_special_names_exist_and_an_unknown_one_is_a_fault_that_lists_them(kind):
    tokenizer = trained(kind)
    assert set(tokenizer.specials) == SPECIALS[kind]
    for name in tokenizer.specials:
        assert tokenizer.has(name)
        assert 0 <= tokenizer.special(name) < len(tokenizer)
    assert not tokenizer.has("[sapn]")
    with pytest.raises(Fault, match=r"\[end\]"):
        tokenizer.special("[sapn]")
    vocabulary = tokenizer.vocabulary()
    assert vocabulary.size == len(tokenizer)
    assert vocabulary.end == tokenizer.special("[end]")
    assert vocabulary.end not in vocabulary.silent
    silent = {tokenizer.special(name) for name in ("[pad]", "[mask]", "[cls]") if tokenizer.has(name)}
    assert silent <= set(vocabulary.silent)


@every_kind
def test_specials_written_out_become_their_ids_only_on_request(kind):
    tokenizer = trained(kind)
    text = f"the{tokenizer.specials['[end]']}fox"
    parts = [*tokenizer.encode("the"), tokenizer.special("[end]"), *tokenizer.encode("fox")]
    assert tokenizer.encode(text, specials=True) == parts
    assert tokenizer.special("[end]") not in tokenizer.encode(text)
    assert tokenizer.specials["[end]"] not in tokenizer.decode(parts)
    assert tokenizer.specials["[end]"] in tokenizer.decode(parts, keep_specials=True)


@every_kind
def test_many_texts_at_once_are_the_same_as_one_by_one(kind):
    tokenizer = trained(kind)
    together = tokenizer.encode_many(PLAIN)
    assert all(isinstance(ids, np.ndarray) and ids.dtype == np.int64 for ids in together)
    assert [ids.tolist() for ids in together] == [tokenizer.encode(text) for text in PLAIN]
    offsets = tokenizer.encode_with_offsets(PLAIN)
    assert [ids.tolist() for ids, _ in offsets] == [ids.tolist() for ids in together]
    assert len(tokenizer.pieces(together[0])) == len(together[0])


@every_kind
def test_saved_and_loaded_it_is_the_same(kind, tmp_path):
    tokenizer = trained(kind)
    tokenizer.save(tmp_path)
    loaded = Tokenizer.load(tmp_path)
    assert loaded.fingerprint == tokenizer.fingerprint
    assert (loaded.kind, loaded.lossless, loaded.specials, loaded.name) == (
        tokenizer.kind,
        tokenizer.lossless,
        tokenizer.specials,
        tokenizer.name,
    )
    texts = [*PLAIN, SPECIAL_LOOKING]
    assert [loaded.encode(text) for text in texts] == [tokenizer.encode(text) for text in texts]


@every_kind
def test_training_twice_gives_the_same_tokenizer(kind):
    again = KINDS.find(kind)(**settings_of(kind)).train(iter([ENGLISH, CHINESE] * 3))
    assert again.backend.to_str() == trained(kind).backend.to_str()
    other = KINDS.find(kind)(**settings_of(kind)).train(iter([ENGLISH[:200]] * 3))
    assert (other.fingerprint == again.fingerprint) == (kind in ("byte", "ascii"))  # those learn nothing


@every_kind
def test_transformers_opens_it_and_gives_the_same_ids(kind, tmp_path):
    transformers = pytest.importorskip("transformers")
    tokenizer = trained(kind)
    tokenizer.save(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for text in PLAIN:
        assert theirs(text, add_special_tokens=False)["input_ids"] == tokenizer.encode(text)
    assert len(theirs) == len(tokenizer)
    end = theirs.sep_token_id if kind == "wordpiece" else theirs.eos_token_id
    assert end == tokenizer.special("[end]")
    if tokenizer.has("[mask]"):
        assert theirs.mask_token_id == tokenizer.special("[mask]")
    if tokenizer.lossless:
        assert theirs.decode(tokenizer.encode(PLAIN[2])) == PLAIN[2]


@pytest.mark.parametrize("kind", ["byte_bpe", "char_bpe", "wordpiece", "unigram"])
def test_a_vocabulary_smaller_than_the_alphabet_is_a_fault_with_the_smallest_that_works(kind):
    with pytest.raises(Fault) as caught:
        KINDS.find(kind)(vocabulary=30).train(iter([ENGLISH, CHINESE]))
    smallest = int(str(caught.value).rsplit(" ", 1)[1].rstrip(".").replace(",", ""))
    tokenizer = KINDS.find(kind)(vocabulary=smallest).train(iter([ENGLISH, CHINESE]))
    assert len(tokenizer) == smallest


@pytest.mark.parametrize("kind", ["byte_bpe", "char_bpe", "wordpiece", "unigram"])
def test_a_vocabulary_has_the_size_asked_for(kind):
    chance = random.Random(0)
    words = ["".join(chance.choices("abcdefgh", k=chance.randint(2, 9))) for _ in range(500)]
    text = " ".join(chance.choices(words, k=5000))
    assert len(KINDS.find(kind)(vocabulary=300).train(iter([text]))) == 300


@pytest.mark.parametrize("kind", ["byte_bpe", "char_bpe", "wordpiece", "unigram"])
def test_training_on_nothing_is_a_fault(kind):
    with pytest.raises(Fault, match="no text"):
        KINDS.find(kind)().train(iter([]))


@every_kind
def test_the_saved_configuration_says_what_we_know_and_nothing_we_do_not(kind, tmp_path):
    trained(kind).save(tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert config["foreword"]["kind"] == kind
    assert "model_max_length" not in config
