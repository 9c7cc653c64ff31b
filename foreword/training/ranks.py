"""Ranks: the one place where processes that train one model agree on numbers, and share out rows and weights.

Alone, every answer is one's own (`Ranks`). Several processes hold the same weights and add up their gradients (`Replicas`:
torch's DistributedDataParallel), or hold a share of the weights each (`Shards`: FSDP2, a block at a time).
"""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from foreword.basics.files import leave_to_another
from foreword.basics.messages import Fault, RunFailed
from foreword.parts.block import layers
from foreword.parts.ngrams import row_tables

T = TypeVar("T")
BUCKET = 256  # MB of gradients in one message: on a CPU few, large messages are faster than overlap


class Ranks:
    """What all processes count together, and what they decide as one. Alone, every answer is one's own."""

    rank, world = 0, 1
    neighbours = 1  # processes on this machine, which share its memory

    # --- numbers -------------------------------------------------------------------------------------------------

    def sum(self, values: Tensor) -> Tensor:
        """The sums over all ranks, in float64."""
        return values.double()

    def total(self, counts: Mapping[str, int]) -> dict[str, int]:
        """The guesses of all ranks: what the gradient is divided by. All ranks name the same things."""
        return dict(zip(counts, map(round, self.sum(torch.tensor(list(counts.values()))).tolist())))

    def norm(self, gradients: list[Tensor]) -> Tensor:
        """The length of the whole gradient, wherever its parts are."""
        return torch.nn.utils.get_total_norm(gradients)

    def least(self, number: int) -> int:
        """The smallest of what the ranks say: as many rows as fit everywhere."""
        return number

    def first(self, value: T) -> T:
        """What the first rank says: what only one clock or one disk can decide."""
        return value

    def agree(self, decision: bool) -> bool:
        return self.first(decision)

    def every(self, value: T) -> list[T]:
        """What each rank says."""
        return [value]

    def shared_clock(self, stopping: bool, cores: bool = False) -> tuple[float, bool]:
        """The time by the first rank's clock, or the work of all ranks' cores, and whether any rank was asked to stop."""
        return time.process_time() if cores else time.monotonic(), stopping

    def check_shares(self, accumulates: bool, sizes: Mapping[str, int]) -> None:
        """A step can be shared out: the learner says so, and of batches of these sizes each rank has as many rows as others."""

    def check_same(self, facts: Mapping[str, str]) -> None:
        """Every rank has the same code, recipe, text, ...; else a fault that names what differs, and where."""

    @contextmanager
    def first_rank_first(self) -> Iterator[None]:
        """Where what one rank writes is found there by the others."""
        yield

    def wait(self) -> None:
        """Until all ranks are here."""

    def first_writes(self, folder: Path) -> None:
        """From here on only the first rank writes in this folder; the others, which do the same work, read."""

    # --- rows ----------------------------------------------------------------------------------------------------

    def own_rows(self, rows: Tensor) -> Tensor:
        """Of a tensor with all rows of a step, those of this rank."""
        return rows

    def all_rows(self, rows: Tensor) -> Tensor:
        """The rows of every rank, in order."""
        return rows

    def mean_of_rows(self, weight: Tensor) -> Tensor | None:
        """The gradient of a table of which only some rows were read: those that any rank has read."""
        return weight.grad

    # --- weights -------------------------------------------------------------------------------------------------

    sharded = False

    def parallel(self, module: nn.Module, partial: bool) -> nn.Module:
        """The module whose backward pass leaves the gradients of all ranks added up, divided by their number.

        `partial`: some parameters take no part in some batches.
        """
        return module

    @contextmanager
    def accumulating(self, module: nn.Module, last: bool) -> Iterator[None]:
        """One pass of several whose gradients make up a step: the last one adds up those of all ranks."""
        yield

    def whole_model(self, model: nn.Module) -> nn.Module | None:
        """The model with all its weights, where it is to be written: on the first rank."""
        return model

    @contextmanager
    def gathered(self, model: nn.Module) -> Iterator[None]:
        """Inside, every weight is whole on every rank, for passes that training does not know of."""
        yield

    def write(self, folder: Path, tensors: Mapping[str, Tensor], then: Callable[[], object]) -> None:
        """Every rank writes its share into the folder while training goes on; the first one then calls `then`."""
        raise TypeError("weights that are not shared out are written by one process")

    def settle(self) -> None:
        """Wait for what is still being written."""

    def lost(self, error: BaseException) -> bool:
        """Whether this error says that another process is gone."""
        return False


