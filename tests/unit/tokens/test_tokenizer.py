"""Opening tokenizers of others, and saying what is wrong with those that cannot be."""

import json

import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers

from foreword.basics.messages import Fault
from foreword.tokens import backends
from foreword.tokens.kinds import ByteBPE, CharBPE, WordPiece
from foreword.tokens.tokenizer import Tokenizer

TEXT = "The quick brown fox jumps over the lazy dog. " * 5
HELLO = "The lazy fox, isn't it?"


def only(folder, *names):
    for path in folder.iterdir():
        if path.name not in names:
            path.unlink()


def test_old_gpt2_files_are_enough(tmp_path):
    tokenizer = ByteBPE(vocabulary=300).train(iter([TEXT]))
    tokenizer.save(tmp_path)
    only(tmp_path, "vocab.json", "merges.txt")
    loaded = Tokenizer.load(tmp_path)
    assert (loaded.kind, loaded.lossless, loaded.specials) == ("byte_bpe", True, tokenizer.specials)
    assert loaded.encode(HELLO) == tokenizer.encode(HELLO)
    assert loaded.special("[end]") == tokenizer.special("[end]")


def test_old_gpt1_files_have_no_end(tmp_path):
    tokenizer = CharBPE(vocabulary=100).train(iter([TEXT]))
    tokenizer.save(tmp_path)
    only(tmp_path, "vocab.json", "merges.txt")
    vocabulary = json.loads((tmp_path / "vocab.json").read_text())
    del vocabulary["<|endoftext|>"]
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary))
    loaded = Tokenizer.load(tmp_path)
    assert (loaded.kind, loaded.lossless, loaded.specials) == ("char_bpe", False, {"[unknown]": "<unk>"})
    assert loaded.vocabulary().end == -1
    assert loaded.encode(HELLO) == tokenizer.encode(HELLO)


def test_berts_vocabulary_alone_is_enough(tmp_path):
    tokenizer = WordPiece(vocabulary=120).train(iter([TEXT]))
    tokenizer.save(tmp_path)
    only(tmp_path, "vocab.txt")
    loaded = Tokenizer.load(tmp_path)
    assert (loaded.kind, loaded.specials) == ("wordpiece", tokenizer.specials)
    assert loaded.encode(HELLO) == tokenizer.encode(HELLO)


def test_a_tokenizer_json_alone_tells_its_kind_and_specials(tmp_path):
    for spec in (ByteBPE(vocabulary=300), WordPiece(vocabulary=120), CharBPE(vocabulary=100)):
        tokenizer = spec.train(iter([TEXT]))
        tokenizer.save(tmp_path)
        only(tmp_path, "tokenizer.json")
        loaded = Tokenizer.load(tmp_path)
        assert (loaded.kind, loaded.lossless) == (tokenizer.kind, tokenizer.lossless)
        assert loaded.specials == tokenizer.specials
        assert loaded.encode(HELLO) == tokenizer.encode(HELLO)


def test_a_space_put_in_front_makes_byte_bpe_lossy(tmp_path):
    tokenizer = ByteBPE(vocabulary=300).train(iter([TEXT]))
    tokenizer.backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.backend.save(str(tmp_path / "tokenizer.json"))
    assert Tokenizer.load(tmp_path).lossless is False


def test_names_written_as_objects_and_spans_are_understood(tmp_path):
    backend = Backend(models.Unigram([("<unk>", 0.0), ("▁", -1.0), ("a", -2.0)], unk_id=0, byte_fallback=False))
    backends.add_specials(backend, ["</s>", "<pad>", "<extra_id_0>", "<extra_id_1>"])
    backend.enable_truncation(3)
    backend.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"eos_token": {"content": "</s>"}, "unk_token": "<unk>"})
    )
    loaded = Tokenizer.load(tmp_path)
    assert loaded.specials == {
        "[end]": "</s>",
        "[unknown]": "<unk>",
        "[pad]": "<pad>",
        "[span0]": "<extra_id_0>",
        "[span1]": "<extra_id_1>",
    }
    assert loaded.vocabulary().silent == (loaded.special("[pad]"),)  # spans are predicted
    assert len(loaded.encode("aaaaa")) == 5  # a cut said to be in the file is not applied


def test_padding_in_the_file_is_not_applied(tmp_path):
    tokenizer = WordPiece(vocabulary=120).train(iter([TEXT]))
    tokenizer.backend.enable_padding(length=50)
    tokenizer.backend.save(str(tmp_path / "tokenizer.json"))
    assert [len(ids) for ids in Tokenizer.load(tmp_path).encode_many(["the", "the the"])] == [1, 2]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "holds no tokenizer"),
        ({"tokenizer.json": "{"}, "not valid JSON"),
        ({"tokenizer.json": '{"model": 3}'}, "is not a tokenizer"),
        ({"vocab.json": "{}", "merges.txt": "a b c\n"}, "not a pair"),
    ],
)
def test_a_folder_that_is_no_tokenizer_is_a_fault(tmp_path, files, words):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(Fault, match=words):
        Tokenizer.load(tmp_path)
    with pytest.raises(Fault, match="is not there"):
        Tokenizer.load(tmp_path / "nowhere")


def test_a_piece_that_does_not_exist_is_a_fault():
    with pytest.raises(Fault, match="there is no token 99999"):
        ByteBPE(vocabulary=300).train(iter([TEXT])).pieces([1, 99999])
