"""Minimal pairs and ratings: what is asked, how it is judged, and files that are neither."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.evaluate.prompted import run_task
from foreword.evaluate.requests import PromptedModel
from foreword.tasks.prompted.minimal_pair import MinimalPair
from foreword.tasks.prompted.rating import Rating
from foreword.tasks.prompted.request import Likelihood
from foreword.tasks.task import load
from tests.known import Known

CAT = {"good": "The cat sat.", "bad": "The cat sats."}
HYENA = {"good": "The cat sat.", "bad": "The hyena sat."}


def answers(*sums: float, unigram: tuple[float, ...] = ()) -> list[Likelihood]:
    return [Likelihood(np.array([one]), unigram=unigram[n] if unigram else math.nan) for n, one in enumerate(sums)]


def test_the_likelier_sentence_wins_and_a_tie_is_half_right():
    kind = MinimalPair()
    assert kind.judge(CAT, answers(-3.0, -4.0)).values["accuracy"] == 1
    assert kind.judge(CAT, answers(-4.0, -3.0)).values["accuracy"] == 0
    assert kind.judge(CAT, answers(-3.0, -3.0)).values["accuracy"] == 0.5


def test_a_longer_sentence_may_lose_the_sum_and_win_by_bytes():
    found = MinimalPair().judge({"good": "aaaa", "bad": "aa"}, answers(-3.0, -2.0)).values
    assert (found["accuracy"], found["accuracy, byte"]) == (0, 1)


def test_a_rare_word_is_not_less_likely_for_being_rare():
    """All of the preference is frequency: the unigram score sees none. Without counts there is no such score."""
    found = MinimalPair().judge(HYENA, answers(-10.0, -15.0, unigram=(-8.0, -13.0))).values
    assert (found["accuracy"], found["accuracy, unigram"]) == (1, 0.5)
    assert MinimalPair().judge(HYENA, answers(-10.0, -15.0)).values["accuracy, unigram"] is None


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("good\tbad\nthe cat sat\tthe cat sats\nit is\tit are\nan apple\ta apple\n", encoding="utf-8")
    return path


def test_a_file_of_pairs_needs_no_task_file(pairs, store):
    tokenizer = store("byte").tokenizer
    known = Known(tokenizer)
    outcome = run_task(load(str(pairs))[0], PromptedModel("known", known, tokenizer))
    assert outcome.task.name == "pairs"
    assert "accuracy, unigram" not in outcome.metrics(), "the training text of this model is not known"
    for row, judged in zip(outcome.task.examples()[0], outcome.judged):
        good, bad = (sum(known.cost(tokenizer, "", row.row[side])) for side in ("good", "bad"))
        assert judged.shown["scores"]["accuracy"] == pytest.approx([good, bad])
        assert judged.values["accuracy"] == (good > bad)


def test_a_unigram_model_has_no_opinion_beyond_frequency(pairs, store):
    """The control: a model that is its own unigram model is at one half by the corrected score, whatever its raw score is."""
    tokenizer = store("byte").tokenizer
    known = Known(tokenizer)
    known.table = np.broadcast_to(known.table[0], known.table.shape)
    asked = PromptedModel("known", known, tokenizer, frequencies=known.table[0])
    assert run_task(load(str(pairs))[0], asked).of("accuracy, unigram") == [0.5, 0.5, 0.5]


def test_blimps_own_columns_are_known(tmp_path):
    path = tmp_path / "blimp.jsonl"
    path.write_text(json.dumps({"sentence_good": "It is.", "sentence_bad": "It are.", "field": "syntax"}) + "\n")
    (task,) = load(str(path))
    assert [one.continuation for one in task.kind.requests(task.examples()[0][0].row)] == ["It is.", "It are."]


def test_a_file_that_holds_no_pairs(tmp_path):
    path = tmp_path / "reviews.csv"
    path.write_text("text,label\nfine,1\n")
    with pytest.raises(Fault) as said:
        load(str(path))
    assert str(said.value).startswith(f"{path}:1\n    the columns 'text', 'label' are not those of minimal pairs.")
    with pytest.raises(Fault, match="is not there"):
        load(str(tmp_path / "gone.tsv"))


# --- ratings ----------------------------------------------------------------------------------------------------------

REVIEW = {"text": "Terrible!", "stars": "2"}


def rating(**given) -> Rating:
    return Rating(context="{text} I'd rate it", gold="{stars}", **given)


def test_probabilities_sum_to_one_and_the_rating_is_expected():
    logs = np.log([0.1, 0.4, 0.3, 0.1, 0.1]) - 7
    found = rating().judge(REVIEW, answers(*logs))
    assert sum(found.shown["probabilities"]) == pytest.approx(1)
    assert found.shown["expected"] == pytest.approx(0.1 + 0.8 + 0.9 + 0.4 + 0.5)
    assert found.values["mean error"] == pytest.approx(0.7)
    assert found.values["accuracy"] is True or found.values["accuracy"] == 1


def test_the_order_of_the_ratings_changes_nothing():
    logs = dict(zip((1, 2, 3, 4, 5), (-3.0, -1.0, -2.0, -5.0, -4.0)))
    one, other = ((1, 2, 3, 4, 5), (4, 1, 5, 3, 2))
    found = [rating(ratings=each).judge(REVIEW, answers(*(logs[k] for k in each))).shown for each in (one, other)]
    assert found[0]["expected"] == pytest.approx(found[1]["expected"])


def test_calibration_takes_away_what_an_answer_is_worth_by_itself():
    """The review says nothing that a neutral text does not say: after calibration all ratings are equally likely."""
    kind = rating(neutral="I'd rate it")
    assert len(kind.requests(REVIEW)) == 10
    logs = [-1.0, -2.0, -9.0, -4.0, -3.0]
    assert kind.judge(REVIEW, answers(*logs, *logs)).shown["expected"] == pytest.approx(3)
    assert rating().judge(REVIEW, answers(*logs)).shown["expected"] != pytest.approx(3, abs=0.1)


def test_a_rating_that_is_no_number_is_left_out_and_said(tmp_path, store):
    (tmp_path / "reviews.jsonl").write_text(
        "".join(json.dumps({"text": "x", "stars": stars}) + "\n" for stars in ("4", "good", "1"))
    )
    path = tmp_path / "stars.toml"
    path.write_text(
        'name = "stars"\n[source]\nkind = "jsonl"\ntest = "reviews.jsonl"\n'
        '[request]\nkind = "rating"\ncontext = "{text} I\'d rate it"\ngold = "{stars}"\n'
    )
    tokenizer = store("byte").tokenizer
    outcome = run_task(load(str(path))[0], PromptedModel("known", Known(tokenizer), tokenizer))
    assert len(outcome.judged) == 2
    assert "its rating 'good' is no number" in " ".join(outcome.left_out)


def test_one_rating_is_no_choice(tmp_path):
    path = tmp_path / "stars.toml"
    path.write_text(
        'name = "stars"\n[source]\nkind = "jsonl"\ntest = "reviews.jsonl"\n'
        '[request]\nkind = "rating"\ncontext = "{text}"\ngold = "{stars}"\nratings = [1]\n'
    )
    with pytest.raises(Fault, match="at least two different ratings"):
        load(str(path))
