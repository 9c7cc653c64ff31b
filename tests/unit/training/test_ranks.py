"""Ranks: one process answers for itself; several refuse what they cannot share."""

from __future__ import annotations

import itertools
import os
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

from foreword.basics.cores import cores
from foreword.basics.messages import Fault
from foreword.training.processes import call_on_ranks, meeting
from foreword.training.ranks import Ranks, Replicas, gather, local, share, whole
from tests.ranks import on_ranks
from tests.tiny import tiny


def test_alone_every_answer_is_ones_own():
    ranks = Ranks()
    assert ranks.total({"tokens": 3, "pairs": 1}) == {"tokens": 3, "pairs": 1}
    assert (ranks.least(7), ranks.first("x"), ranks.agree(True), ranks.shared_clock(True)[1]) == (7, "x", True, True)
    rows = torch.arange(6).view(3, 2)
    assert ranks.own_rows(rows) is ranks.all_rows(rows) is rows
    for same in (whole, local, lambda one: gather(one, rows), lambda one: share(one, rows)):
        assert same(rows) is rows


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((True, {"batch_size": 6}), "training.batch_size 6 cannot be shared by 4 processes"),
        ((True, {"batch_size": 12, "ramp.start": 6}), "training.ramp.start 6 cannot be shared by 4 processes"),
        ((False, {"batch_size": 12}), "trained by one process, not by 4"),
    ],
)
def test_what_cannot_be_shared_is_refused(given, told):
    Replicas(0, 4).check_shares(True, {"batch_size": 12, "ramp.start": 8})
    with pytest.raises(Fault, match=told):
        Replicas(0, 4).check_shares(*given)


def test_sizes_are_those_of_all_batches_there_will_be():
    plain = tiny("gpt2", "training.batch_size=12").training
    assert plain.batch_sizes() == {"batch_size": 12}
    phased = "training.phases=[{ length = 16, until = 5, batch_size = 24 }, { length = 16, until = 6 }]"
    assert tiny("bert", phased).training.batch_sizes() == {"batch_size": 8, "phases.0.batch_size": 24}
    grown = tiny("gpt3", "training.batch_size=12").training.batch_sizes()
    assert grown == {"batch_size": 12, "ramp.start": 2}


def test_a_launcher_waits_for_a_step_and_a_checkpoint_after_ctrl_c(monkeypatch):
    """torch kills after 30 seconds what was asked to end and has not."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    found = {}

    def launcher(config, entry):
        found.update(config=config, threads=os.environ["OMP_NUM_THREADS"])
        return lambda *given: {0: entry(*given)}

    monkeypatch.setattr("torch.distributed.launcher.api.elastic_launch", launcher)
    assert call_on_ranks(1, abs, -3) == [3]
    assert found["config"].shutdown_timeout == 300
    assert found["threads"] == str(cores())
    assert "OMP_NUM_THREADS" not in os.environ


def test_processes_that_are_started_again_do_not_meet_the_dead():
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)

    def start(order: list[int]) -> str:
        """All ranks, in this order, a moment apart."""

        def arrive(rank: int) -> str:
            time.sleep(0.02 * order.index(rank))
            client = dist.TCPStore("127.0.0.1", store.port, is_master=False)
            return meeting(client, rank, 3, timedelta(seconds=20))

        with ThreadPoolExecutor(3) as threads:
            (name,) = set(threads.map(arrive, range(3)))
        return name

    store.set("here/2", "somebody who never came further")
    assert len({start(list(order)) for order in itertools.permutations(range(3))}) == 6


def test_a_process_that_nobody_answers_does_not_wait_for_ever():
    for rank in (0, 1):
        store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        store.set("here/1", "one of the dead")
        with pytest.raises((RuntimeError, dist.DistError)):
            meeting(store, rank, 2, timedelta(seconds=0.2))


def test_three_processes_count_agree_and_share_rows_unevenly(tmp_path):
    rows = torch.arange(14).view(7, 2)

    def work(rank):
        ranks = Replicas(rank, 3)
        own = ranks.own_rows(rows)
        return {
            "total": ranks.total({"a": rank, "b": 10}),
            "least": ranks.least(5 - rank),
            "first": ranks.first({"who": rank}),
            "agree": ranks.agree(rank == 0),
            "asked": ranks.shared_clock(rank == 2)[1],
            "work": ranks.shared_clock(False, cores=True)[0] >= ranks.total({"work": 0.0})["work"],
            "own": len(own),
            "all": ranks.all_rows(own).tolist(),
        }

    found = on_ranks(3, work, tmp_path / "group")
    assert [one.pop("own") for one in found] == [2, 2, 3]
    said = {"total": {"a": 3, "b": 30}, "least": 3, "first": {"who": 0}, "agree": True, "asked": True, "work": True}
    assert found == [said | {"all": rows.tolist()}] * 3


def test_ranks_that_differ_are_named(tmp_path):
    def work(rank):
        with pytest.raises(Fault) as told:
            Replicas(rank, 2).check_same({"the code": "same", "the text": str(rank)})
        return str(told.value)

    first, second = on_ranks(2, work, tmp_path / "group")
    assert first == second
    assert "on: the text (rank 1)." in first
