"""Published text as it was written: whatever the line, it comes back to the last byte; and it reads like English."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.text.detokenise import FORMATS

WORDS = [
    "the",
    "dogs",
    "'",
    '"',
    "'s",
    "n't",
    "do",
    "(",
    ")",
    ",",
    ".",
    "...",
    "U.S.",
    "Mr.",
    "No",
    "@-@",
    "@,@",
    "@.@",
    "1",
    "000",
    "–",
    "/",
    "=",
    "<unk>",
    "N",
    "$",
    "%",
    "\\",
    "\\x",
    "one",
    "nine",
    "zero",
    "1984",
    "don't",
    "a,b",
    "==",
    "",
    "天气",
    "\t",
    "\r",
    "é",
    "-",
    "well-known",
    "'t",
    "''",
    "x\\",
    "\u2028",
]


@pytest.mark.parametrize("name", FORMATS)
@given(
    original=st.one_of(
        st.text(alphabet=" \n'\".,-@=()/\\a1N<>", max_size=40),
        st.text(max_size=30),
        st.lists(
            st.lists(st.sampled_from(WORDS), max_size=9).map(lambda words: f" {' '.join(words)} "), max_size=4
        ).map("\n".join),
    ),
    end=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_any_text_comes_back(name: str, original: str, end: bool) -> None:
    original += "\n" if end else ""
    for how in (FORMATS[name], FORMATS[name].fitted(original)):
        assert how.original(how.text(original)) == original


@pytest.mark.parametrize(
    ("name", "original", "text"),
    [
        (
            "wikitext",
            " It may grow to 60 cm ( 24 in ) , and 1 @,@ 000 @.@ 5 kg . \n",
            "It may grow to 60 cm (24 in), and 1,000.5 kg.\n",
        ),
        ("wikitext", " \n = = Life cycle = = \n \n", "\n== Life cycle ==\n\n"),
        (
            "wikitext",
            ' a " lobster red " , red @-@ tipped <unk> @-@ style \n',
            'a "lobster red", red-tipped <unk>-style\n',
        ),
        (
            "wikitext",
            " The dogs ' owner didn 't see the cat 's H. americanus in the U.S. in 15 – 35 days ; and / or \n",
            "The dogs' owner didn't see the cat's H. americanus in the U.S. in 15–35 days; and/or\n",
        ),
        (
            "ptb",
            " mr. vinken does n't own N % of the company 's shares \n",
            "mr. vinken doesn't own N% of the company's shares\n",
        ),
        (
            "ptb",
            " it ca n't pay $ N million to the banks ' u.s. unit \n",
            "it can't pay $N million to the banks' u.s. unit\n",
        ),
        (
            "ptb",
            "no it was n't black monday\nbut <unk> says they 'll sell\n",
            "no it wasn't black monday\nbut <unk> says they'll sell\n",
        ),
        ("text8", " anarchism in one nine eight four the one book", "anarchism in 1984 the one book"),
        ("text8", "the two one zero five zero people", "the 21050 people"),
    ],
)
def test_it_reads_as_it_was_written(name: str, original: str, text: str) -> None:
    how = FORMATS[name].fitted(original)
    assert how.text(original) == text
    assert how.original(text) == original


def test_what_cutting_would_spoil_is_marked() -> None:
    how = FORMATS["wikitext"]
    assert how.text(" a don't b ") == "a \\don't b"
    assert how.text(" two  spaces ") == "\\  two  spaces "
    assert how.text(" No . That 's it . ") == "No . That's it."  # "No." would come back as one word


@pytest.mark.parametrize(
    ("name", "original", "count"),
    [("wikitext", " a b , \n \n c \n", 7), ("ptb", " a b \n c", 5), ("text8", " one nine the", 3), ("wikitext", "", 0)],
)
def test_words_are_those_of_the_original(name: str, original: str, count: int) -> None:
    assert FORMATS[name].words(original) == count


def test_wikitext_2_comes_back_and_hardly_a_mark_is_needed(data) -> None:
    original = (data / "wikitext-2" / "valid.txt").read_text(encoding="utf-8")
    how = FORMATS["wikitext"].fitted(original)
    text = how.text(original)
    assert how.original(text) == original
    assert how.words(original) == 217_646  # as the set's authors count
    assert text.count("\\") < 10
    assert len(text) < 0.97 * len(original)
    for line in original.split("\n")[:300]:
        assert how.original(how.text(line)) == line
