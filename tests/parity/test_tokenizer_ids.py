"""Published vocabularies give the ids that transformers and tiktoken give from the same files."""

import json
import os
import random
from pathlib import Path

import pytest

from foreword.tokens.tokenizer import Tokenizer
from tests.published_tokenizers import bert_from_vocab, gpt1_from_files, gpt2_from_ranks

transformers = pytest.importorskip("transformers")

DATA = Path(os.environ["FOREWORD_DATA"])
TEXTS = [
    "Hello, World! It's the 42nd time we've naïvely said \"résumé\"...",
    "  spaces   and\ttabs\n\n\nand lines \r\n ",
    "话说天下大势，分久必合，合久必分。《红楼梦》",
    "emoji 😀👍🏽👩‍👩‍👧 and e\u0301 combining",
    "control \x00\x01\x7f\u200b\ufeff\u2028 chars",
    "Ωμέγα Привет ñandú",
    "x" * 300,
    "",
    "don't can't WON'T 3.14 1,000,000 http://example.com/?q=1&r=2 snake_case CamelCase",
]


def place(*parts: str) -> Path:
    path = DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path} is not there: set FOREWORD_DATA to the folder with the published vocabularies")
    return path


def some_lines() -> list[str]:
    lines = place("wikitext-2", "valid.txt").read_text(encoding="utf-8").split("\n")[:600]
    slice = place("zh", "hongloumeng", "hongloumeng_slice.txt").read_text(encoding="utf-8").split("\n")[:20]
    return [*TEXTS, *lines, *slice]


def same(ours: Tokenizer, theirs) -> None:
    texts = some_lines()
    expected = [theirs(text, add_special_tokens=False)["input_ids"] for text in texts]
    # they take "<unk>", which WikiText is full of, for the special; we do on request
    assert [ours.encode(text, specials=True) for text in texts] == expected
    plain = [i for i, text in enumerate(texts) if "<unk>" not in text]
    assert [ids.tolist() for ids in ours.encode_many([texts[i] for i in plain])] == [expected[i] for i in plain]
    assert len(plain) > 200
    assert len(ours) == len(theirs)


@pytest.fixture(scope="module")
def gpt2() -> Tokenizer:
    return gpt2_from_ranks(place("gpt2-bpe", "gpt2.tiktoken"))


def test_gpt2_equals_transformers(gpt2, tmp_path):
    gpt2.save(tmp_path)
    files = tmp_path / "files"
    files.mkdir()
    for name in ("vocab.json", "merges.txt"):
        (tmp_path / name).rename(files / name)
    vocabulary = json.loads((files / "vocab.json").read_text(encoding="utf-8"))
    merges = [tuple(line.split(" ")) for line in (files / "merges.txt").read_text(encoding="utf-8").split("\n")[1:-1]]
    same(gpt2, transformers.GPT2Tokenizer(vocab=vocabulary, merges=merges))
    assert Tokenizer.load(files).encode(TEXTS[0]) == gpt2.encode(TEXTS[0])


@pytest.fixture(scope="module")
def tiktokens():
    tiktoken = pytest.importorskip("tiktoken")
    from tiktoken.load import load_tiktoken_bpe

    return tiktoken.Encoding(
        "gpt2",
        pat_str=r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""",
        mergeable_ranks=load_tiktoken_bpe(str(place("gpt2-bpe", "gpt2.tiktoken"))),
        special_tokens={"<|endoftext|>": 50256},
    )


def test_gpt2_equals_tiktoken(gpt2, tiktokens):
    for text in [*some_lines(), "a <|endoftext|> in the text"]:
        assert gpt2.encode(text) == tiktokens.encode_ordinary(text)
        assert gpt2.decode(gpt2.encode(text)) == text


# first and last character of what a text is drawn from
RANGES = {
    "printable": (0x20, 0x7E),
    "control": (0x00, 0x1F),
    "more control": (0x7F, 0xA0),
    "chinese": (0x4E00, 0x9FFF),
    "emoji": (0x1F300, 0x1FAFF),
    "combining": (0x300, 0x36F),
    "any": (0x00, 0xD7FF),
    "far": (0x10000, 0x10FFFF),
}


@pytest.mark.parametrize(
    "names",
    [*([name] for name in RANGES), list(RANGES)],
    ids=lambda names: ", ".join(names) if len(names) == 1 else "all",
)
def test_gpt2_equals_tiktoken_on_texts_nobody_wrote(gpt2, tiktokens, names):
    draw = random.Random(len(names))
    for _ in range(150):
        text = "".join(chr(draw.randint(*RANGES[draw.choice(names)])) for _ in range(draw.randint(1, 30)))
        assert gpt2.encode(text) == tiktokens.encode_ordinary(text)
        assert gpt2.decode(gpt2.encode(text)) == text


def test_gpt2_has_an_id_for_every_byte_and_gives_any_bytes_back(gpt2, tiktokens):
    """Bytes that are no text at all: each has its own id, and as the characters 0 to 255 they come back whole."""
    alone = [tiktokens.encode_single_token(bytes([value])) for value in range(256)]
    assert sorted(alone) == list(range(256))
    for value, id in enumerate(alone):
        if value < 128:
            assert gpt2.encode(chr(value)) == [id]
    draw = random.Random(0)
    for _ in range(100):
        given = draw.randbytes(draw.randint(1, 60))
        text = given.decode("latin-1")
        assert gpt2.encode(text) == tiktokens.encode_ordinary(text)
        assert gpt2.decode(gpt2.encode(text)).encode("latin-1") == given


def test_gpt2_has_its_published_shape(gpt2):
    assert len(gpt2) == 50257
    assert gpt2.special("[end]") == gpt2.special("[begin]") == 50256
    assert gpt2.encode("Hello world") == [15496, 995]  # from the model's documentation
    assert (gpt2.name, gpt2.lossless) == ("byte-bpe-50257", True)


def test_gpt1_equals_transformers():
    encoder, merges = place("gpt1-bpe", "encoder_bpe_40000.json"), place("gpt1-bpe", "vocab_40000.bpe")
    pairs = [tuple(line.split(" ")) for line in merges.read_text(encoding="utf-8").split("\n")[1:] if line]
    theirs = transformers.OpenAIGPTTokenizer(vocab=json.loads(encoder.read_text(encoding="utf-8")), merges=pairs)
    ours = gpt1_from_files(encoder, merges)
    same(ours, theirs)
    assert ours.vocabulary().end == -1


@pytest.mark.parametrize("name", ["bert-base-uncased-vocab.txt", "bert-base-chinese-vocab.txt"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_bert_equals_transformers(name, lowercase):
    path = place("bert-vocab", name)
    pieces = path.read_text(encoding="utf-8").split("\n")
    vocabulary = {piece: number for number, piece in enumerate(pieces[:-1] if pieces[-1] == "" else pieces)}
    theirs = transformers.BertTokenizer(vocab=vocabulary, do_lower_case=lowercase)
    ours = bert_from_vocab(path, lowercase)
    same(ours, theirs)
    assert ours.special("[mask]") == theirs.mask_token_id
    assert ours.encode("[MASK]", specials=True) == [theirs.mask_token_id]
