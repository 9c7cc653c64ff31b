"""What objectives that are made of others have in common: they need what any of their parts needs."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from foreword.batches.by_task import TaskRow
from foreword.batches.row import Row
from foreword.networks.base import Network
from foreword.objectives.base import MakeTokenHead, Objective


class MultipleObjectives(Objective):
    @property
    def members(self) -> Sequence[Objective]:
        """The objectives that it is made of."""
        raise NotImplementedError

    @property
    def writes(self) -> frozenset[str]:
        return frozenset().union(*(one.writes for one in self.members))

    @property
    def specials(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for one in self.members for name in one.specials))

    @property
    def marks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for one in self.members for name in one.marks))

    def member_faults(self, setting: str) -> list[tuple[str, str]]:
        """What is wrong with each of them, at its place in the list that `setting` names."""
        return [(f"{setting}.{i}.{name}", what) for i, one in enumerate(self.members) for name, what in one.faults()]

    def abilities(self) -> dict[str, frozenset[str]]:
        return {head: given for one in self.members for head, given in one.abilities().items()}

    def heads(self, network: Network, token_head: MakeTokenHead) -> dict[str, nn.Module]:
        return {name: head for one in self.members for name, head in one.heads(network, token_head).items()}

    def row_ids(self, positions: int, texts: int) -> int:
        return min((one.row_ids(positions, texts) for one in self.members), default=positions)


def name_faults(names: Sequence[str], tasks: Sequence[Objective]) -> list[tuple[str, str]]:
    if len(set(names)) == len(tasks):
        return []
    return [("names", f"{len(tasks)} tasks need {len(tasks)} different names (it says {list(names)}).")]


def task_of(rows: Sequence[Row]) -> str:
    """The name of the task that all rows of a batch are of."""
    names = {row.task for row in rows if isinstance(row, TaskRow)}
    if len(names) != 1:
        raise ValueError(f"a batch is of one task, not of {len(names)}")
    return names.pop()
