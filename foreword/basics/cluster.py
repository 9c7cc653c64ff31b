"""Work on a Ray cluster. Ray starts the workers, watches them, and gives the shard of one that died to another."""

from __future__ import annotations

import importlib
import logging
import os
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from foreword.basics.cores import cores
from foreword.basics.messages import Fault, RunFailed
from foreword.basics.progress import say
from foreword.basics.shards import Pool, Shard, outcome
from foreword.basics.version import VERSION

LOCAL, CLIENT = "auto", "ray://"
ANSWER, HEALTHY = 10.0, 40.0  # seconds for a machine to answer, and for Ray on it
LOST = "Text and output have to be in a folder that every machine of the cluster has under the same path."


class RayPool(Pool):
    """The workers of a cluster: one started here ("auto"), one that is joined, or the one this process is in already."""

    def __init__(self, address: str, number: int | None = None):
        self.ray = _library()
        self.joined = not self.ray.is_initialized()
        if self.joined:
            _join(self.ray, address, number)
        machines = [node for node in self.ray.nodes() if node["Alive"]]
        super().__init__(number or max(1, int(self.ray.cluster_resources().get("CPU", 1))))
        self.tasks = _Tasks(self.ray)
        say(f"Ray: {_several(self.number, 'worker')} on {_several(len(machines), 'machine')}")

    @property
    def others(self) -> bool:
        return True

    def executors(self) -> list[Executor]:
        return [self.tasks] * self.number

    def begin(
        self, function: Callable[[Shard], Any], shards: Iterable[Shard]
    ) -> list[Future[tuple[Any, Fault | None]]]:
        """Futures that may be asked in any order; no more shards are under way than there are workers."""
        call, given = self.carried(function)

        def work(shard: Shard) -> tuple[Any, Fault | None]:
            try:
                return self.tasks.submit(call, *given, shard).result()
            except self.broken() as error:
                raise self.died() from error

        self.waiting = ThreadPoolExecutor(self.number)
        return [self.waiting.submit(work, shard) for shard in shards]

    def interrupt(self, seconds: float) -> None:
        """As Ctrl-C for all that is under way; the others are not begun."""
        self.waiting.shutdown(wait=False, cancel_futures=True)
        self.tasks.interrupt(seconds)

    def carried(self, function: Callable[[Any], Any]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        # in a list it is not unpacked for every shard: a worker that does not know it yet asks for it
        return attempt, ([self.ray.put(_Carried(function, os.getcwd(), VERSION))],)

    def broken(self) -> tuple[type[Exception], ...]:
        errors = self.ray.exceptions
        return (
            errors.WorkerCrashedError,
            errors.OutOfMemoryError,
            errors.ObjectLostError,
            errors.NodeDiedError,
            ConnectionError,
        )

    def died(self) -> Fault:
        return RunFailed(
            "workers of the cluster died again and again, perhaps for want of memory, or the cluster is gone.",
            "Give the same command again, with fewer --workers if memory is short; it goes on from there.",
        )

    def close(self) -> None:
        if self.joined:
            self.ray.shutdown()


class _Tasks(Executor):
    """Every call is a task of one core. Ray tries it again if its worker dies, three times by default."""

    def __init__(self, ray: Any):
        self.ray, self.known = ray, dict[Callable[..., Any], Any]()
        self.running: dict[Future[Any], Any] = {}

    def submit(self, call: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        if call not in self.known:
            self.known[call] = self.ray.remote(call)
        task = self.known[call].remote(*given, **named)
        future: Future[Any] = task.future()
        self.running[future] = task
        future.add_done_callback(self.running.pop)
        return future

    def interrupt(self, seconds: float) -> None:
        left = dict(self.running)
        for task in left.values():
            self.ray.cancel(task)
        for future in wait(left, seconds).not_done:
            future.set_exception(ConnectionError("it did not end in time"))  # nobody may wait for it any longer


def _library() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise Fault("--cluster needs the package ray.", "Install it:  pip install 'foreword[cluster]'") from error


def _join(ray: Any, address: str, number: int | None) -> None:
    quiet = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.ERROR}
    if address == LOCAL:
        ray.init(address="local", num_cpus=number or cores(), include_dashboard=False, **quiet)
        return
    _check(address)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what it warns of is said below
            ray.init(address, **quiet)
    except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
        raise _unreachable(address, f"{type(error).__name__}: {str(error).strip().splitlines()[0]}") from error


def _check(address: str) -> None:
    """Ray itself waits for minutes, and then ends the process."""
    host, colon, port = address.removeprefix(CLIENT).rpartition(":")
    if not colon or not host or not port.isdecimal():
        raise Fault(
            f"--cluster {address}: this is not an address.",
            "Give auto (a cluster on this machine), ray://HEAD:10001, or HEAD:6379 on a machine of the cluster.",
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER).close()
    except (OSError, OverflowError) as error:
        raise _unreachable(address, getattr(error, "strerror", None) or str(error)) from error
    if not address.startswith(CLIENT):
        asked = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
        try:
            healthy = subprocess.run(asked, capture_output=True, timeout=HEALTHY, check=False).returncode == 0
        except subprocess.TimeoutExpired:
            healthy = False
        if not healthy:
            raise _unreachable(address, "what answers there is not the head of a Ray cluster")


def _unreachable(address: str, why: str) -> Fault:
    return Fault(
        f"--cluster {address}: no Ray cluster can be reached there ({why}).",
        "Start one:  ray start --head  (its output names the address); or one on this machine:  --cluster auto",
    )


def _several(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


# --- in the worker ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Carried:
    """A function, and what has to be the same where it works."""

    function: Callable[[Any], Any]
    folder: str
    version: str

    def unpack(self) -> Callable[[Any], Any]:
        if self.version != VERSION:
            raise RunFailed(
                f"{socket.gethostname()} has foreword {VERSION}, and {self.version} gave it work.",
                "Install the same version on all machines of the cluster.",
            )
        try:
            os.chdir(self.folder)  # names of files may be relative to it
        except OSError as error:
            raise RunFailed(f"{socket.gethostname()} does not have the folder {self.folder}.", LOST) from error
        return self.function


_known: dict[str, Callable[[Any], Any]] = {}  # the function of the latest map


def attempt(place: list[Any], shard: Any) -> tuple[Any, Fault | None]:
    """What `shards.attempt` does, with a function that Ray holds."""
    key = place[0].hex()
    try:
        if key not in _known:
            carried = importlib.import_module("ray").get(place[0])
            _known.clear()
            _known[key] = carried.unpack()
    except Fault as fault:
        return None, fault
    return outcome(_known[key], shard)
