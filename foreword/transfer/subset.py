"""A few of many training examples: with the shares of the classes kept, and fewer always among more."""

from __future__ import annotations

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.seeds import number_of
from foreword.tasks.example import Example
from foreword.tasks.labelled import Labelled


def subset(task: Labelled, count: int | None, seed: int) -> tuple[Example, ...]:
    """So many training examples (of a ranking: queries), drawn from the seed; None: all of them."""
    if count is None:
        return task.train
    groups: dict[str, list[int]] = {}
    for number, example in enumerate(task.train):
        groups.setdefault(example.group or str(number), []).append(number)
    if not 1 <= count <= len(groups):
        raise Fault(f"--labels {count:,}: {task.name} has {len(groups):,} training examples.", "Give fewer, or leave it out.")
    strata: dict[str, list[str]] = {}
    for name, members in groups.items():
        label = task.train[members[0]].label
        strata.setdefault(label if isinstance(label, str) else "", []).append(name)
    if count < len(strata) > 1:
        raise Fault(f"--labels {count:,}: {task.name} has {len(strata)} classes, and each needs an example.",
                    f"Give at least --labels {len(strata)}.")
    drawn = {label: sorted(names, key=lambda name: (number_of("subset", seed, name), name)) for label, names in strata.items()}
    taken = {name for label, part in zip(drawn, shared_out([len(names) for names in drawn.values()], count))
             for name in drawn[label][:part]}
    return tuple(example for number, example in enumerate(task.train) if (example.group or str(number)) in taken)


def shared_out(sizes: list[int], count: int) -> list[int]:
    """`count` in proportion to the sizes, at least one of each; what rounding leaves goes to the largest remainders."""
    exact = count * np.asarray(sizes) / sum(sizes)
    parts = np.maximum(exact.astype(int), 1)
    while parts.sum() != count:
        step = 1 if parts.sum() < count else -1
        behind = np.where((parts < sizes) if step > 0 else (parts > 1), (exact - parts) * step, -np.inf)
        parts[int(behind.argmax())] += step
    return parts.tolist()
