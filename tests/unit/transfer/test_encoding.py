"""Examples as sequences: every special in its place whatever is cut, and characters found again exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.basics.messages import Fault
from foreword.objectives.base import NOTHING
from foreword.tasks.example import Example, Span
from foreword.transfer.encoding import shares
from foreword.transfer.kinds import transfer_kind_of
from foreword.transfer.kinds.base import HeadScores
from foreword.transfer.kinds.span import best_span, trimmed
from tests.labelled import CHINESE, FAMILIES, GOOD, PLAIN, encoder, examples, ids, input_format, tokenizer

TOKENIZER = tokenizer("bert")
every_family = pytest.mark.parametrize("family", FAMILIES)
causal = pytest.mark.parametrize("family", ["gpt2", "gpt1"])


def named(family: str, *names: str) -> list[int]:
    fitted = input_format(family).extended(tokenizer(family))
    return [fitted.special(name) for name in names]


@causal
def test_three_new_ids_stand_around_texts(family: str) -> None:
    fitted = input_format(family).extended(tokenizer(family))
    before = len(tokenizer(family))
    assert named(family, "[start]", "[delimiter]", "[extract]") == [before, before + 1, before + 2]
    assert len(fitted) == before + 3
    assert input_format(family).extended(fitted) is fitted
    for text in ("the film was good", "<|extract|> stays text"):
        assert fitted.encode(text) == tokenizer(family).encode(text)


@causal
def test_gpt_sequences(family: str) -> None:
    start, delimiter, extract = named(family, "[start]", "[delimiter]", "[extract]")
    write = encoder(family)
    a, b = (tokenizer(family).encode(text) for text in ("the film", "was good"))
    assert write.encode("the film").ids.tolist() == [start, *a, extract]
    assert write.encode("the film", "was good").ids.tolist() == [start, *a, delimiter, *b, extract]
    assert write.encode("the film").segments is None


def test_bert_sequences() -> None:
    cls, sep = named("bert", "[cls]", "[separator]")
    a, b = (tokenizer("bert").encode(text) for text in ("the film", "was good"))
    laid = encoder("bert").encode("the film", "was good")
    assert laid.ids.tolist() == [cls, *a, sep, *b, sep]
    assert laid.segments.tolist() == [0] * (len(a) + 2) + [1] * (len(b) + 1)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 80), min_size=1, max_size=2),
    st.integers(7, 40),
    st.sampled_from(list(FAMILIES)),
    st.sampled_from(["head", "tail"]),
)
def test_specials_survive_every_cut(lengths: list[int], length: int, family: str, keep: str) -> None:
    write = encoder(family, length, keep=keep)
    texts = [" ".join(PLAIN[(i + place) % len(PLAIN)] for i in range(n)) for place, n in enumerate(lengths)]
    laid = write.encode(*texts)
    first, between, last = named(
        family,
        *(("[cls]", "[separator]", "[separator]") if family == "bert" else ("[start]", "[delimiter]", "[extract]")),
    )
    assert len(laid.ids) <= length
    assert (laid.ids[0], laid.ids[-1]) == (first, last)
    inner = laid.ids[1:-1].tolist()
    assert inner.count(between) == len(texts) - 1
    whole = [tokenizer(family).encode(text) for text in texts]
    kept = (
        [len(one) for one in whole]
        if len(texts) == 1
        else [inner.index(between), len(inner) - inner.index(between) - 1]
    )
    kept = [len(inner)] if len(texts) == 1 else kept
    parts = [inner] if len(texts) == 1 else [inner[: kept[0]], inner[kept[0] + 1 :]]
    for part, full in zip(parts, whole):
        assert part == (full[: len(part)] if keep == "head" else full[len(full) - len(part) :])
    lost = sum(map(len, whole)) - sum(map(len, parts))
    assert sum(write.truncated.values()) == lost
    assert bool(write.truncation_note()) == (lost > 0)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=3), st.integers(1, 60))
def test_the_longest_is_shortened_first(lengths: list[int], room: int) -> None:
    slow = list(lengths)
    while sum(slow) > room:
        slow[max(range(len(slow)), key=lambda i: (slow[i], i))] -= 1
    assert shares(lengths, room) == slow


def test_a_length_that_holds_no_texts_is_refused() -> None:
    with pytest.raises(Fault, match="leaves no room"):
        encoder("gpt2", 4)


@every_family
def test_a_similarity_has_no_order(family: str) -> None:
    pair = examples("similarity", 1)[0]
    other = Example("1", pair.texts[::-1], pair.label)
    one, two = transfer_kind_of("similarity").encode([pair, other], (), encoder(family))
    if family == "bert":
        assert len(one.sequences) == 1
    else:
        assert ids(one.sequences) == ids(two.sequences)[::-1]


@every_family
def test_a_choice_is_one_sequence_for_each_answer(family: str) -> None:
    one = Example("0", ("the story", "was it good"), 1, choices=("bad", "good", "grim"))
    (encoded,) = transfer_kind_of("choice").encode([one], (), encoder(family))
    write = encoder(family)
    pairs = [
        ("the story", f"was it good {answer}") if family == "bert" else ("the story was it good", answer)
        for answer in one.choices
    ]
    assert ids(encoded.sequences) == ids([write.encode(*pair) for pair in pairs])
    assert encoded.target == 1


def test_candidates_of_one_query_are_one_example() -> None:
    encoded = transfer_kind_of("rank").encode(examples("rank", 9), (), encoder("bert"))
    assert [one.examples for one in encoded] == [(0, 1, 2), (3, 4, 5), (6, 7, 8)]
    assert encoded[0].target.tolist() == [0, 1, 0]


@every_family
def test_windows_hold_the_whole_text(family: str) -> None:
    text = " ".join(PLAIN * 12)
    (encoded,) = transfer_kind_of("classify").encode(
        [Example("0", (text,), "a")], ("a", "b"), encoder(family, 24, windows=True, stride=9)
    )
    parts = [laid.ids[1:-1].tolist() for laid in encoded.sequences]
    whole = tokenizer(family).encode(text)
    assert parts == [whole[start : start + 22] for start in range(0, 9 * len(parts), 9)]
    assert 9 * (len(parts) - 1) + 22 >= len(whole) > 9 * (len(parts) - 2) + 22


# --- spans -----------------------------------------------------------------------------------------------------------


@st.composite
def questions(draw: st.DrawFn) -> Example:
    """A text of words, or of Chinese characters, and an answer that begins and ends with one of them."""
    if draw(st.booleans()):
        words = draw(st.lists(st.sampled_from([*PLAIN, *GOOD, "Café", "x9,", "(ok)"]), min_size=1, max_size=60))
        text, borders = "", []
        for word in words:
            text += draw(st.sampled_from([" ", "  ", "\n"])) if text else draw(st.sampled_from(["", " "]))
            borders.append((len(text), len(text) + len(word)))
            text += word
    else:
        text = "".join(draw(st.lists(st.sampled_from(CHINESE), min_size=1, max_size=60)))
        borders = [(i, i + 1) for i in range(len(text))]
    first = draw(st.integers(0, len(borders) - 1))
    last = draw(st.integers(first, min(len(borders) - 1, first + 4)))
    start, end = borders[first][0], borders[last][1]
    return Example("0", ("what is it", text), (Span(start, end, text[start:end]),))


@settings(max_examples=120, deadline=None)
@given(questions(), st.sampled_from(["gpt2", "bert"]), st.integers(30, 64))
def test_an_answer_is_found_again_at_its_very_characters(one: Example, family: str, length: int) -> None:
    """Scores that are certain of the target must give back the answer, from whichever window holds it."""
    form = transfer_kind_of("span")
    encoded = form.encode([one], (), encoder(family, length, stride=4))
    objective = form.objective((), input_format(family).reading, 0.0).model_copy(update={"longest": 64})
    scores, held = [], False
    for window in encoded:
        table = np.zeros((window.length, 2))
        none = 0 if family == "bert" else window.length - 1
        table[window.target, [0, 1]] = 9 if window.target[0] != none else 1
        held |= bool(window.target[0] != none)
        scores.append(table)
    assert held, "an answer as short as these is whole in some window"
    (answer,) = form.answers([one], HeadScores(encoded, scores, objective, TOKENIZER))
    assert answer.span == one.label[0]
    assert answer.label == one.texts[1][answer.span.start : answer.span.end]


def test_no_answer_is_the_place_where_a_sequence_is_read() -> None:
    one = Example("0", ("what is it", "the film was good"), ())
    for family, place in (("bert", 0), ("gpt2", -1)):
        form = transfer_kind_of("span")
        (window,) = form.encode([one], (), encoder(family))
        assert window.target.tolist() == [place % window.length] * 2
        objective = form.objective((), input_format(family).reading, 0.0).model_copy(update={"none": True})
        table = np.zeros((window.length, 2))
        assert form.answers([one], HeadScores([window], [table], objective, TOKENIZER))[0].label != ""
        table[place] = 5
        assert form.answers([one], HeadScores([window], [table], objective, TOKENIZER))[0].label == ""
        answered = objective.model_copy(update={"none": False})
        assert form.answers([one], HeadScores([window], [table], answered, TOKENIZER))[0].label != ""


def test_every_window_must_say_that_there_is_no_answer() -> None:
    one = Example("0", ("what is it", " ".join(PLAIN * 6)), ())
    form = transfer_kind_of("span")
    encoded = form.encode([one], (), encoder("bert", 30))
    objective = form.objective((), "first", 0.0).model_copy(update={"none": True})
    scores = [np.zeros((window.length, 2)) for window in encoded]
    scores[0][0] = 5
    assert len(encoded) > 2
    assert form.answers([one], HeadScores(encoded, scores, objective, TOKENIZER))[0].label != ""
    for table in scores:
        table[0] = 5
    assert form.answers([one], HeadScores(encoded, scores, objective, TOKENIZER))[0].label == ""


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 14), st.integers(1, 8), st.integers(0, 99))
def test_the_best_span_is_that_of_a_full_search(positions: int, longest: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    table, text = draw.normal(size=(positions, 2)), draw.random(positions) < 0.7
    text[draw.integers(positions)] = True
    every = [
        (table[i, 0] + table[j, 1], i, j)
        for i in range(positions)
        for j in range(i, min(i + longest, positions))
        if text[i] and text[j]
    ]
    start, end, score = best_span(table, text, longest)
    assert (score, start, end) == pytest.approx(max(every))


def test_white_space_is_no_part_of_an_answer() -> None:
    assert trimmed("a  film \n", 1, 9) == Span(3, 7, "film")


# --- tags ------------------------------------------------------------------------------------------------------------


@every_family
@pytest.mark.parametrize("length", [8, 48])
def test_every_word_has_its_tag_at_its_first_piece(family: str, length: int) -> None:
    made = examples("tag", 20)
    labels = ("O", "B-GOOD", "B-BAD")
    form = transfer_kind_of("tag")
    encoded = form.encode(made, labels, encoder(family, length))
    assert (len(encoded) > len(made)) == (length == 8)
    for number, one in enumerate(made):
        windows = [window for window in encoded if window.examples == (number,)]
        said = [labels[tag] for window in windows for tag in window.target if tag != NOTHING]
        assert said == list(one.label)
    scores = []
    for window in encoded:
        table = np.zeros((window.length, 3))
        asked = window.target != NOTHING
        table[asked, window.target[asked]] = 1
        table[~asked, 2] = 9  # what is said elsewhere must not matter
        scores.append(table)
    objective = form.objective(labels, input_format(family).reading, 0.0)
    assert [answer.label for answer in form.answers(made, HeadScores(encoded, scores, objective, TOKENIZER))] == [
        one.label for one in made
    ]
