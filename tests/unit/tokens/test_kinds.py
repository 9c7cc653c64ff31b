"""What is particular to each kind."""

import collections
import json
import random

import pytest
from tokenizers import pre_tokenizers

from foreword.basics.messages import Fault
from foreword.tokens import KINDS
from foreword.tokens.kinds import Ascii, Byte, ByteBPE, CharBPE, Unicode, Unigram, Word, WordPiece
from foreword.tokens.tokenizer import Tokenizer

TEXT = "the cat sat on the mat. the dog sat on the log.\n你好 世界 你好\n"


def test_a_byte_is_its_own_id():
    assert Byte().train(iter([])).encode("aé") == list("aé".encode())
    assert len(Byte().train(iter([]))) == 257


def test_unicode_numbers_ascii_first_then_characters_by_frequency_and_the_rest_are_bytes():
    tokenizer = Unicode().train(iter([TEXT]))
    assert tokenizer.encode("a") == [97]
    assert tokenizer.encode("你好世") == [256, 257, 258]  # 你 and 好 stand there twice
    assert tokenizer.encode("é") == list("é".encode())
    assert len(Unicode(vocabulary=258).train(iter([TEXT]))) == 258
    assert len(Unicode(minimum=2).train(iter([TEXT]))) == 256 + 2 + 1
    with pytest.raises(Fault, match="257"):
        Unicode(vocabulary=200).train(iter([TEXT]))


def test_ascii_drops_the_rest():
    tokenizer = Ascii().train(iter([]))
    assert tokenizer.decode(tokenizer.encode("naïve 你好!")) == "nave !"
    assert len(tokenizer) == 129


def test_words_are_numbered_by_frequency_and_a_newline_is_one():
    tokenizer = Word().train(iter(["b a a\na c\n"]))
    assert tokenizer.pieces(range(len(tokenizer))) == ["<unk>", "a", "\n", "b", "c", "<|endoftext|>"]
    assert tokenizer.encode("a  z\tb\n\n") == [1, 0, 3, 2, 2]
    assert tokenizer.decode([1, 0, 3, 2, 4]) == "a <unk> b\nc"
    assert Word(minimum=2).train(iter(["b a a\na c\n"])).pieces(range(4)) == ["<unk>", "a", "\n", "<|endoftext|>"]
    assert len(Word(vocabulary=4).train(iter(["b a a\na c\n"]))) == 4
    assert Word(lowercase=True).train(iter(["A a"])).encode("A") == [1]


def test_an_unknown_written_in_the_text_is_the_unknown():
    tokenizer = Word().train(iter(["a <unk> b <unk> <unk>"]))
    assert tokenizer.encode("<unk>") == [tokenizer.special("[unknown]")]
    assert len(tokenizer) == 4  # <unk>, a, b and an end; no newline was seen


def test_byte_bpe_puts_the_bytes_first_as_gpt2_did_and_the_end_last():
    tokenizer = ByteBPE(vocabulary=300).train(iter([TEXT * 10]))
    assert tokenizer.pieces([0, 1, 220]) == ["!", '"', "Ġ"]
    assert tokenizer.special("[end]") == len(tokenizer) - 1


def brute_force_merges(words: collections.Counter, number: int) -> list[tuple[str, str]]:
    """Recount every pair before every merge."""
    splits = {word: [*word] for word in words}
    merges = []
    for _ in range(number):
        pairs: collections.Counter = collections.Counter()
        for word, times in words.items():
            for pair in zip(splits[word], splits[word][1:]):
                pairs[pair] += times
        best, times = pairs.most_common(1)[0]
        if list(pairs.values()).count(times) > 1:
            break  # a tie: from here on the order is a matter of taste
        merges.append(best)
        for parts in splits.values():
            i = 0
            while i < len(parts) - 1:
                if (parts[i], parts[i + 1]) == best:
                    parts[i : i + 2] = [parts[i] + parts[i + 1]]
                i += 1
    return merges


def test_byte_bpe_learns_the_merges_a_brute_force_count_finds():
    chance = random.Random(0)
    made = ["".join(chance.choices("abcdefgh", k=chance.randint(2, 7))) for _ in range(60)]
    text = " ".join(word for word in made for _ in range(chance.randint(1, 300)))
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words = collections.Counter(word for word, _ in splitter.pre_tokenize_str(text))
    expected = brute_force_merges(words, 40)
    assert len(expected) > 15
    tokenizer = ByteBPE(vocabulary=257 + len(expected)).train(iter([text]))
    assert [tuple(merge) for merge in json.loads(tokenizer.backend.to_str())["model"]["merges"]] == expected


