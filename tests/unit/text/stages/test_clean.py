"""Each rule on a text that it removes and one that it keeps, with the paper's thresholds at the border."""

from __future__ import annotations

from pathlib import Path

import pytest

from foreword.text.corpus.document import CorpusDocument
from foreword.text.corpus.stage import Tally
from foreword.text.stages.clean import Clean
from foreword.text.stages.rules import LINE_RULES, NAMES, PAGE_RULES, SETS, RulePage


def cleaned(text: str, *rules: str, **settings: str) -> tuple[str | None, Tally]:
    tally = Tally()
    kept = list(Clean(rules=list(rules), **settings).run(iter([CorpusDocument(text)]), tally, Path()))
    return (kept[0].text if kept else None), tally


@pytest.mark.parametrize(
    ("rule", "gone", "kept"),
    [
        ("terminal_punctuation", "Home | About us | Contact", "This is the end of it."),
        ("terminal_punctuation", "And so it goes on...", 'She said: "Well."'),
        ("terminal_punctuation", "首页 关于我们", "这是最后一句话。"),
        ("few_words", "Only four words here.", "Here there are five words."),
        ("few_words", "四个字。", "这里有五个字。"),
        ("javascript", "Please turn on JavaScript to go on.", "Please turn on the lights."),
        ("policy", "This site uses cookies for all sorts of things.", "This cook uses eggs for all sorts of things."),
        ("long_word", "x" * 1001, "x" * 1000),
    ],
)
def test_a_line_goes_or_stays(rule: str, gone: str, kept: str) -> None:
    assert LINE_RULES[rule](gone)
    assert not LINE_RULES[rule](kept)


WORDS = "the cat and dog "


@pytest.mark.parametrize(
    ("rule", "gone", "kept"),
    [
        ("lorem_ipsum", "Lorem Ipsum dolor sit amet.", "The Latin text is called by its first words."),
        ("curly_bracket", "function f() { return 1 }", "A function returns 1."),
        ("few_sentences", "One. Two!", "One. Two! Three?"),
        ("few_sentences", "一。二！", "一。二！三？"),
        ("short", "x" * 199, "x" * 200),
        ("word_count", "word " * 49, "word " * 50),
        ("word_count", "word " * 100_001, "word " * 100_000),
        ("mean_word_length", "ab " * 60, "abc " * 60),
        ("mean_word_length", "abcdefghijk " * 60, "abcdefghij " * 60),
        ("symbol_ratio", "# one two three four five six", "# one two three four five six seven eight nine ten"),
        ("bullet_lines", "- a\n" * 10, "- a\n" * 9 + "a\n"),
        ("ellipsis_lines", "a...\n" * 4 + "a\n" * 6, "a...\n" * 3 + "a\n" * 7),
        ("alphabetic_words", "1 2 a b c d", "1 a b c d"),
        ("stop_words", "cats and dogs", "the cats and dogs"),
        ("repeated_lines", "a\na\na\nb\nb\nc", "aa\nbb\ncc\ndd\nee\nff\naa"),
        ("repeated_paragraphs", "a\n\na\n\nb", "a\n\nb\n\nc"),
        ("frequent_runs", "buy now " * 20, " ".join(f"word{i}" for i in range(60))),
    ],
)  # fmt: skip
def test_a_document_goes_or_stays(rule: str, gone: str, kept: str) -> None:
    assert PAGE_RULES[rule](RulePage(gone))
    assert not PAGE_RULES[rule](RulePage(kept))


def test_every_rule_has_a_test_of_both_answers() -> None:
    asked = {
        mark.args[1][place][0]
        for one in (test_a_line_goes_or_stays, test_a_document_goes_or_stays)
        for mark in one.pytestmark
        for place in range(len(mark.args[1]))
    }
    assert asked | {"citations", "bad_words"} == set(NAMES) == {name for some in SETS.values() for name in some}


def test_rules_about_spaces_are_not_asked_of_chinese() -> None:
    text = "很久以前，在河边的磨坊里住着一个老人和他的三个孩子。" * 5
    assert not any(PAGE_RULES[rule](RulePage(text)) for rule in SETS["gopher"])


def test_c4_on_a_page_counts_what_it_does() -> None:
    page = "Menu\nThis is the first sentence of it.[1] And this is the second one.\nYou need Javascript for this page.\nThe third sentence[edit] ends the page here."
    text, tally = cleaned(page, "c4")
    assert (
        text == "This is the first sentence of it. And this is the second one.\nThe third sentence ends the page here."
    )
    assert tally.changed == {"citations": 2, "terminal_punctuation": 1, "javascript": 1}
    assert not tally.removed


def test_what_is_left_is_judged_not_what_was_there() -> None:
    text, tally = cleaned("Menu. Start. More.\nThis is all that there is.", "c4")
    assert text is None
    assert tally.removed == {"few_sentences": 1}
    text, tally = cleaned("Menu\nHome", "c4")
    assert (text, dict(tally.removed)) == (None, {"no line left": 1})


def test_bad_words_are_whole_words(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("darn\n坏话\n")
    bad = str(tmp_path / "bad.txt")
    assert cleaned("He will darn it.", "bad_words", bad_words=bad)[0] is None
    assert cleaned("A darning needle.", "bad_words", bad_words=bad)[0] is not None
    assert cleaned("他说了坏话吗", "bad_words", bad_words=bad)[0] is None
