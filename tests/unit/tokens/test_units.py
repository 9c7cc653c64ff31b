"""Words, phrases and entities: the same units for every tokenizer, none of them split, and bad input said where it is."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance
from foreword.tokens import KINDS
from foreword.tokens.add_marks import add_units
from foreword.tokens.build import build_store
from foreword.tokens.entities import Gazetteer, capitals, resolved
from foreword.tokens.page import Page
from foreword.tokens.phrases import joined, learn, npmi
from foreword.tokens.segmenters import Jieba, Plain, Spaces
from foreword.tokens.store import TokenStore
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.units import Units, UnitsSpec, begun, encode_marked

SPEC = "使用语言模型来预测下一个词的probability。"
TEXTS = [
    SPEC,
    "iPhone8手机ＡＢＣ　全角\n\n新行 😀 été e\u0301té 卡拉OK T恤",
    "It's unbelievable, isn't it?  NBA总冠军2019",
    "  \n",
]
LEARNED = [*TEXTS, "probable ability bilities pro ba" * 3, "模型语言使用预测下一个词的来" * 5]
KIND = [
    {"kind": "wordpiece", "vocabulary": 150},
    {"kind": "wordpiece", "vocabulary": 400, "alone": "none"},
    {"kind": "wordpiece", "vocabulary": 150, "characters": ["simplified", "half_width"]},
    {"kind": "byte_bpe", "vocabulary": 300},
    {"kind": "byte_bpe", "vocabulary": 420},
    {"kind": "unigram", "vocabulary": 160},
    {"kind": "unicode"},
    {"kind": "byte"},
]


def tokenizer_of(settings) -> Tokenizer:
    return KINDS.find(settings["kind"])(**settings).learn(iter(LEARNED))


def units_in(tokenizer, text, units, name):
    """Character spans of the units that the tokens of a text were put into, and the spans of its tokens."""
    names = ("sentence_end", *units.marks)
    encoded = encode_marked(tokenizer, Page.of([text]), names, units)
    starts = encoded.flags >> names.index(name) & 1 == 1
    offsets = tokenizer.encode_with_offsets([text])[0][1]
    numbers = np.cumsum(starts)
    return [
        (int(offsets[numbers == one, 0].min()), int(offsets[numbers == one, 1].max())) for one in np.unique(numbers)
    ], offsets


@pytest.mark.parametrize("settings", KIND, ids=lambda one: "-".join(map(str, one.values())))
@pytest.mark.parametrize("text", TEXTS)
def test_no_tokenizer_splits_a_word(settings, text):
    tokenizer = tokenizer_of(settings)
    units = Units(("word",), "jieba")
    found, _ = units_in(tokenizer, text, units, "word")
    starts = np.flatnonzero(units.starts(tokenizer.converted(text))["word"]).tolist()
    words = list(zip(starts, [*starts[1:], len(text)]))
    for start, end in words:
        inside = [at for at in range(start, end) if not text[at].isspace()]
        holders = [unit for unit in found if unit[0] <= inside[0] < unit[1]]
        # all that is left of a word after normalisation is in one unit
        assert all(unit[0] <= at < unit[1] for unit in holders[:1] for at in inside)
    assert [unit[0] for unit in found] == sorted(unit[0] for unit in found)


def test_the_specs_sentence_hides_words_as_a_whole():
    tokenizer = tokenizer_of(KIND[0])
    found, _ = units_in(tokenizer, SPEC, Units(("word",), "jieba"), "word")
    words = [SPEC[start:end] for start, end in found]
    assert "模型" in words
    assert "probability" in words
    assert "".join(words) == SPEC


def test_without_a_segmenter_every_chinese_character_is_a_word():
    tokenizer = tokenizer_of(KIND[0])
    found, _ = units_in(tokenizer, "语言模型", Units(("word",), "plain"), "word")
    assert len(found) == 4


def test_a_token_that_holds_two_words_in_part_makes_one_unit_of_both():
    text = "abcd"  # words ab, cd; tokens a, bc, d
    starts = np.array([True, False, True, False])
    assert begun(text, starts, np.array([0, 1, 3]), np.array([1, 3, 4])).tolist() == [True, False, False]
    assert begun(text, starts, np.array([0, 1, 2]), np.array([1, 2, 4])).tolist() == [True, False, True]


def test_text_that_was_segmented_before_keeps_its_words():
    assert np.flatnonzero(Spaces().starts("今天 天气  好")).tolist() == [0, 3, 7]


def test_mixed_text_splits_into_characters_and_latin_words():
    text = "NBA总冠军2019"
    assert [text[at] for at in np.flatnonzero(Plain().starts(text))] == ["N", "总", "冠", "军", "2"]
    assert np.flatnonzero(Jieba().starts(text)).tolist() == [0, 3, 6]


def test_phrases_are_words_that_meet_more_often_than_chance():
    words = [f"word{number}" for number in chance(5).integers(30, size=6000)]
    words[::15] = ["new york"] * len(words[::15])
    pairs = learn([" ".join(words)], Plain(), 0.5, 4)
    assert pairs == {("new", "york")}
    assert len(learn([" ".join(words)], Plain(), -1.0, 1)) > 500  # the control: without a threshold all pairs are
    text = "New York, new york"
    starts = Plain().starts(text)
    assert [text[at:].split()[0] for at in np.flatnonzero(joined(text, starts, pairs))] == ["New", ",", "new"]
    assert npmi(0.01, 0.01, 0.01) == pytest.approx(1.0)
    assert npmi(0.0001, 0.01, 0.01) == pytest.approx(0.0)


def test_overlapping_names_become_the_longest_entity():
    names = Gazetteer(["New York", "New York City", "York City Hall", "中国", "中国人民", "人民大学"])
    assert resolved(names.find("in New York City Hall")) == [(7, 21)]  # of the overlapping ones, the longest
    assert resolved(names.find("中国人民大学")) == [(0, 4)]
    assert list(names.find("Newt York, New Yorkers")) == []  # whole words only


def test_a_gazetteer_that_cannot_be_read_says_so(tmp_path):
    with pytest.raises(Fault, match="cannot be read"):
        Gazetteer.read(tmp_path / "nothing.txt")
    (tmp_path / "empty.txt").write_text("\n \n", encoding="utf-8")
    with pytest.raises(Fault, match="has no name in it"):
        Gazetteer.read(tmp_path / "empty.txt")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(Fault, match="is not UTF-8"):
        Gazetteer.read(tmp_path / "bytes.txt")


def test_capitals_are_names_but_not_at_the_start_of_a_sentence():
    text = "The Bank of England met Anna. Nobody came. In New York it rained."
    assert [text[a:b] for a, b in capitals(text)] == ["Bank of England", "Anna", "New York"]


def test_entities_are_units_even_where_they_cut_words():
    units = Units(("word", "phrase", "entity"), "plain", frozenset({("new", "york")}), names=frozenset({"York City"}))
    text = "new York City x"
    found = units.starts(text)
    assert np.flatnonzero(found["word"]).tolist() == [0, 4, 9, 14]
    assert np.flatnonzero(found["phrase"]).tolist() == [0, 9, 14]
    assert np.flatnonzero(found["entity"]).tolist()[:2] == [0, 4]
    assert not found["entity"][5:13].any()


def rows(tmp_path, spans):
    path = tmp_path / "text.jsonl"
    lines = [{"text": f"Ada Lovelace wrote note {n}."} for n in range(40)]
    lines[3]["entities"] = spans
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("spans", [[[0, 99]], [[-1, 3]], [[5, 5]]])
def test_a_span_outside_its_text_is_named_with_its_line(tmp_path, spans):
    with pytest.raises(Fault, match="does not lie in its text") as fault:
        build_store([rows(tmp_path, spans)], tmp_path / "store", KINDS.find("byte_bpe")(vocabulary=300), workers=1)
    assert str(fault.value.where).endswith("text.jsonl:4")


def test_spans_given_with_the_documents_are_entities(tmp_path):
    spec = UnitsSpec(entities=["spans"])
    path = rows(tmp_path, [{"start": 0, "end": 12}])
    build_store([path], tmp_path / "s", KINDS.find("byte")(), fractions=(1, 0, 0), workers=1, units=spec)
    store = TokenStore.open(tmp_path / "s")
    marks = [np.flatnonzero(store.read_mark("entity", at, at + 14)).tolist() for at in [0, *store.ends[:-1].tolist()]]
    assert marks[3] == [0, 12, 13]  # Ada Lovelace | white space | wrote
    assert marks[4] == [0, 3, 4, 12, 13]


def test_marks_are_added_to_a_store_whose_ids_stay(tmp_path, corpus):
    folder = tmp_path / "store"
    shutil.copytree(corpus, tmp_path / "text")
    build_store([tmp_path / "text"], folder, KINDS.find("wordpiece")(vocabulary=512), workers=1)
    before = TokenStore.open(folder)
    ids, data = before.read(0, before.tokens), before.data
    with pytest.raises(Fault, match="has no mark 'word'"):
        before.read_mark("word", 0, 4)
    add_units(folder, UnitsSpec(phrases=0.5, entities=["auto"]))
    after = TokenStore.open(folder)
    assert after.data == data
    assert np.array_equal(after.read(0, after.tokens), ids)
    word, phrase, entity = (after.read_mark(name, 0, after.tokens) for name in ("word", "phrase", "entity"))
    assert (phrase <= word).all()
    assert 0 < entity.sum() < phrase.sum() < word.sum() < after.tokens
    (tmp_path / "text" / "000.txt").write_text("other", encoding="utf-8")
    with pytest.raises(Fault, match="has changed since"):
        add_units(folder, UnitsSpec())


def test_a_tokenizer_keeps_its_conversions(tmp_path):
    made = KINDS.find("wordpiece")(vocabulary=200, characters=["simplified", "half_width"]).learn(
        iter(["红楼梦后来 abc 发财"] * 5)
    )
    made.save(tmp_path)
    loaded = Tokenizer.load(tmp_path)
    assert loaded.fingerprint == made.fingerprint
    for text, same in (("紅樓夢後來", "红楼梦后来"), ("ＡＢＣ", "abc"), ("红楼", "红楼")):
        assert loaded.encode(text) == made.encode(same)
        assert made.special("[unknown]") not in loaded.encode(text)
    plain = KINDS.find("wordpiece")(vocabulary=200).learn(iter(["红楼梦后来 abc 发财"] * 5))
    assert plain.special("[unknown]") in plain.encode("紅樓夢後來")
    assert plain.fingerprint != made.fingerprint


def test_what_stands_alone_is_as_configured():
    text = ["かな한글漢字"] * 3
    pieces = {
        alone: (made := KINDS.find("wordpiece")(vocabulary=60, alone=alone, lowercase=False).learn(iter(text))).pieces(
            made.encode(text[0])
        )
        for alone in (None, "cjk", "none")
    }
    assert pieces["cjk"] == list(text[0])
    assert pieces[None][-2:] == ["漢", "字"]
    assert len(pieces["none"]) == 1