def test_sennrichs_example_is_merged_as_computed_by_hand():
    # {low: 5, lowest: 2, newer: 6, wider: 3}: e r</w> stands there 9 times, then l o 7 times
    text = "low " * 5 + "lowest " * 2 + "newer " * 6 + "wider " * 3
    tokenizer = CharBPE(vocabulary=60).train(iter([text]))
    assert tokenizer.pieces(tokenizer.encode("newer wider")) == ["newer</w>", "wider</w>"]
    merges = [tuple(merge) for merge in json.loads(tokenizer.backend.to_str())["model"]["merges"]]
    assert merges[0] == ("e", "r</w>")
    assert merges[1] == ("l", "o")


def test_char_bpe_is_lower_case_and_says_where_words_end():
    tokenizer = CharBPE(vocabulary=120).train(iter([TEXT]))
    assert tokenizer.decode(tokenizer.encode("The CAT")) == "the cat"
    assert tokenizer.pieces(tokenizer.encode("the"))[-1].endswith("</w>")


def test_wordpiece_has_berts_first_five_and_keeps_chinese_characters_apart():
    tokenizer = WordPiece(vocabulary=120).train(iter([TEXT]))
    assert tokenizer.pieces(range(5)) == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert tokenizer.special("[end]") == tokenizer.special("[separator]")
    assert tokenizer.pieces(tokenizer.encode("你好")) == ["你", "好"]
    assert tokenizer.encode("THE") == tokenizer.encode("the")
    cased = WordPiece(vocabulary=120, lowercase=False).train(iter([TEXT]))
    assert cased.pieces(cased.encode("THE")) == ["[UNK]"]


def test_byte_bpe_can_carry_robertas_specials(tmp_path):
    """<s> 0, <pad> 1, </s> 2, <unk> 3, <mask> last; two separators between texts; transformers reads it the same."""
    from transformers import AutoTokenizer

    made = ByteBPE(vocabulary=300, specials="roberta").train(iter(["the cat sat on the mat. 你好 " * 20]))
    assert [made.special(name) for name in ("[cls]", "[pad]", "[separator]", "[unknown]")] == [0, 1, 2, 3]
    assert made.special("[end]") == 2
    assert made.special("[mask]") == len(made) - 1
    assert made.separators == 2
    assert made.decode(made.encode("the <mask> cat </s> \x00é")) == "the <mask> cat </s> \x00é"
    assert made.vocabulary().silent == (0, 1, len(made) - 1)
    assert made.vocabulary().pieces[:4] == ("<s>", "<pad>", "</s>", "<unk>")
    made.save(tmp_path)
    again, theirs = Tokenizer.load(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    assert (again.fingerprint, again.separators) == (made.fingerprint, 2)
    assert theirs("the cat").input_ids == [0, *made.encode("the cat"), 2]
    assert theirs("the", "cat").input_ids == [0, *made.encode("the"), 2, 2, *made.encode("cat"), 2]
    assert theirs.mask_token_id == len(made) - 1
    assert ByteBPE(vocabulary=300).train(iter(["a b c"])).separators == 1


def test_unigram_can_name_hidden_spans():
    made = Unigram(vocabulary=60, spans=4).train(iter(["the cat sat on the mat. " * 20]))
    assert [made.special(f"[span{number}]") for number in range(4)] == [len(made) - 1 - number for number in range(4)]
    assert not set(made.vocabulary().silent) & {made.special(f"[span{number}]") for number in range(4)}, (
        "they are predicted"
    )


def test_a_misspelt_kind_is_a_fault_with_the_near_one():
    with pytest.raises(Fault, match="Did you mean byte_bpe"):
        KINDS.find("byte_bep")


def test_fewer_merges_never_give_fewer_tokens():
    sizes = [len(ByteBPE(vocabulary=size).train(iter([TEXT * 5])).encode(TEXT)) for size in (257, 265, 280, 300)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]


@pytest.mark.parametrize("kind", [ByteBPE, CharBPE, WordPiece])
def test_a_pair_seen_less_often_than_the_minimum_is_not_merged(kind):
    text = ["low " * 9 + "newest " * 4 + "rare"]
    whole, few = (
        set(kind(vocabulary=400, minimum=minimum).train(iter(text)).backend.get_vocab()) for minimum in (1, 5)
    )
    assert few < whole
    assert any("rare" in piece for piece in whole)
    assert not any("rare" in piece or "newest" in piece for piece in few)
    assert any("low" in piece for piece in few), "nine times is enough"
    same = kind(vocabulary=400, minimum=1).train(iter(text)).backend.to_str()
    assert same == kind(vocabulary=400).train(iter(text)).backend.to_str()