class Replicas(Ranks):
    """Processes of one group, each with all the weights and a share of the rows."""

    def __init__(self, rank: int, world: int, neighbours: int = 1):
        import torch.distributed as dist

        self.dist = dist
        self.rank, self.world, self.neighbours = rank, world, neighbours

    def sum(self, values: Tensor) -> Tensor:
        found = values.double().cpu()
        self.dist.all_reduce(found)
        return found

    def least(self, number: int) -> int:
        found = torch.tensor(number)
        self.dist.all_reduce(found, self.dist.ReduceOp.MIN)
        return int(found)

    def first(self, value: T) -> T:
        found = [value]
        self.dist.broadcast_object_list(found, 0)
        return found[0]

    def agree(self, decision: bool) -> bool:
        return bool(self.sum(torch.tensor([decision and self.rank == 0]))[0])

    def shared_clock(self, stopping: bool, cores: bool = False) -> tuple[float, bool]:
        mine = time.process_time() if cores else 0.0 if self.rank else time.monotonic()
        now, asked = self.sum(torch.tensor([mine, stopping], dtype=torch.float64))
        return float(now), bool(asked)

    def check_shares(self, accumulates: bool, sizes: Mapping[str, int]) -> None:
        if not accumulates:
            raise Fault(
                f"a model that is not learned by gradient is trained by one process, not by {self.world}.",
                "Leave out torchrun, --processes and --shard: it uses the cores of one machine by itself.",
            )
        for setting, size in sizes.items():
            if size % self.world:
                raise Fault(
                    f"training.{setting} {size} cannot be shared by {self.world} processes.",
                    f"Give a multiple of {self.world}.",
                )

    def every(self, value: T) -> list[T]:
        found: list[Any] = [None] * self.world
        self.dist.all_gather_object(found, value)
        return found

    def check_same(self, facts: Mapping[str, str]) -> None:
        every = self.every(dict(facts))
        differ = [
            f"{name} (rank {', '.join(str(rank) for rank, one in enumerate(every) if one[name] != every[0][name])})"
            for name in facts
            if any(one[name] != every[0][name] for one in every)
        ]
        if differ:
            raise Fault(
                f"the processes of this run do not agree with the first one on: {'; '.join(differ)}.",
                "Every machine needs the same version of Foreword, the same recipe and settings, the same text, and a run "
                "folder on a file system that all of them share.",
            )

    @contextmanager
    def first_rank_first(self) -> Iterator[None]:
        if self.rank:
            self.wait()
        yield
        if not self.rank:
            self.wait()

    def wait(self) -> None:
        self.sum(torch.zeros(1))

    def first_writes(self, folder: Path) -> None:
        if self.rank:
            leave_to_another(folder)

    def own_rows(self, rows: Tensor) -> Tensor:
        return rows[self.rank * len(rows) // self.world : (self.rank + 1) * len(rows) // self.world]

    def all_rows(self, rows: Tensor) -> Tensor:
        counts = [int(count) for count in self.sum(torch.eye(self.world)[self.rank] * len(rows))]
        every = [torch.empty((max(counts), *rows.shape[1:]), dtype=rows.dtype) for _ in counts]
        padded = torch.zeros_like(every[0])
        padded[: len(rows)] = rows.cpu()
        self.dist.all_gather(every, padded)
        return torch.cat([one[:count] for one, count in zip(every, counts)])

    def mean_of_rows(self, weight: Tensor) -> Tensor | None:
        if not self.agree(weight.requires_grad):
            return None
        none = weight.new_zeros(0, weight.size(1))
        mine = (
            torch.sparse_coo_tensor(none.new_zeros(1, 0).long(), none, weight.shape)
            if weight.grad is None
            else weight.grad
        )
        mine = mine.coalesce()
        rows, values = self.all_rows(mine.indices()[0]), self.all_rows(mine.values()) / self.world
        return torch.sparse_coo_tensor(rows[None].to(weight.device), values.to(weight.device), weight.shape).coalesce()

    def parallel(self, module: nn.Module, partial: bool) -> nn.Module:
        from torch.nn.parallel import DistributedDataParallel

        apart = {id(table.weight) for table in row_tables(module)}  # `mean_of_rows` exchanges what was read of them
        names = [name for name, parameter in module.named_parameters() if id(parameter) in apart]
        DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(module, names)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # torch 2.13 renames broadcast_buffers; 2.10 has only that
            return DistributedDataParallel(
                module,
                broadcast_buffers=False,
                bucket_cap_mb=BUCKET,
                gradient_as_bucket_view=True,
                find_unused_parameters=partial,
            )

    @contextmanager
    def accumulating(self, module: Any, last: bool) -> Iterator[None]:
        if last:
            yield
            return
        with module.no_sync():
            yield

    def lost(self, error: BaseException) -> bool:
        return isinstance(error, self.dist.DistError) or "gloo" in str(error)


class Shards(Replicas):
    """Processes that share out the weights, and gather those of a block while it is at work."""

    sharded = True

    def __init__(self, rank: int, world: int, neighbours: int = 1):
        super().__init__(rank, world, neighbours)
        self.writers = self.dist.new_group(backend="gloo")  # what is written in the background has a group of its own
        self.behind = ThreadPoolExecutor(1, "checkpoint")
        self.writing: Future[None] | None = None

    def norm(self, gradients: list[Tensor]) -> Tensor:
        return whole(super().norm(gradients))

    def parallel(self, module: Any, partial: bool) -> nn.Module:
        from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

        warnings.filterwarnings("ignore", "FSDP2-wrapped module")  # of views that are changed in place: none is here
        self.blank, self.root = _without_weights(module.model), module
        for block in layers(module):
            fully_shard(block)
            for method in ("remember", "remember_source", "look"):  # called beside `forward`
                register_fsdp_forward_method(block, method)
        apart: Any = {table.weight for table in row_tables(module)}
        fully_shard(module, ignored_params=apart)
        return module

    @contextmanager
    def accumulating(self, module: nn.Module, last: bool) -> Iterator[None]:
        yield  # every pass adds up its gradients: whole ones would have to be kept otherwise

    def whole_model(self, model: nn.Module) -> nn.Module | None:
        full = {}
        for name, parameter in model.named_parameters():  # all ranks gather, the first one keeps
            gathered = whole(parameter.detach()).cpu()
            if not self.rank:
                full[name] = gathered
        if self.rank:
            return None
        memo: dict[int, Any] = {id(p): nn.Parameter(full[name]) for name, p in self.blank.named_parameters()}
        return copy.deepcopy(self.blank, memo)

    @contextmanager
    def gathered(self, model: nn.Module) -> Iterator[None]:
        from torch.distributed.fsdp import FSDPModule

        self.root._get_fsdp_state()._lazy_init()  # as its first pass would: what is called before it would take its place
        every = [part for part in self.root.modules() if isinstance(part, FSDPModule)]
        for part in every:
            part.unshard()
        yield
        for part in every:
            part.reshard()

    def write(self, folder: Path, tensors: Mapping[str, Tensor], then: Callable[[], object]) -> None:
        from torch.distributed.checkpoint import HuggingFaceStorageWriter
        from torch.distributed.checkpoint.state_dict_saver import save

        self.settle()
        copies = {name: tensor.clone() for name, tensor in tensors.items()}  # training goes on with the others

        def work() -> None:
            try:  # safetensors: torch's own storage has its index in a pickle
                storage = HuggingFaceStorageWriter(str(folder), save_distributed=True)
                save(copies, storage_writer=storage, process_group=self.writers)
            except Exception as error:
                raise RunFailed(
                    f"{folder} could not be written: {error}.",
                    "What was saved before is whole. Free some space and give the same command again.",
                ) from error
            if not self.rank:
                then()

        self.writing = self.behind.submit(work)

    def settle(self) -> None:
        if self.writing is not None:
            self.writing.result()


def whole(tensor: Tensor) -> Tensor:
    """A tensor of which every rank has a share, put together on all of them; any other as it is."""
    full = getattr(tensor, "full_tensor", None)
    return tensor if full is None else full()


def local(tensor: Tensor) -> Tensor:
    """This rank's share of a tensor; all of one that is not shared out."""
    here = getattr(tensor, "to_local", None)
    return tensor if here is None else here()


def gather(part: Tensor, like: Any) -> Tensor:
    """Every rank's share of a tensor that is shared out as another is, put together; if that is whole, it is all of it."""
    if not hasattr(like, "placements"):
        return part
    from torch.distributed.tensor import DTensor

    mesh, placed = like.device_mesh, like.placements
    return DTensor.from_local(part, mesh, placed, shape=like.shape, stride=like.stride()).full_tensor()


def share(tensor: Tensor, like: Any) -> Tensor:
    """A whole tensor shared out as another of its shape is."""
    if not hasattr(like, "placements") or tensor.shape != like.shape:
        return tensor
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(tensor, like.device_mesh, like.placements, src_data_rank=None)


def _without_weights(model: nn.Module) -> nn.Module:
    """A copy whose parameters have their shapes and take no memory."""
    memo: dict[int, Any] = {id(p): nn.Parameter(p.to("meta"), p.requires_grad) for p in model.parameters()}
    return copy.deepcopy(model, memo)
