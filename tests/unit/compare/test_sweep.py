import json

import pytest

from foreword.basics.messages import Fault, RunFailed
from foreword.compare import sweep
from foreword.runs.folder import RunFolder

SMALL = ["network.layers=1", "network.width=16", "network.heads=2", "network.context=16", "training.batch_size=4",
         "training.budget=4", "training.evaluate=1.0"]


@pytest.mark.thorough
def test_every_combination_runs_with_every_seed_and_the_best_comes_first(stores, tmp_path):
    every = sweep.members("gpt2", "laptop", SMALL, ["training.optimizer.learning_rate=1e-3,1e-9"], 2)
    assert [(member.values, member.seed) for member in every] == [
        (("training.optimizer.learning_rate=1e-3",), 0), (("training.optimizer.learning_rate=1e-3",), 1),
        (("training.optimizer.learning_rate=1e-9",), 0), (("training.optimizer.learning_rate=1e-9",), 1)]
    found = sweep.sweep(every, stores["byte_bpe"], tmp_path / "sweep", at_once=2)
    assert [one["settings"][0][-4:] for one in found] == ["1e-3", "1e-9"], "who hardly learns comes last"
    assert all(len(one["seeds"]) == 2 and one["spread"] > 0 for one in found)
    for member in every:
        run = RunFolder(tmp_path / "sweep" / member.folder)
        assert run.passport()["finished"]
        assert run.recipe().training == member.recipe.training
    assert json.loads((tmp_path / "sweep" / "sweep.json").read_text())["runs"] == found
    again = sweep.sweep(every, stores["byte_bpe"], tmp_path / "sweep", at_once=1)
    assert again == found, "what is finished is not done again"


@pytest.mark.thorough
def test_a_seed_of_a_sweep_is_the_run_one_would_have_made(stores, tmp_path):
    from foreword.runs.train import train
    every = sweep.members("gpt2", "laptop", SMALL, [], 2)
    found = sweep.sweep(every, stores["byte_bpe"], tmp_path / "sweep", at_once=2)
    alone = train(every[1].recipe, stores["byte_bpe"], tmp_path / "alone")
    assert alone.passport()["best"]["valid"] == pytest.approx(found[0]["seeds"][1], abs=1e-6)


def test_bad_sweeps_are_found_before_anything_runs(stores, tmp_path):
    with pytest.raises(Fault, match="section.key=value,value"):
        sweep.members("gpt2", "laptop", SMALL, ["training.clip"], 1)
    with pytest.raises(Fault, match="there is no setting 'klip'"):
        sweep.members("gpt2", "laptop", SMALL, ["training.klip=1,2"], 1)
    with pytest.raises(Fault, match="at least one"):
        sweep.members("gpt2", "laptop", SMALL, [], 0)


@pytest.mark.thorough
def test_a_run_that_fails_is_named_and_the_others_are_kept(stores, tmp_path):
    every = sweep.members("gpt2", "laptop", SMALL, ["training.optimizer.learning_rate=1e-3,1e12"], 1)
    with pytest.raises(RunFailed, match="1 of 2 runs failed: learning-rate-1e12_seed-0"):
        sweep.sweep(every, stores["byte_bpe"], tmp_path / "sweep", at_once=2)
    assert RunFolder(tmp_path / "sweep" / every[0].folder).passport()["finished"]


@pytest.mark.parametrize(("alone", "all_threads", "together"), [(10.0, 15.0, 2), (10.0, 25.0, 1)])
def test_how_many_run_at_once_is_measured(monkeypatch, capsys, alone, all_threads, together):
    monkeypatch.setattr(sweep, "cores", lambda: 2)
    assert sweep.fastest(lambda threads: alone if threads == 1 else all_threads) == together
    assert ("one to a core" in capsys.readouterr().err) == (together == 2)


def test_no_more_than_fit_and_none_for_little_work(monkeypatch, capsys):
    monkeypatch.setattr(sweep, "cores", lambda: 8)
    assert sweep.fastest(lambda threads: 10.0, most=3) == 3
    assert "3 runs at a time" in capsys.readouterr().err
    assert sweep.fastest(lambda threads: 10.0, most=1) == 1
    assert sweep.fastest(lambda threads: 10.0, work=599.0, worth=60.0) == 1
    assert sweep.fastest(lambda threads: 10.0, work=601.0, worth=60.0) == 8


def test_the_pace_is_of_real_steps(stores):
    recipe = sweep.members("gpt2", "laptop", SMALL, [], 1)[0].recipe
    assert sweep.paced(sweep._first(recipe, stores["byte_bpe"]), 1) > 0
