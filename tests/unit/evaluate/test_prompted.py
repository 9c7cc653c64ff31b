"""Prompts are exact, whole shots are dropped when there is no room, and every outcome says what happened."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance
from foreword.evaluate import prompted_report as outcomes
from foreword.evaluate.prompted import most_shots, prompted_example, run_task
from foreword.evaluate.requests import PromptedModel
from foreword.tasks.task import FewShotPrompt, Question, load
from tests.known import Known

FILE = """
name = "capitals"
description = "Name the capital."
separator = "\\n--\\n"
[source]
kind = "jsonl"
test = "test.jsonl"
train = "train.jsonl"
[request]
kind = "choice"
context = "{land} ->"
choices = "{towns}"
gold = "{gold}"
normalise = ["sum", "byte"]
"""
LANDS = ["France", "Italy", "Spain", "Peru", "Chad", "Fiji", "Oman", "Cuba"]


@pytest.fixture
def task(tmp_path):
    rows = [
        {"land": land, "towns": [f"{land[:2]}{land[2:].upper()}", "Nowhere"], "gold": place % 2}
        for place, land in enumerate(LANDS)
    ]
    for name, some in (("train", rows), ("test", rows[:5])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some), encoding="utf-8")
    (tmp_path / "capitals.toml").write_text(FILE, encoding="utf-8")
    return load(str(tmp_path / "capitals.toml"))[0]


@pytest.fixture
def tokenizer(store):
    return store("byte").tokenizer


def respondent(tokenizer, context=None, seed=0):
    return PromptedModel("known", Known(tokenizer, seed, context), tokenizer)


def test_a_prompt_is_exactly_description_shots_and_question(task, tokenizer):
    example = task.examples()[0][1]
    posed = prompted_example(task, example, respondent(tokenizer), 2)
    shots = task.prompt(example, 2).shots
    assert posed.requests[0].query == f"Name the capital.\n--\n{shots[0]}\n--\n{shots[1]}\n--\nItaly ->"
    assert posed.requests[0].continuation == " ItALY"
    assert all(shot.split(" -> ")[0] in LANDS for shot in shots)
    assert (
        prompted_example(task, example, respondent(tokenizer), 0).requests[0].query == "Name the capital.\n--\nItaly ->"
    )


def test_shots_never_hold_the_question(task):
    """The question stands in the training file as well: it is not drawn from there."""
    for seed in range(30):
        for example in task.examples()[0]:
            shots = task.prompt(example, 7, seed).shots
            assert len(set(shots)) == 7
            assert not any(shot.startswith(example.row["land"]) for shot in shots)


def test_shots_from_the_same_split_are_others(task):
    same = replace(task, spec=task.spec.model_copy(update={"shots_from": "test"}))
    for example in same.examples()[0]:
        assert len(same.prompt(example, 4).shots) == 4
        with pytest.raises(Fault, match="has only 4 other examples in 'test'; 5 shots cannot be drawn"):
            same.prompt(example, 5)


def test_shots_are_drawn_by_the_seed_and_differ_between_examples(task):
    first, second = task.examples()[0][:2]
    assert task.prompt(first, 3, seed=1) == task.prompt(first, 3, seed=1)
    assert len({task.prompt(first, 3, seed=seed).shots for seed in range(10)}) > 5
    assert task.prompt(first, 3).shots != task.prompt(second, 3).shots
    seen = {shot for seed in range(40) for shot in task.prompt(first, 2, seed).shots}
    assert len(seen) == 7, "all others are drawn some time"


@pytest.mark.parametrize("context", [10, 40, 60, 80, 100, 200])
def test_whole_shots_are_dropped_from_the_left_until_all_fits(task, tokenizer, context):
    asked = respondent(tokenizer, context)
    for example in task.examples()[0]:
        prompt, posed = task.prompt(example, 6), prompted_example(task, example, asked, 6)
        sizes = [
            max(len((prompt.before(keep) + request.whole).encode()) for request in task.kind.requests(example.row))
            for keep in range(7)
        ]
        best = max([keep for keep in range(7) if sizes[keep] <= context + 1], default=0)
        assert posed.shots == best == most_shots(prompt, task.kind.requests(example.row), asked)
        kept = "".join(f"{shot}\n--\n" for shot in prompt.shots[6 - best :])
        assert posed.requests[0].query == f"Name the capital.\n--\n{kept}{example.row['land']} ->"


def test_shots_that_do_not_fit_are_said(task, tokenizer):
    outcome = run_task(task, respondent(tokenizer, 60), shots=6)
    used = [one.shots for one in outcome.prompted]
    assert 0 < outcome.shots_used < 6
    assert outcome.notes() == [
        f"5 of 5 prompts had no room for 6 shots: {sum(used) / 5:.1f} on average, at least {min(used)}; "
        "whole examples were dropped, the first ones first"
    ]
    assert f"{sum(used) / 5:.1f} of 6" in "\n".join(
        line for section in outcomes.sections({"x": [outcome]}) for line in section.terminal()
    )
    outcome = run_task(task, respondent(tokenizer, 12), shots=0)
    assert outcome.notes() == ["10 of 10 requests did not fit: the beginning of their context was cut"]
    assert run_task(task, respondent(tokenizer), shots=6).notes() == []


def test_examining_is_asking_each_example(task, tokenizer):
    asked = respondent(tokenizer)
    outcome = run_task(task, asked)
    for posed, judged in zip(outcome.prompted, outcome.judged):
        by_hand = [
            sum(asked.model.cost(tokenizer, f"Name the capital.\n--\n{posed.example.row['land']} ->", f" {town}"))
            for town in posed.example.row["towns"]
        ]
        assert judged.shown["scores"]["sum"] == pytest.approx(by_hand)
    right = sum(one.values["accuracy"] for one in outcome.judged)
    assert outcome.value("accuracy") == right / 5
    assert outcome.chance == 0.5
    assert asked.counts.requests == 0, "each task keeps its own tally"
    assert [one.example.number for one in run_task(task, asked, limit=2).prompted] == [0, 1]


def test_examples_that_cannot_be_asked_are_left_out_and_said(task, tokenizer, tmp_path):
    lines = (tmp_path / "test.jsonl").read_text(encoding="utf-8").splitlines()
    lines[1] = lines[1].replace('"gold": 1', '"gold": 7')
    (tmp_path / "test.jsonl").write_text("\n".join(lines), encoding="utf-8")
    outcome = run_task(load(str(tmp_path / "capitals.toml"))[0], respondent(tokenizer))
    assert len(outcome.judged) == 4
    assert outcome.notes() == ["example 2 was left out: its right answer '7' is not among its 2 choices"]


def test_two_models_are_compared_on_the_same_examples(task, tokenizer):
    found = {str(seed): [replace(run_task(task, respondent(tokenizer, seed=seed)), model=str(seed))] for seed in (0, 1)}
    apart = found["1"][0].minus(found["0"][0], "accuracy")
    gain, (low, high) = apart.value, apart.interval
    assert gain == pytest.approx(found["1"][0].value("accuracy") - found["0"][0].value("accuracy"))
    assert low <= gain <= high
    lines = [line for section in outcomes.sections(found) for line in section.terminal()]
    assert lines[0].split() == ["task", "metric", "0", "1", "chance", "examples", "shots", "likelihoods"]
    assert len(outcomes.differences(found)) == 2
    with pytest.raises(Fault, match="not asked the same examples"):
        found["1"][0].minus(run_task(task, respondent(tokenizer), limit=3), "accuracy")


def test_single_examples_are_written_out(task, tokenizer, tmp_path):
    outcome = run_task(task, respondent(tokenizer), shots=1)
    outcomes.write_examples([outcome], tmp_path / "found.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 5
    assert rows[0]["prompt"] == outcome.prompted[0].requests[0].query
    assert rows[0]["choices"] == [" FrANCE", " Nowhere"]
    assert rows[0]["judged"]["accuracy"] == (rows[0]["guess"] == rows[0]["gold"])
    shown = "\n".join(outcomes.prompt(outcome))
    assert shown.startswith("--- capitals: the first prompt, 1 shot ---\nName the capital.\n--\n")
    assert shown.endswith("France ->[ FrANCE][ Nowhere]\n---")


def test_guessing_is_at_chance_and_knowing_is_not(task, tokenizer, tmp_path):
    """200 questions of a model that knows nothing: its interval holds chance. Shuffled answers: the same."""
    rng = chance(9)
    rows = [
        {"land": f"{number}", "towns": [f"{rng.integers(10**6)}" for _ in range(4)], "gold": int(rng.integers(4))}
        for number in range(200)
    ]
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    outcome = run_task(load(str(tmp_path / "capitals.toml"))[0], respondent(tokenizer))
    low, high = outcome.interval("accuracy")
    assert low <= outcome.chance == 0.25 <= high
    assert high - low < 0.15
    for row, judged in zip(rows, outcome.judged):  # now the right answers are what the model takes
        row["gold"] = judged.shown["guess"]
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    low, high = run_task(load(str(tmp_path / "capitals.toml"))[0], respondent(tokenizer)).interval("accuracy")
    assert low > 0.95
    assert high == 1.0


def test_an_empty_prompt_has_no_separator():
    assert FewShotPrompt("", (), "\n\n").before() == ""
    assert FewShotPrompt("", ("a", "b"), "|").before(1) == "b|"
    assert FewShotPrompt("d", ("a",), "|").before(0) == "d|"
    assert not math.isnan(Question(0, {}).number)


def test_words_a_model_does_not_know_are_said(task, store):
    tokenizer = store("wordpiece").tokenizer
    known = PromptedModel("known", Known(tokenizer), tokenizer)
    outcome = run_task(replace(task, spec=task.spec.model_copy(update={"description": "🦊 🦊 🦊"})), known)
    share = outcome.counts.unknown / outcome.counts.tokens
    assert outcome.counts.unknown >= 3 * outcome.counts.requests
    assert outcome.notes() == [f"{share:.1%} of the tokens are words unknown to the model"]


def test_a_question_that_takes_no_shots_gets_none(tokenizer, tmp_path):
    (tmp_path / "a.txt").write_text("Some text.", encoding="utf-8")
    (tmp_path / "a.toml").write_text(
        'name = "a"\n[source]\nkind = "whole"\ntest = "a.txt"\n[request]\nkind = "text"\n', encoding="utf-8"
    )
    outcome = run_task(load(str(tmp_path / "a.toml"))[0], respondent(tokenizer), shots=4)
    assert outcome.shots == 0
    assert outcome.notes() == []
