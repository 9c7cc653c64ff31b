"""Runs in parallel: what one after the other finds, what is lost is saved, and nobody is left behind."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from foreword.basics.messages import Diverged, Fault
from foreword.compare import parallel
from foreword.compare.contenders import Plan
from foreword.compare.parallel import JobRunner
from foreword.compare.study import FinetuneJob, Study, study
from foreword.runs.folder import RunFolder
from foreword.tasks.labelled_task import LabelledTask
from foreword.training import memory
from foreword.training.hardware import Hardware
from foreword.training.ranks import Replicas
from foreword.transfer.tuning import FinetuneSettings
from tests.labelled import folder, task

QUICK = FinetuneSettings(epochs=2, batch_size=16, learning_rate=3e-3)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder("gpt2", tmp_path_factory.mktemp("base") / "gpt2")


def found(where: Study) -> list[tuple[object, ...]]:
    return [
        (row.name, row.labels, row.tests, tuple(one.answers for one in row.seeds), row.over_examples)
        for row in where.results
    ]


@pytest.mark.thorough
def test_in_parallel_is_as_one_after_the_other(base: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    whole, before = task("classify", 48), torch.get_num_threads()
    plan = Plan(2, compare=("scratch", "shuffled-labels"))
    try:
        torch.set_num_threads(1)  # as those side by side: then not a bit differs
        alone = study(base, whole, tmp_path / "alone", QUICK, replace(plan, jobs=1))
        beside = study(base, whole, tmp_path / "beside", QUICK, replace(plan, jobs=2))
    finally:
        torch.set_num_threads(before)
    assert found(alone) == found(beside)
    assert beside.kept is not None
    assert beside.kept.name == alone.kept.name  # type: ignore[union-attr]
    assert len(list((tmp_path / "beside").rglob("model/config.json"))) == 1, "only the best is kept"
    assert not list((tmp_path / "beside").rglob("*.log")), "what finished has nothing left to say"
    assert found(study(base, whole, tmp_path / "beside", QUICK, replace(plan, jobs=2))) == found(beside)


def jobs(base: Path, where: Path, *rates: float) -> list[FinetuneJob]:
    return [
        FinetuneJob(base, where / f"seed-{seed}", replace(QUICK, seed=seed, learning_rate=rate), seed)
        for seed, rate in enumerate(rates)
    ]


@pytest.mark.thorough
def test_a_run_whose_loss_is_no_number_says_so_and_the_others_go_on(base: Path, tmp_path: Path) -> None:
    runs, some = JobRunner(task("classify", 48), Hardware()), jobs(base, tmp_path, 1e30, 3e-3)
    try:
        assert runs.start(some, 2) == 2
        with pytest.raises(Diverged):
            runs.take(some[0])
        assert runs.take(some[1]).passport()["finished"]
        assert "loss" in (tmp_path / "seed-0.log").read_text(encoding="utf-8")
    finally:
        runs.close()
    assert JobRunner(task("classify", 48), Hardware()).start(some, 2) == 0, "nothing is left to do"


@pytest.mark.thorough
def test_when_it_ends_early_what_is_under_way_is_saved(base: Path, tmp_path: Path) -> None:
    long = [replace(job, how=replace(job.how, epochs=5000.0)) for job in jobs(base, tmp_path, 3e-3, 3e-3, 3e-3)]
    runs = JobRunner(task("classify", 48), Hardware())
    runs.start(long, 2)
    while not all(RunFolder(job.folder).metrics() for job in long[:2]):
        time.sleep(0.1)
    runs.close()
    for job in long[:2]:
        assert RunFolder(job.folder).latest() is not None
        assert not RunFolder(job.folder).passport()["finished"]
    assert not long[2].folder.exists(), "no other is begun"


def test_little_work_is_done_here(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: 8)
    whole: LabelledTask = task("classify", 48)
    asked = []
    monkeypatch.setattr(parallel, "tokens_a_second", lambda session, threads: asked.append(threads) or 1e9)
    assert JobRunner(whole, Hardware())._fastest(jobs(base, tmp_path, 1e-3, 1e-3)) == 1
    assert asked == [8]
    monkeypatch.setattr(parallel, "tokens_a_second", lambda session, threads: 1.0)
    assert JobRunner(whole, Hardware())._fastest(jobs(base, tmp_path, 1e-3, 1e-3)) == 8
    monkeypatch.setattr(memory, "free_memory", lambda device: 3 * memory.PROCESS + 1000)
    assert JobRunner(whole, Hardware())._fastest(jobs(base, tmp_path, 1e-3, 1e-3)) == 2
    assert JobRunner(whole, Hardware())._fastest(jobs(base, tmp_path, 1e-3)) == 1
    assert not tmp_path.joinpath("seed-0").exists()


def test_runs_that_several_processes_train_are_not_taken_in_parallel() -> None:
    both = JobRunner(None, Hardware(ranks=Replicas(0, 2)))
    assert both.start([]) == both.start([], 1) == 1
    for runs, wanted in ((both, 2), (JobRunner(None, both.hardware, "auto"), None)):
        with pytest.raises(Fault, match="each run of this study is trained by all 2 processes, one run after another"):
            runs.start([], wanted)
