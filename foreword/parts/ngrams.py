"""N-gram tables: the last few ids, hashed, name a row that is added to a vector. A table costs no multiplication.

Only the rows of a batch learn (`training.optimizers.RowAdagrad`), so that a step takes as long with a large table as with a
small one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from foreword.basics.numbers import Order, Size
from foreword.basics.spec import Spec

NONE = -1  # in the place of an id: no token stands there
FACTORS = (-7046029254386353131, -4658895280553007687)  # odd, of 64 bits: their products mix all bits of an id

Place = Literal["bottom", "head"]


class NgramsSpec(Spec):
    """What a network that reads tokens in order is given of the last ids."""

    orders: tuple[Order, ...] = (2, 3)  # ids of an n-gram, the newest of which stands at the position
    slots: Size = 131072  # rows for each order; n-grams that hash to one row share it
    places: tuple[Place, ...] = ("bottom", "head")  # rows are added to the token vectors, and to what the head reads
    learning_rate: float = 0.05  # of their own Adagrad; it follows the schedule of the run
    passes: float = 1.5  # where the text will be read more often, a run has no tables: they would learn it by heart
    dropout: float = 0.0  # this share of the n-grams is left out while the network learns, in all places together

    def faults(self) -> list[tuple[str, str]]:
        found = []
        if not self.orders or min(self.orders) < 1 or len(set(self.orders)) < len(self.orders):
            found.append(("orders", f"orders must be different numbers from 1 (it says {list(self.orders)})."))
        if not self.places or len(set(self.places)) < len(self.places):
            found.append(("places", f"places must be bottom, head, or both (it says {list(self.places)})."))
        if not 0 <= self.dropout < 1:
            found.append(("dropout", f"dropout must be from 0 to below 1 (it says {self.dropout})."))
        if self.passes <= 0:
            found.append(("passes", f"passes must be more than 0 (it says {self.passes})."))
        if self.learning_rate <= 0:
            found.append(("learning_rate", f"learning_rate must be more than 0 (it says {self.learning_rate})."))
        return found

    @property
    def before(self) -> int:
        """How many ids before a position its n-grams reach."""
        return max(self.orders) - 1


class RowTable(nn.Embedding):
    """A table of which only the rows that are read learn: their gradient is sparse. It begins with zeros.

    The last row stands for no n-gram: it is zero and stays so.
    """

    def __init__(self, rows: int, width: int, learning_rate: float):
        super().__init__(rows + 1, width, padding_idx=rows, sparse=True, _weight=torch.zeros(rows + 1, width))
        self.learning_rate = learning_rate

    def forward(self, rows: Tensor) -> Tensor:
        """rows [batch, positions, orders] -> the sum of those of each position [batch, positions, width]"""
        found = F.embedding_bag(
            rows.flatten(0, 1), self.weight, mode="sum", sparse=True, padding_idx=self.num_embeddings - 1
        )
        return found.view(*rows.shape[:2], -1)


def row_tables(module: nn.Module) -> list[RowTable]:
    return [part for part in module.modules() if isinstance(part, RowTable)]


def numbers_by_rows(module: nn.Module) -> int:
    """Numbers in tables of which a step reads and changes only some rows."""
    return sum(table.weight.numel() for table in row_tables(module))


class NgramTables(nn.Module):
    """A table for each place; an n-gram has the same number in all of them."""

    def __init__(self, spec: NgramsSpec, widths: Mapping[str, int]):
        super().__init__()
        self.spec, self.rows = spec, len(spec.orders) * spec.slots
        self.places = nn.ModuleDict(
            {place: RowTable(self.rows, widths[place], spec.learning_rate) for place in spec.places}
        )

    def numbers(self, ids: Tensor) -> Tensor:
        """ids [batch, before + positions] -> rows of the n-grams of each position [batch, positions, orders].

        One that would reach over NONE has none.
        """
        positions = ids.size(1) - self.spec.before
        newest = ids[:, self.spec.before :]
        there, mixed, found = newest != NONE, _mixed(newest), {}
        for back in range(self.spec.before + 1):
            if back:
                older = ids[:, self.spec.before - back : self.spec.before - back + positions]
                there, mixed = there & (older != NONE), _mixed(mixed ^ older)
            found[back + 1] = (there, mixed)
        each = []
        for number, order in enumerate(self.spec.orders):
            there, mixed = found[order]
            each.append((mixed.remainder(self.spec.slots) + number * self.spec.slots).masked_fill(~there, self.rows))
        rows = torch.stack(each, -1)
        if self.training and self.spec.dropout:
            rows = rows.masked_fill(torch.rand(rows.shape, device=rows.device) < self.spec.dropout, self.rows)
        return rows

    def at(self, place: Place, rows: Tensor) -> Tensor | None:
        """What is added there; None where nothing is."""
        return self.places[place](rows) if place in self.places else None


def _mixed(x: Tensor) -> Tensor:
    """Numbers of 64 bits of which every bit depends on all of x (Steele et al. 2014)."""
    for factor in FACTORS:
        x = (x ^ (x >> 30)) * factor
    return x ^ (x >> 31)
