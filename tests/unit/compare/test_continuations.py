"""Passages for people: prompts end with a word, the truth follows, prose comes first."""

from __future__ import annotations

import pytest

from foreword.compare.continuations import PROMPT, REST, continuations
from foreword.report import Continuations

PROSE = "The quick brown fox jumps over the lazy dog and goes on to tell of it at some length " * 6
TABLE = "1 | 2 | 3.14 | 0x1f | [4, 5] {6} <7> \n" * 20
CHINESE = "今天天气很好我们去公园看花他在家里看书" * 30


class Parrot:
    """Writes the same after everything."""

    def generate(self, prompts, **how):
        self.prompts = prompts
        return [" and so on " * 40 for _ in prompts]


def test_the_text_and_the_models_continue_the_same_prompt():
    parrot = Parrot()
    found = continuations({"parrot": parrot}, [PROSE, TABLE, PROSE[:90], "An" + PROSE[7:]], 2)
    assert [one.prompt for one in found] == parrot.prompts
    for one, text in zip(found, (PROSE, "An" + PROSE[7:])):
        assert text.startswith(one.prompt + one.texts["the text itself"].removesuffix(" ..."))
        assert len(one.prompt) <= PROMPT
        assert not one.prompt.endswith(" ")
        assert list(one.texts) == ["the text itself", "parrot"]
        assert all(len(text) <= REST + 4 for text in one.texts.values())


@pytest.mark.parametrize(
    "text", [TABLE, CHINESE, "three short words", "word", "a b"], ids=["table", "Chinese", "short", "word", "tiny"]
)
def test_any_text_will_do_where_there_is_no_prose(text):
    (one,) = continuations({"parrot": Parrot()}, [text], 3)
    assert one.prompt
    assert text.startswith(one.prompt + one.texts["the text itself"].removesuffix(" ..."))


def test_no_text_no_samples():
    assert continuations({"parrot": Parrot()}, [], 3) == []


def test_the_terminal_shows_who_wrote_what():
    lines = list(Continuations("Once upon", {"the text itself": "a time", "GPT": "a\nmidnight"}).terminal())
    assert lines == ["", "                 Once upon", "the text itself  a time", "            GPT  a midnight"]
