"""A recipe with several values and seeds: every combination is trained, the best comes first, and nothing is done twice."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from foreword.basics.messages import Fault, RunFailed
from foreword.compare import parallel
from foreword.compare.contenders import combinations, short_name
from foreword.compare.training_study import (
    TEST_BYTES,
    Arm,
    Trained,
    arm_jobs,
    measure_of,
    measured,
    named_arms,
    over_documents,
    report,
    training_jobs,
    training_study,
)
from foreword.evaluate.held_out import Corpus, score_corpus
from foreword.evaluate.hidden_tokens import report as hidden_report
from foreword.runs.folder import RunFolder
from foreword.runs.opening import TrainedModel
from foreword.training.hardware import Hardware

SMALL = [
    "network.layers=1",
    "network.width=16",
    "network.heads=2",
    "network.context=16",
    "training.batch_size=4",
    "training.budget=4",
    "training.evaluate=1.0",
]
RATE = "training.optimizer.learning_rate"


@pytest.mark.thorough
def test_every_combination_runs_with_every_seed_and_the_best_comes_first(stores, tmp_path):
    every = training_jobs("gpt2", "laptop", SMALL, [f"{RATE}=1e-3,1e-9"], range(2), tmp_path / "study")
    assert [(job.values, job.seed) for job in every] == [
        ((f"{RATE}={rate}",), seed) for rate in ("1e-3", "1e-9") for seed in (0, 1)
    ]
    found = training_study(every, stores["byte_bpe"], parallel=2)
    assert [one.values[0][-4:] for one in found] == ["1e-3", "1e-9"], "who hardly learns comes last"
    assert all(len(set(one.seeds)) == 2 for one in found)
    for job in every:
        run = RunFolder(job.folder)
        assert run.passport()["finished"]
        assert run.recipe().training == job.recipe.training
    again = training_study(every, stores["byte_bpe"], parallel=1)
    assert again == found, "what is finished is not done again"


@pytest.mark.thorough
def test_a_seed_of_a_study_is_the_run_one_would_have_made(stores, tmp_path):
    from foreword.runs.train import train

    every = training_jobs("gpt2", "laptop", SMALL, [], range(2), tmp_path / "study")
    assert [job.folder.name for job in every] == ["seed-0", "seed-1"]
    found = training_study(every, stores["byte_bpe"], parallel=2)
    alone = train(every[1].recipe, stores["byte_bpe"], tmp_path / "alone")
    assert alone.passport()["best"]["valid"] == pytest.approx(found[0].seeds[1], abs=1e-6)


def test_bad_studies_are_found_before_anything_runs(tmp_path):
    with pytest.raises(Fault, match="section.key=value,value"):
        combinations(["training.clip"])
    with pytest.raises(Fault, match="there is no setting 'klip'"):
        training_jobs("gpt2", "laptop", SMALL, ["training.klip=1,2"], [0], tmp_path)
    with pytest.raises(Fault, match="at least one"):
        training_jobs("gpt2", "laptop", SMALL, [], [], tmp_path)


def test_folders_are_named_by_what_differs():
    assert combinations([]) == [()]
    assert combinations(["a.b=1, 2", "c=x"]) == [("a.b=1", "c=x"), ("a.b=2", "c=x")]
    assert short_name(["training.optimizer.learning_rate=1e-3", "network.width=64"]) == "learning-rate-1e-3_width-64"


@pytest.mark.thorough
def test_a_run_that_diverges_is_named_and_the_others_are_kept(stores, tmp_path):
    every = training_jobs("gpt2", "laptop", SMALL, [f"{RATE}=1e-3,1e12"], [0], tmp_path / "study")
    with pytest.raises(RunFailed, match="1 of 2 runs diverged: learning-rate-1e12_seed-0"):
        training_study(every, stores["byte_bpe"], parallel=2)
    assert RunFolder(every[0].folder).passport()["finished"]


def test_the_report_says_how_far_others_are_behind():
    found = [Trained(("a.b=1",), (1.0, 2.0)), Trained(("a.b=2",), (1.5, 2.7))]
    said = report(found, "gpt2: a.b=1,2")
    rows = said.sections[0].blocks[0].rows
    assert rows[1][:4] == ("a.b=1", "1.5000", "0.7071", "-")
    assert rows[2][:4] == ("a.b=2", "2.1000", "0.8485", "+0.6000")
    assert said.lead == ["Best: a.b=1, 1.5000 nats per guess on validation text, mean of 2 seeds."]
    assert said.values["runs"][1] == {
        "settings": ["a.b=2"],
        "valid": 2.1,
        "spread": pytest.approx(0.848528),
        "seeds": [1.5, 2.7],
    }


@pytest.mark.parametrize(("alone", "all_threads", "together"), [(10.0, 15.0, 2), (10.0, 25.0, 1)])
def test_how_many_run_in_parallel_is_measured(monkeypatch, capsys, alone, all_threads, together):
    monkeypatch.setattr(parallel, "cores", lambda: 2)
    assert parallel.fastest(lambda threads: alone if threads == 1 else all_threads) == together
    assert ("one to a core" in capsys.readouterr().err) == (together == 2)


def test_no_more_than_fit_and_none_for_little_work(monkeypatch, capsys):
    monkeypatch.setattr(parallel, "cores", lambda: 8)
    assert parallel.fastest(lambda threads: 10.0, most=3) == 3
    assert "3 runs in parallel" in capsys.readouterr().err
    assert parallel.fastest(lambda threads: 10.0, most=1) == 1
    assert parallel.fastest(lambda threads: 10.0, work=599.0) == 1
    assert parallel.fastest(lambda threads: 10.0, work=601.0) == 8


def test_the_pace_is_of_real_steps(stores, tmp_path):
    job = training_jobs("gpt2", "laptop", SMALL, [], [0], tmp_path)[0]
    assert parallel.tokens_a_second(job.trial(stores["byte_bpe"], Hardware(prefetch=False)).loop, 1) > 0


@pytest.mark.thorough
def test_several_recipes_are_scored_on_test_and_counts_are_made_once(stores, tmp_path):
    names = ["bigram", "nplm:laptop", "rnnlm:laptop"]
    every = arm_jobs(named_arms(names), ["training.evaluate=1.0"], "2", range(2), tmp_path / "ladder")
    folders = ["bigram_seed-0", "nplm_seed-0", "nplm_seed-1", "rnnlm_seed-0", "rnnlm_seed-1"]
    assert [job.folder.name for job in every] == folders
    assert {job.recipe.training.budget for job in every if job.arm != "bigram"} == {"2"}
    found = {one.arm: one for one in training_study(every, stores["byte_bpe"], parallel=1)}
    assert {name: len(one.seeds) for name, one in found.items()} == {"bigram": 1, "nplm": 2, "rnnlm": 2}
    for job in every:
        model = TrainedModel.opened(job.folder)
        wanted = score_corpus(model, Corpus(stores["byte_bpe"], "test", limit=TEST_BYTES)).score.bits_per_byte
        assert wanted == pytest.approx(found[job.arm].seeds[job.seed])
    assert measure_of(every, stores["byte_bpe"]).unit == "bits per byte of 200 kB of test text"
    rows = report(list(found.values()), "ladder", "bits").sections[0].blocks[0].rows
    assert rows[0][:2] == ("arm", "test")
    assert {len(row) for row in rows} == {len(rows[0])}


ENCODER = ["network.layers=1", "network.width=16", "network.heads=2", "network.context=32", "training.evaluate=1.0"]


@pytest.mark.thorough
def test_encoders_are_compared_on_the_same_hidden_tokens(stores, tmp_path):
    """Whatever each of them hides while it learns: the number is that of `evaluate --hidden`."""
    arms = {
        "dynamic": Arm("roberta:laptop"),
        "static": Arm("roberta:laptop", ["batches.copies=1", "objective.rate=0.4"], "2"),
        "both": Arm("gpt-bert:laptop", ["network.qk_norm=false"]),
    }
    every = arm_jobs(arms, [*ENCODER, "training.batch_size=4"], "4", [0], tmp_path / "masks")
    assert {job.arm: job.recipe.training.budget for job in every} == {"dynamic": "4", "static": "2", "both": "4"}
    assert {job.arm: getattr(job.recipe.batches, "copies", None) for job in every}["static"] == 1
    store = stores["tagged"]
    assert measure_of(every, store).unit == "nats per hidden token, 15% of 200 kB of test text"
    found = {one.arm: one.seeds[0] for one in training_study(every, store, parallel=1)}
    models = {job.arm: TrainedModel.opened(job.folder) for job in every}
    wanted = hidden_report(models, Corpus(store, "test"), 0.15).data()
    assert found == pytest.approx({arm: wanted[arm]["nats"] for arm in arms}, rel=1e-6)
    assert len(set(found.values())) == 3


def test_arms_that_cannot_be_asked_the_same_are_refused_before_they_learn(tmp_path):
    for words, why in (
        (["gpt2:laptop", "bert:laptop"], "gpt2, bert do not all do the same"),
        (["bert:laptop", "electra:laptop"], "electra does neither"),
    ):
        with pytest.raises(Fault, match=why):
            arm_jobs(named_arms(words), [], "4", [0], tmp_path)
    jobs = arm_jobs(named_arms(["gpt2:laptop", "gpt-bert:laptop"]), [], "4", [0], tmp_path)
    assert measured(jobs) == "score", "gpt-bert does both"
    assert list(named_arms(["gpt2:laptop", "gpt2:small", "bert"])) == ["gpt2-laptop", "gpt2-small", "bert"]


def test_the_difference_of_two_recipes_has_an_interval_over_documents() -> None:
    draw = np.random.default_rng(0)
    sizes = draw.integers(500, 1500, 40).astype(float)

    def trained(name: str, bits: np.ndarray, seeds: tuple[float, ...] = (2.0,)) -> Trained:
        return Trained((), seeds, name, ("1", "1", "1"), np.stack([bits, sizes], 1))

    bits = sizes * draw.normal(2.0, 0.3, 40)
    first, second = trained("a", bits), trained("b", bits + sizes * draw.normal(0.1, 0.05, 40), (2.1,))
    low, high = over_documents(second, first)
    assert 0.05 < low < 0.1 < high < 0.15
    alike = trained("c", bits + sizes * draw.normal(0.0, 0.05, 40))
    low, high = over_documents(alike, first)
    assert low < 0 < high  # the control
    assert math.isnan(over_documents(replace(second, documents=None), first)[0])
    few = [replace(one, documents=one.documents[:9]) for one in (second, first)]
    assert math.isnan(over_documents(*few)[0])
    (apart,) = report([first, second], "x", "bits per byte of 200 kB of test text").data()["apart"]
    assert (apart["model"], apart["minus"], apart["unit"], apart["lower_is_better"]) == (
        "b",
        "a",
        "bits per byte",
        True,
    )
    assert apart["difference"] == pytest.approx(0.1)
    assert apart["over_seeds"] == [None, None]
    assert apart["over_examples"][0] > 0.05
