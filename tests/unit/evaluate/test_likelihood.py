"""Every scorer equals a hand computation from the table of a model that is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foreword.evaluate.likelihood import encode_pair, follow_greedily
from foreword.evaluate.prompted import answer
from foreword.evaluate.requests import PromptedModel
from foreword.tasks.example import UnusableExample
from foreword.tasks.metrics import value
from foreword.tasks.prompted.acceptability import Acceptability, CrossValidatedMatthews
from foreword.tasks.prompted.cloze import FILTERED, LastWord
from foreword.tasks.prompted.generation import Generation
from foreword.tasks.prompted.multiple_choice import LikeliestChoice
from foreword.tasks.prompted.request import GenerationRequest, LikelihoodRequest
from foreword.tasks.prompted.winograd import LikeliestContext
from tests.known import Known
from tests.tiny import READERS, reader


@pytest.fixture
def tokenizer(store):
    return store("byte").tokenizer


@pytest.fixture
def known(tokenizer):
    return Known(tokenizer)


@pytest.fixture
def asked(known, tokenizer):
    return PromptedModel("known", known, tokenizer)


ROW = {"q": "Is it so?", "options": ["yes", "perhaps not", "no"], "right": 1}


def costs(known, tokenizer, context=ROW["q"]):
    return [known.cost(tokenizer, context, choice) for choice in ROW["options"]]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("normalise", ["sum", "token", "byte", "unconditional"])
def test_choices_are_scored_as_a_hand_would(tokenizer, normalise, seed):
    known = Known(tokenizer, seed)
    kind = LikeliestChoice(
        context="{q}", choices="{options}", completion="{choice}", gold="{right}", normalise=(normalise,), alone="A:"
    )
    judged = kind.judge(ROW, answer(PromptedModel("known", known, tokenizer), kind.requests(ROW)))
    told, alone = costs(known, tokenizer), costs(known, tokenizer, "A:")
    by_hand = {
        "sum": [sum(one) for one in told],
        "token": [sum(one) / len(one) for one in told],
        "byte": [sum(one) / len(choice) for one, choice in zip(told, ROW["options"])],
        "unconditional": [sum(one) - sum(other) for one, other in zip(told, alone)],
    }[normalise]
    assert judged.shown["scores"][normalise] == pytest.approx(by_hand, abs=1e-9)
    assert judged.values["accuracy"] == (int(np.argmax(by_hand)) == 1)


def test_normalisations_differ_where_they_should(tokenizer, asked):
    """A completion three times as long: the sum is against it, the mean is not."""
    kind = LikeliestChoice(
        context="{q}", choices="{options}", gold="{right}", normalise=("sum", "token", "byte", "unconditional")
    )
    shown = kind.judge(ROW, answer(asked, kind.requests(ROW))).shown["scores"]
    assert shown["sum"][1] == pytest.approx(shown["byte"][1] * len("perhaps not"))
    assert shown["sum"][1] == pytest.approx(shown["token"][1] * len(" perhaps not"))
    assert set(kind.metrics()) == {"accuracy", "accuracy, token", "accuracy, byte", "accuracy, unconditional"}


@pytest.mark.parametrize("scoring", ["partial", "full"])
def test_winograd_substitutes_each_noun(known, tokenizer, asked, scoring):
    row = {"before": "The trophy is too big because", "nouns": ["the case", "it all"], "after": " is small.", "gold": 0}
    kind = LikeliestContext(before="{before}", choices="{nouns}", after="{after}", gold="{gold}", scoring=scoring)
    judged = kind.judge(row, answer(asked, kind.requests(row)))
    by_hand = [
        sum(known.cost(tokenizer, f"{row['before']} {noun}", row["after"]))
        if scoring == "partial"
        else sum(known.cost(tokenizer, row["before"], f" {noun}{row['after']}"))
        for noun in row["nouns"]
    ]
    assert judged.shown["scores"]["sum"] == pytest.approx(by_hand, abs=1e-9)
    assert judged.values["accuracy"] == (by_hand[0] >= by_hand[1])
    assert kind.solved(row) == "The trophy is too big because the case is small."


def test_the_gap_of_a_children_s_book_is_scored_with_the_rest_of_its_sentence(known, tokenizer, asked):
    row = {"passage": "Once .", "before": "The", "after": " slept .", "choices": ["fox", "cat"], "gold": 1}
    kind = LikeliestChoice(
        context="{passage} {before}",
        choices="{choices}",
        completion=" {choice}{after}",
        gold="{gold}",
        normalise=("sum",),
    )
    shown = kind.judge(row, answer(asked, kind.requests(row))).shown
    assert shown["scores"]["sum"] == pytest.approx(
        [sum(known.cost(tokenizer, "Once . The", f" {word} slept .")) for word in row["choices"]], abs=1e-9
    )


def test_the_last_word_costs_what_the_table_says(known, tokenizer, asked):
    row = {"text": "we went there by bus"}
    kind = LastWord(text="{text}")
    (told,) = answer(asked, kind.requests(row))
    by_hand = known.cost(tokenizer, "we went there by", " bus")
    assert told.logs.tolist() == pytest.approx(by_hand, abs=1e-12)
    judged = kind.judge(row, [told])
    assert judged.values["perplexity"] == pytest.approx(-sum(by_hand))
    assert judged.values["accuracy"] is False


def test_a_last_word_is_right_when_each_of_its_tokens_is_the_likeliest(known, tokenizer, asked):
    context = "we went there by"
    said, last = [], tokenizer.encode(context)[-1]
    known.table[last, :256] = np.log(1e-6)
    known.table[last, ord(" ")] = -0.1
    last = ord(" ")
    for _ in range(3):  # make it say three letters
        letter = ord("a") + len(said)
        known.table[last, letter] = known.table[last].max() + 1
        said.append(letter)
        last = letter
    word = bytes(said).decode()
    assert (
        LastWord(text="{text}")
        .judge(
            {"text": f"{context} {word}"},
            answer(asked, LastWord(text="{text}").requests({"text": f"{context} {word}"})),
        )
        .values["accuracy"]
        is True
    )
    for wrong in (word[:-1] + "z", "z" + word[1:]):
        row = {"text": f"{context} {wrong}"}
        assert (
            LastWord(text="{text}").judge(row, answer(asked, LastWord(text="{text}").requests(row))).values["accuracy"]
            is False
        )


def test_stop_words_may_not_begin_the_answer(store):
    """The likeliest word is `the`, the second likeliest the right one: right only without stop words."""
    tokenizer = store("byte_bpe").tokenizer
    (the,), (to,) = tokenizer.encode(" the"), tokenizer.encode(" to")
    known = Known(tokenizer)
    last = tokenizer.encode("x = 5")[-1]
    known.table[last, the], known.table[last, to] = 20.0, 10.0
    kind = LastWord(text="{text}", stop_words=("the", "of"))
    judged = kind.judge(
        {"text": "x = 5 to"}, answer(PromptedModel("known", known, tokenizer), kind.requests({"text": "x = 5 to"}))
    )
    assert judged.values["accuracy"] is False
    assert judged.values[FILTERED] is True
    judged = kind.judge(
        {"text": "x = 5 the"}, answer(PromptedModel("known", known, tokenizer), kind.requests({"text": "x = 5 the"}))
    )
    assert judged.values["accuracy"] is judged.values[FILTERED] is True, "the right answer itself is never forbidden"


def test_writing_stops_where_it_should_and_only_the_first_sentences_count(known, tokenizer, asked):
    for here, there in zip("QabX", "abX\n"):
        known.table[ord(here), ord(there)] = 50.0
    (told,) = answer(asked, [GenerationRequest("Q", 10, ("\n",))])
    assert told == "abX"
    (told,) = answer(asked, [GenerationRequest("Q", 2)])
    assert told == "ab"
    of_several = answer(asked, [GenerationRequest("a", 2), GenerationRequest("zzzQ", 2), GenerationRequest("Q", 3)])
    assert of_several == ["bX", "ab", "abX"], "whatever is continued together, each has its own text"
    kind = Generation(context="{q}", answer="{a}", compare=("exact", "f1", "rouge1"))
    judged = kind.judge({"q": "Q", "a": "abX"}, answer(asked, kind.requests({"q": "Q", "a": "abX"})))
    assert judged.values == {"exact": 1.0, "F1": 1.0, "ROUGE-1": 1.0}
    assert Generation(context="", answer="", sentences=2).kept("One. Two! Three?") == "One. Two!"


def test_requests_of_both_sorts_keep_their_order(known, tokenizer, asked):
    mixed = [
        LikelihoodRequest("a", "b"),
        GenerationRequest("a", 1),
        LikelihoodRequest("c", "dd", greedy=True),
        LikelihoodRequest("a", "b"),
    ]
    found = answer(asked, mixed)
    assert found[0].logs.tolist() == found[3].logs.tolist() == pytest.approx(known.cost(tokenizer, "a", "b"))
    assert len(found[2].logs) == 2
    assert len(found[1]) <= 1


@pytest.mark.parametrize("context", [1, 2, 3, 8])
def test_a_short_context_is_never_exceeded_and_what_is_cut_is_counted(tokenizer, context):
    """The stub refuses to read more than its context. It looks back one token, so cutting changes nothing it says."""
    known = Known(tokenizer, context=context)
    asked = PromptedModel("known", known, tokenizer)
    requests = [
        LikelihoodRequest("a long context", " and more"),
        LikelihoodRequest("x", "y"),
        LikelihoodRequest("x", "ab", greedy=True),
        LikelihoodRequest("long one", "y"),
    ]
    found = answer(asked, requests[:2] + requests[3:])
    assert found[0].logs.tolist() == pytest.approx(known.cost(tokenizer, "a long context", " and more"))
    assert found[2].logs.tolist() == pytest.approx(known.cost(tokenizer, "long one", "y"))
    assert asked.counts.requests == 3
    assert asked.counts.cut == (2 if context < 8 else 1)
    (written,) = answer(asked, [GenerationRequest("a prompt that is long", 3)])
    assert len(written.encode("utf-8", "replace")) <= 9


@pytest.mark.parametrize("name", READERS)
def test_walking_along_is_scoring(store, name):
    """For every language model there is: begin and advance give what score gives, and greedy is what they would say."""
    tokenizer = store().tokenizer
    model = reader(name, store(), store(split="valid"))
    texts = [
        ("The value of", " the expression"),
        ("import", " os"),
        ("A longer beginning of a text, for padding", " is here"),
        ("", "x"),
    ]
    pairs = [encode_pair(tokenizer, *pair) for pair in texts]
    walked = follow_greedily(model, pairs, [np.zeros(0, np.int64)] * len(pairs))
    scored = answer(PromptedModel(name, model, tokenizer), [LikelihoodRequest(*pair) for pair in texts])
    for one, other, pair in zip(walked, scored, pairs):
        assert one.logs == pytest.approx(other.logs, abs=2e-4)
        state, likely = None, []
        told, state = model.begin([pair.context])
        for token in pair.continuation:
            likely.append(int(np.asarray(told)[0].argmax()) == token)
            told, state = model.advance(np.asarray([token]), state)
        assert one.greedy == one.greedy_without == all(likely)


def test_unknown_words_are_counted(store):
    tokenizer = store("wordpiece").tokenizer
    asked = PromptedModel("known", Known(tokenizer), tokenizer)
    answer(asked, [LikelihoodRequest("the 🦊", " the")])
    assert asked.counts.unknown == 1
    assert asked.counts.tokens == 3


def test_an_answer_that_is_not_among_the_choices_cannot_be_asked():
    kind = LikeliestChoice(context="{q}", choices="{options}", gold="{right}", labels=("A", "B|2", "C"))
    assert kind.right({**ROW, "right": "2"}) == kind.right({**ROW, "right": "B"}) == 1
    for wrong in ("D", "1", ""):
        with pytest.raises(UnusableExample, match="not among its 3 choices"):
            kind.requests({**ROW, "right": wrong})
    assert math.isclose(kind.chance(ROW), 1 / 3)


def test_a_sentence_is_weighed_by_its_mean_token_from_the_start_of_a_document(known, tokenizer, asked):
    kind = Acceptability(text="{s}", gold="{ok}")
    judged = kind.judge({"s": "he go", "ok": "0"}, answer(asked, kind.requests({"s": "he go", "ok": "0"})))
    by_hand = known.cost(tokenizer, "", "he go")
    assert judged.values["Matthews"] == (pytest.approx(sum(by_hand) / len(by_hand)), False)


def test_each_half_is_judged_by_the_other_s_threshold():
    rng = np.random.default_rng(0)
    golds = rng.random(200) < 0.6
    assert value(CrossValidatedMatthews(), [(float(gold), gold) for gold in golds]) == pytest.approx(1.0)
    nothing = [(score, gold) for score, gold in zip(rng.random(200), golds)]
    assert abs(value(CrossValidatedMatthews(), nothing)) < 0.25
    # the threshold of the even ones (2) is used for the odd ones, that of the odd ones (5) for the even
    four = [(1.0, False), (4.0, False), (2.0, True), (5.0, True)]
    assert CrossValidatedMatthews().columns(four).sum(0).tolist() == [1.0, 1.0, 1.0, 1.0]
