"""Each rule rejects what it is for, alone, and keeps the nearest thing that is not."""

import pytest

from foreword.text.document import Dialogue
from foreword.text.reply_rules import FREQUENT, Blandness, ReplyFilter, offensive, rules, words

GOOD = "Do you like the song?"
LONG = " ".join(f"word{i}" for i in range(100))
HAN = "".join(chr(0x4E00 + i) for i in range(100))
PHRASES = ["ass", "go to hell", "坏人"]

# (language, source, a reply that only this rule rejects, the reason; the nearest that passes)
CASES = {
    "url in the reply": ("en", GOOD, "It is on http://x.org now", "a web address", "It is on the http protocol now"),
    "url in the source": ("en", "Look at www.x.org please", "It is good", "a web address", "Look at the www please"),
    "repetition": ("en", GOOD, "It is very very very good", "a word three times in a row", "It is very very good"),
    "repetition across case": ("en", GOOD, "No, no no, I am not", "a word three times in a row", "No, no, I am not"),
    "a word inside another": ("en", GOOD, "so so so it is", "a word three times in a row", "so sore soil it is"),
    "no frequent word": (
        "en",
        GOOD,
        "zozzle mumble",
        "none of the 50 most frequent English words",
        "the zozzle mumble",
    ),
    "a frequent word inside another": (
        "en",
        GOOD,
        "theory ofter",
        "none of the 50 most frequent English words",
        "the ory ofter",
    ),
    "bracket": ("en", GOOD, "It is [good", "a square bracket", "It is (good"),
    "closing bracket": ("en", GOOD, "It is good]", "a square bracket", "It is good}"),
    "length": ("en", LONG, "the " + LONG, "more than 200 words with what it answers", "the " + LONG[6:]),
    "offensive": ("en", GOOD, "You are an Ass.", "a phrase of the offensive list", "You are an assistant in class."),
    "offensive phrase": ("en", GOOD, "so go to hell", "a phrase of the offensive list", "so go to hello"),
    "Chinese script": ("zh", "你好吗", "ok啦 good night", "less than half of it is Chinese", "晚安 ok"),
    "Chinese repetition": ("zh", "你好吗", "加油加油加油", "a word three times in a row", "加油加油"),
    "Chinese offensive": ("zh", "你好吗", "你是坏人啊", "a phrase of the offensive list", "你是坏女人啊"),
    "Chinese length": ("zh", HAN, "好" + HAN, "more than 200 words with what it answers", HAN),
}


def reasons(language, source, reply):
    return [reason for rule in rules(language, PHRASES) if (reason := rule(source, reply))]


@pytest.mark.parametrize("case", CASES)
def test_each_rule_alone_rejects_what_it_is_for_and_keeps_the_near_miss(case):
    language, source, reply, reason, near = CASES[case]
    assert reasons(language, source, reply) == [reason]
    if case == "url in the source":
        source, near = near, reply
    assert reasons(language, source, near) == []


def test_there_are_fifty_frequent_words():
    assert len(FREQUENT) == 50
    assert {"the", "of", "a"} <= FREQUENT


def test_a_reply_is_bland_when_nine_in_ten_of_its_three_word_sequences_are_very_frequent():
    bland = Blandness(often=3)
    for _ in range(4):
        bland.count("i do not know what to say about it all now")  # eleven words: nine sequences
    bland.count("quite another thing")
    assert bland("", "i do not know what to say about it all now") == "bland"
    assert bland("", "I do not know.") == "bland"
    assert bland("", "i do not know what to say about it all now then") == "bland"  # nine of ten
    assert bland("", "i do not know what to say about it all now then so") == ""  # nine of eleven
    assert bland("", "i do") == "", "what has no three words has none that is frequent"
    seldom = Blandness(often=4)
    for _ in range(4):
        seldom.count("i do not know")
    assert seldom("", "i do not know") == "", "four times is not more than four times"


def test_words_of_both_languages():
    assert words("Don't say 你好 to ME, ok?") == ["don't", "say", "你", "好", "to", "me", "ok"]


def test_a_sieve_sets_weights_and_counts_every_reason():
    sieve = ReplyFilter(rules("en", PHRASES))
    dialogue = sieve.weigh(Dialogue(("http://x.org", "It is so so so [good]", "the end", "zozzle")))
    assert dialogue.weights == (1, 0, 1, 0)
    assert dialogue.turns[0] == "http://x.org"
    assert (sieve.replies, sieve.left_out) == (3, 2)
    assert sieve.reasons == {
        "a web address": 1,
        "a word three times in a row": 1,
        "a square bracket": 1,
        "none of the 50 most frequent English words": 1,
    }


def test_an_empty_list_rejects_nothing():
    assert offensive([])("", "") == ""
    assert offensive(["", "  "])("", "anything") == ""
