"""What sets written text apart: counted by hand, and a detector that finds a difference only where there is one."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.evaluate import writing
from foreword.evaluate.bits_per_byte import TokenizedText
from foreword.evaluate.writing import LENGTH, PROMPT, Passages, beginnings, detector_error, leaning, passages, report
from foreword.generate.sample import Sampling
from foreword.tokens.vocabulary import Vocabulary

SIZE, END = 50, 0


@dataclass
class Counting:
    """After token n it expects n + 1 most, and next the lower ids: what is likeliest is known by hand."""

    sharp: float = 5.0
    context: int | None = None
    vocabulary: Vocabulary = Vocabulary(SIZE, END, ())

    def _logs(self, last: np.ndarray) -> np.ndarray:
        scores = np.tile(-0.1 * np.arange(SIZE), (len(last), 1))
        scores[np.arange(len(last)), (last + 1) % SIZE] = self.sharp
        return scores - np.log(np.exp(scores).sum(1, keepdims=True))

    def begin(self, prompts):
        return self._logs(np.array([prompt[-1] for prompt in prompts])), None

    def advance(self, tokens, state):
        return self._logs(np.asarray(tokens)), None

    def score(self, sequences, starts):
        return [np.zeros(len(one) - 1) for one in sequences]


def test_repetition_variety_and_ranks_are_those_counted_by_hand() -> None:
    one = Passages(np.array([[1, 2, 1, 2, 1], [1, 2, 3, 4, 5]]), np.array([[1, 1, 5, 11, 2000], [1, 1, 1, 1, 1]]))
    assert one.repeats(1).tolist() == pytest.approx([3 / 5, 0])
    assert one.repeats(2).tolist() == pytest.approx([2 / 4, 0])
    assert one.distinct(1) == pytest.approx(5 / 10)
    assert one.distinct(2) == pytest.approx(5 / 8)  # 12, 21; 12, 23, 34, 45
    assert one.shares().tolist() == [[0.4, 0.2, 0.2, 0, 0.2], [1, 0, 0, 0, 0]]


def test_what_is_given_is_ranked_and_what_is_written_never_ends() -> None:
    prompts = np.array([[3, 4], [7, 8]])
    given = np.array([[5, 1, 2], [9, 9, 1]])
    found = passages(Counting(), prompts, Sampling(), 0, given)
    assert found.ids.tolist() == given.tolist()
    # 5 follows 4; then 6 would, then 0, then 1. 9 follows 8; then 10 would, then 0 to 9
    assert found.ranks.tolist() == [[1, 3, 1], [1, 11, 3]]
    likeliest = passages(Counting(), np.array([[SIZE - 3, SIZE - 2]]), Sampling(temperature=0.0))
    assert likeliest.ids[0, :3].tolist() == [SIZE - 1, 1, 2], "the end, which is likeliest there, is passed over"
    assert likeliest.ids.shape == (1, LENGTH)
    drawn = passages(Counting(sharp=0.0), np.tile([[3, 4]], (20, 1)), Sampling(), seed=1)
    assert END not in drawn.ids
    assert (drawn.ids == passages(Counting(sharp=0.0), np.tile([[3, 4]], (20, 1)), Sampling(), seed=1).ids).all()


def test_a_detector_finds_a_difference_only_where_there_is_one() -> None:
    draw = np.random.default_rng(0)
    first, second = draw.dirichlet([8, 4, 2, 1, 1], 200), draw.dirichlet([4, 4, 4, 2, 2], 200)
    wrong, of = detector_error(first, second)
    assert of == 200
    assert wrong / of < 0.2
    wrong, of = detector_error(first, draw.dirichlet([8, 4, 2, 1, 1], 200))  # the control
    assert 0.38 < wrong / of < 0.62
    assert detector_error(first, first)[1] == 200


def text(ids: np.ndarray) -> TokenizedText:
    return TokenizedText(ids, len(ids), len(ids), len(ids))


def test_beginnings_are_whole_stretches_of_peoples_documents() -> None:
    whole = PROMPT + LENGTH
    long = np.arange(4 * whole + 5)
    prompts, rest = beginnings([text(long), text(np.arange(3)), text(long + 7)], 8, None)
    assert prompts.shape == (8, PROMPT)
    assert rest.shape == (8, LENGTH)
    assert prompts[1, 0] == whole
    assert prompts[4, 0] == 7
    assert (rest[:, 0] - prompts[:, -1] == 1).all()
    with pytest.raises(Fault, match="there are 4 stretches of 128 tokens"):
        beginnings([text(long)], 64, None)
    with pytest.raises(Fault, match="reads 64 tokens at once, and a comparison of writing takes 128"):
        beginnings([text(long)], 64, 64)


def model(language: Counting) -> SimpleNamespace:
    tokenizer = SimpleNamespace(encode=lambda said: [1 + len(word) for word in said.split()])
    return SimpleNamespace(abilities=["score", "generate"], language_model=language, tokenizer=tokenizer)


def test_the_page_says_how_a_model_writes_and_refuses_who_does_not() -> None:
    draw = np.random.default_rng(0)
    people = [text(draw.integers(1, SIZE, 10 * (PROMPT + LENGTH))) for _ in range(2)]
    found = report({"runs/x": model(Counting())}, lambda one: people, 16)
    values = found.data()["runs/x"]
    assert values["likeliest"]["repeats"][8] > 0.4 > values["people"]["repeats"][8]
    assert values["likeliest"]["detector"] == {"wrong": 0, "of": 16}
    assert sum(values["people"]["ranks"]) == pytest.approx(1)
    assert "a detector takes" in found.lead[0]
    assert len(list(found.lines())) > 20
    with pytest.raises(Fault, match="runs/y writes nothing: it can embed"):
        report({"runs/y": SimpleNamespace(abilities=["embed"])}, lambda one: people)


def test_who_is_meant_is_the_difference_of_two_sentences() -> None:
    class Leaning(Counting):
        def score(self, sequences, starts):
            return [np.full(len(one) - 1, -float(one.sum()) / 100) for one in sequences]

    found = dict(leaning(Leaning(), model(Leaning()).tokenizer))
    assert set(found) == set(writing.JOBS)
    # with this tokenizer "she" is one id above "he", in every sentence, and each of its 7 tokens costs a hundredth of it
    assert list(found.values()) == pytest.approx([0.07] * len(found))
