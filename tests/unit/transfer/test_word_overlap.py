"""Rules about words: what they answer can be worked out by hand, and dev alone chooses their number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from foreword.tasks.example import Example, Span
from foreword.tasks.labelled.choice import MultipleChoice
from foreword.tasks.labelled.rank import Ranking
from foreword.tasks.labelled.span import SpanExtraction
from foreword.tasks.labelled.tag import Tagging
from foreword.tasks.labelled_task import LabelledTask, load
from foreword.transfer.kinds import transfer_kind_of
from foreword.transfer.kinds.tag import known_names
from foreword.transfer.word_overlap import InverseDocumentFrequency

LEARN = {
    "tag": Tagging(sentence="{s}", tags="{t}"),
    "span": SpanExtraction(question="{q}", context="{c}", spans="{s}"),
    "choice": MultipleChoice(context="{c}", choices="{a}", gold="{g}"),
    "rank": Ranking(query="{q}", candidate="{c}", relevance="{r}"),
}


def made(kind: str, train, labels=(), test=None) -> LabelledTask:
    return LabelledTask("made", LEARN[kind], labels, tuple(train), tuple(train), tuple(test or train))


def tagged(sentence: str, tags: str) -> Example:
    spans, at = [], 0
    for word in sentence.split():
        at = sentence.index(word, at)
        spans.append(Span(at, at + len(word), word))
        at += len(word)
    return Example(sentence, (sentence,), tuple(tags.split()), words=tuple(spans))


def test_names_of_train_are_found_again_the_longer_first_with_the_tags_they_mostly_had():
    train = [
        tagged("Paris is big", "B-LOC O O"),
        tagged("Paris Hilton sang", "B-PER I-PER O"),
        tagged("Paris left", "B-PER O"),
        tagged("in Paris", "O B-LOC"),
    ]
    asked = tagged("Paris Hilton saw Paris and Hilton", "B-PER I-PER O B-LOC O B-PER")
    found = known_names(made("tag", train, ("O", "B-LOC", "B-PER", "I-PER"), [asked]))
    assert found.predictions == (["B-PER", "I-PER", "O", "B-LOC", "O", "O"],)
    assert found.setting == "2 names"


def test_where_train_has_no_name_none_is_found():
    assert known_names(made("tag", [tagged("a b", "O O")], ("O",))).predictions == (["O", "O"],)


def asked(question: str, context: str, answer: str) -> Example:
    start = context.index(answer)
    return Example(question, (question, context), (Span(start, start + len(answer), answer),))


CONTEXTS = [
    "The tower of Pisa was built by Bonanno in the year 1173 near a river.",
    "A bridge stands over the river, and the bridge was opened by the king.",
]


@pytest.mark.parametrize(
    ("question", "context", "answer"),
    [
        ("Who built the tower of Pisa?", CONTEXTS[0], "Bonanno"),
        ("谁建造了比萨斜塔？", "比萨斜塔由博纳诺建造。", "由博"),
    ],
)
def test_the_answer_stands_between_rare_words_of_the_question(question, context, answer):
    one = asked(question, context, answer)
    found = transfer_kind_of("span").baseline(
        made("span", [one, *(asked("the", text, "river") for text in CONTEXTS)], test=[one])
    )
    said = found.predictions[0]
    assert said in context
    assert answer in said


def test_a_word_of_the_question_is_no_answer_to_it():
    """The fifth of nine in a row is nearer to all of them than any word outside (6.2 against 5.5 of their weight)."""
    question = "one two three four five six seven eight nine"
    example = asked(question, f"{question} behind that old house stood a tree", "behind")
    found = transfer_kind_of("span").baseline(
        made("span", [example, *(asked("the", text, "river") for text in CONTEXTS)], test=[example])
    )
    assert not set(found.predictions[0].split()) & set(question.split())


def test_dev_chooses_the_length_and_test_is_not_looked_at():
    pairs = [asked("When was the tower built", "The tower was built in the year of 1173 A D", "in the year of 1173 A")]
    task = made("span", pairs)
    other = replace(task, test=(asked("x", "y z", "y"),))
    assert (
        transfer_kind_of("span").baseline(task).setting == transfer_kind_of("span").baseline(other).setting == "6 words"
    )


def test_an_empty_context_has_no_answer():
    task = made("span", [asked("q", "a b", "a")], test=[Example("none", ("q", "!"), ())])
    assert transfer_kind_of("span").baseline(task).predictions == ("",)


def test_rare_words_say_more():
    rarity = InverseDocumentFrequency(["the cat", "the dog", "the owl"])
    assert rarity.of("the") == 0 < rarity.of("cat") < rarity.of("unheard")
    assert rarity.weight("the cat", "the cat sat", 0.0) == rarity.of("cat")


def test_the_choice_and_the_candidate_that_share_most_are_first():
    choice = Example("1", ("the owl sat on an oak",), 1, choices=("the bird flew", "an owl on an oak", "the"))
    assert transfer_kind_of("choice").baseline(made("choice", [choice])).predictions == (1,)
    rows = [
        Example(str(i), ("who wrote the play", text), float(i == 1), group="q")
        for i, text in enumerate(["it rained", "she wrote a play", "the end"])
    ]
    scores = transfer_kind_of("rank").baseline(made("rank", rows)).predictions
    assert np.argmax(scores) == 1


def test_real_names_and_answers_are_found_above_nothing_and_below_a_model(data):
    names, answers = load("peopledaily", data), load("squad", data)
    tags = known_names(names)
    assert 0.05 < tags.test[0].value < 0.6, tags.test
    some = replace(answers, dev=answers.dev[:200], test=answers.test[:200])
    spans = transfer_kind_of("span").baseline(some)
    assert 0.03 < spans.test[0].value < 0.4, spans.test
