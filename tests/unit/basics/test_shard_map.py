"""A map over shards: the same results in the same order whoever works, and faults that are told together."""

from __future__ import annotations

import os
import socket
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from foreword.basics import cluster
from foreword.basics.messages import Fault, Faults, RunFailed
from foreword.basics.shards import Pool, Workers


def slow_first(number: int) -> int:
    time.sleep(0.3 if number == 0 else 0)
    return number * number


@dataclass(frozen=True)
class Loading:
    """Notes in a file that it has loaded something, once for each worker."""

    note: Path

    @cached_property
    def loaded(self) -> int:
        with open(self.note, "a") as file:
            file.write(f"{os.getpid()}\n")
        return os.getpid()

    def __call__(self, number: int) -> int:
        assert self.loaded == os.getpid(), "it was not sent about after it was loaded"
        return number


def wrong(number: int) -> int:
    if number % 2:
        raise Fault(f"{number} is odd.", "Give another.", "a file")
    return number


def dies(number: int) -> int:
    if number == 3:
        os._exit(1)
    return number


def full(number: int) -> int:
    raise RunFailed("the disk is full.")


def test_alone_the_shards_are_read_one_by_one() -> None:
    read: list[int] = []

    def shards():
        for number in range(3):
            read.append(number)
            yield number

    with Workers(1).start() as pool:
        results = pool.map(slow_first, shards())
        assert next(results) == 0
        assert read == [0]
        assert list(results) == [1, 4]


def test_somebody_has_to_work() -> None:
    with pytest.raises(Fault, match="--workers 0: at least one"):
        Workers(0).start()


@pytest.mark.thorough
def test_results_of_processes_come_in_the_order_of_the_shards(tmp_path: Path) -> None:
    with Pool(3) as pool:
        assert list(pool.map(slow_first, range(40))) == [number * number for number in range(40)]
        assert list(pool.map(Loading(tmp_path / "note"), range(40))) == list(range(40))
        workers = (tmp_path / "note").read_text().split()
        assert len(workers) == len(set(workers)), "each loads once"
        assert list(pool.map(slow_first, [])) == []


@pytest.mark.thorough
def test_faults_come_back_whole_and_together() -> None:
    with Pool(2) as pool:
        with pytest.raises(Faults) as caught:
            list(pool.map(wrong, range(20)))
        told = [(fault.what, fault.do, fault.where) for fault in caught.value.faults]
        assert ("1 is odd.", "Give another.", "a file") in told
        assert ("3 is odd.", "Give another.", "a file") in told
        with pytest.raises(RunFailed, match="the disk is full"):
            list(pool.map(full, range(4)))


@pytest.mark.thorough
def test_a_process_that_dies_is_a_sentence() -> None:
    with Pool(2) as pool:
        pool.executors()
        pool.own[1].shutdown()  # the thread, so that a process, and not this one, is given the shard that kills
        pool.own[1] = pool.own[0]
        with pytest.raises(RunFailed, match="a worker process died"):
            list(pool.map(dies, range(6)))


def test_without_ray_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(Fault, match=r"pip install 'foreword\[cluster\]'"):
        Workers(2, "auto").start()


@pytest.mark.parametrize("address", ["nonsense", "ray://head", "head:port", ":6379"])
def test_what_is_no_address_is_said(address: str) -> None:
    with pytest.raises(Fault, match="is not an address"):
        cluster._check(address)


@pytest.mark.parametrize("address", ["ray://127.0.0.1:1", "127.0.0.1:1", "ray://127.0.0.1:99999999"])
def test_where_nobody_answers_is_said_at_once(address: str) -> None:
    with pytest.raises(Fault, match="no Ray cluster can be reached") as caught:
        cluster._check(address)
    assert caught.value.code == 2


@pytest.mark.thorough
def test_what_answers_has_to_be_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "HEALTHY", 2.0)
    with socket.create_server(("127.0.0.1", 0)) as other:
        with pytest.raises(Fault, match="is not the head of a Ray cluster"):
            cluster._check(f"127.0.0.1:{other.getsockname()[1]}")
