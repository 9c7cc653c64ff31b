"""Processes of one training: joined where torchrun started them, started by torch's own launcher, their faults told once."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from foreword.basics import progress
from foreword.basics.cores import cores
from foreword.basics.messages import Fault, Interrupted, RunFailed
from foreword.basics.processes import launched
from foreword.basics.shards import Pool, outcome
from foreword.training.ranks import Ranks, Replicas, Shards

T = TypeVar("T")
REACHING = timedelta(seconds=40)  # until an address that does not answer is given up
WAITING = timedelta(minutes=30)  # for processes that are at work on something else
TELLING = timedelta(seconds=2)  # that the first rank has to tell of a fault that all of them meet
SAVING = timedelta(
    minutes=5
)  # for a step and a checkpoint after Ctrl-C; torch kills after 30 seconds what has not ended
_store: Any = None  # what all processes can read and write beside the group, once it is reached
_ranks: Ranks | None = None


def rank() -> int:
    return int(os.environ.get("RANK", "0"))


def join(shard: bool = False, cuda: bool = False) -> Ranks:
    """The ranks that this process is one of. Only the first one speaks."""
    global _ranks
    if not launched():
        if shard:
            raise Fault(
                "--shard shares the weights out among several processes, and there is one.",
                "Give --processes N, or start it with torchrun.",
            )
        return Ranks()
    if _ranks is None:
        import torch.distributed as dist

        world, neighbours = int(os.environ["WORLD_SIZE"]), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        backend = "cpu:gloo,cuda:nccl" if cuda else "gloo"
        try:
            group = dist.PrefixStore("group", _reached())
            dist.init_process_group(backend, store=group, rank=rank(), world_size=world, timeout=WAITING)
        except (dist.DistError, RuntimeError) as error:
            raise _unreachable(error) from error
        if rank():
            progress.silence()
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        _ranks = (Shards if shard else Replicas)(rank(), world, neighbours)
    return _ranks


def leave() -> None:
    """The group is over; whoever comes later joins a new one."""
    global _ranks, _store
    if _ranks is not None:
        import torch.distributed as dist

        dist.destroy_process_group()
    _ranks = _store = None


def _reached(waiting: timedelta = WAITING) -> Any:
    global _store
    if _store is None:
        import torch.distributed as dist

        kept = next(dist.rendezvous("env://", timeout=REACHING))[0]
        _store = dist.PrefixStore(meeting(kept, rank(), int(os.environ["WORLD_SIZE"]), waiting), kept)
    return _store


def meeting(store: Any, rank: int, world: int, waiting: timedelta) -> str:
    """A name that the processes of this start share, and those of an earlier one did not have.

    A launcher that starts processes again gives them the store of those that died, with the addresses of the dead in it. Its
    count of restarts does not tell starts apart: every machine has its own. So the first process answers each of the others.
    """
    own, until = uuid.uuid4().hex, time.monotonic() + waiting.total_seconds()
    if rank:
        store.set(f"here/{rank}", own)
        store.wait([f"first/{own}"], waiting)
        first = store.get(f"first/{own}").decode()
        store.set(f"{first}/{rank}", "met")
        return first
    for other in range(1, world):
        store.wait([f"here/{other}"], waiting)
        while not store.check([f"{own}/{other}"]):  # until then, who is here may be one of the dead
            if time.monotonic() > until:
                raise RuntimeError(f"rank {other} did not come")
            store.set(f"first/{store.get(f'here/{other}').decode()}", own)
            time.sleep(0.01)
    return own


class Unreachable(Fault):
    """The other processes could not be met, so there is nobody to agree with on who tells it."""


def _unreachable(error: Exception) -> Unreachable:
    address = f"{os.environ.get('MASTER_ADDR', '?')}:{os.environ.get('MASTER_PORT', '?')}"
    return Unreachable(
        f"the processes of this training could not meet at {address}: {str(error).splitlines()[0]}",
        "MASTER_ADDR and MASTER_PORT must name a machine that all others reach; torchrun sets them.",
    )


def tell(fault: Fault) -> int:
    """Print a fault that ends this process, unless another process has told what ends them all; the code to end with."""
    import torch.distributed as dist

    own = f"{rank()} {fault.code}"
    try:
        if isinstance(fault, Unreachable):
            raise fault
        store = _reached(REACHING)
        if rank():  # what all of them met is told by the first
            with contextlib.suppress(dist.DistError):
                store.wait(["told"], TELLING)
        announced = store.compare_set("told", "", own).decode()
    except (dist.DistError, RuntimeError, OSError, Unreachable):  # the store went with whoever kept it
        announced = own
    if announced == own:
        print(f"rank {rank()}: {fault}" if rank() else fault, file=sys.stderr, flush=True)
    with contextlib.suppress(
        dist.DistError, RuntimeError, OSError
    ):  # the first may keep the store: it stays until all have read
        if _store is not None and rank():
            _store.set(f"heard/{rank()}", "")
        elif _store is not None:
            _store.wait([f"heard/{other}" for other in range(1, int(os.environ["WORLD_SIZE"]))], TELLING)
    return int(announced.split()[1])


def gone(error: BaseException) -> RunFailed | None:
    """What to say where an error means that another process is gone."""
    if _ranks is None or not _ranks.lost(error):
        return None
    return RunFailed(
        "another process of this training is gone.",
        "The same command goes on from the last checkpoint, with as many processes as there are then.",
    )


class RankPool(Pool):
    """The processes that a launcher started, as workers: each takes its share of the shards, and all have every result."""

    def __init__(self, ranks: Ranks):
        super().__init__(ranks.world)
        self.ranks = ranks

    def map(self, function: Callable[[Any], T], shards: Iterable[Any], here: bool = False) -> Iterator[T]:
        own = [
            outcome(function, shard) if number % self.ranks.world == self.ranks.rank else None
            for number, shard in enumerate(shards)
        ]
        for number, ranks in enumerate(zip(*self.ranks.every(own))):
            result, fault = ranks[number % self.ranks.world]
            if fault:
                raise fault
            yield result


def launch(processes: int, arguments: Sequence[str]) -> None:
    """Run this program with these arguments in so many processes, as torchrun does, and end as they end."""
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    try:
        _elastic(processes, sys.executable, "-m", "foreword", *arguments)
    except ChildFailedError as error:
        code = error.get_first_failure()[1].exitcode
        raise SystemExit(code if code > 0 else RunFailed.code) from None
    except SignalException:
        raise SystemExit(Interrupted.code) from None


def call_on_ranks(processes: int, function: Callable[..., T], *given: object) -> list[T]:
    """What a function returns on each of so many processes of one group."""
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    try:
        return list(_elastic(processes, function, *given).values())
    except ChildFailedError as error:
        raise RunFailed(f"one of {processes} processes ended: {error.get_first_failure()[1].message}") from error


def _elastic(processes: int, entry: Any, *given: object) -> dict[int, Any]:
    """torch's own launcher, on this machine alone."""
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
    given_here = {
        "OMP_NUM_THREADS": str(max(1, cores() // processes)),
        "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": str(int(SAVING.total_seconds())),
    }
    added = {name: value for name, value in given_here.items() if not os.environ.get(name)}
    os.environ.update(added)
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        monitor_interval=0.1,
        start_method="spawn",
    )
    try:
        return elastic_launch(config, entry)(*given)
    finally:
        for name in added:
            del os.environ[name]
