"""A few of many examples, with the shares of the classes kept and fewer always among more; and labels given out anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance, number_of
from foreword.tasks.example import Example, groups
from foreword.tasks.labelled_task import LabelledTask

DEV = 500  # examples: a share of so many is known to 4.4 points at worst; who has few labels has no more to choose by


def label_subset(task: LabelledTask, count: int | None, seed: int) -> LabelledTask:
    """With so many training examples; then dev has as many too, or DEV if that is more. Test is never cut."""
    if count is None:
        return task
    train, whole = training_subset(task, count, seed), groups(task.dev)
    most = max(count, DEV, len(strata(task.dev)))
    if len(whole) <= most:
        return replace(task, train=train)
    note = f"dev is cut from {len(whole):,} to {most:,}: with few labels there are no more to choose by."
    return replace(task, train=train, dev=drawn(task.dev, most, 0), notes=(*task.notes, note))  # one dev for all seeds


def training_subset(task: LabelledTask, count: int | None, seed: int) -> tuple[Example, ...]:
    """So many training examples (of a ranking: queries), drawn from the seed; None: all of them."""
    if count is None:
        return task.train
    there, classes = len(groups(task.train)), len(strata(task.train))
    if not 1 <= count <= there:
        raise Fault(f"--labels {count:,}: {task.name} has {there:,} training examples.", "Give fewer, or leave it out.")
    if count < classes > 1:
        raise Fault(
            f"--labels {count:,}: {task.name} has {classes} classes, and each needs an example.",
            f"Give at least --labels {classes}.",
        )
    return drawn(task.train, count, seed)


def strata(examples: Sequence[Example]) -> dict[str, list[str]]:
    """Groups by class; all in one where there are no classes."""
    found: dict[str, list[str]] = {}
    for name, members in groups(examples).items():
        label = examples[members[0]].label
        found.setdefault(label if isinstance(label, str) else "", []).append(name)
    return found


def drawn(examples: Sequence[Example], count: int, seed: int) -> tuple[Example, ...]:
    """So many groups, in the order they had."""
    classes = list(strata(examples).values())
    taken: set[str] = set()
    for names, part in zip(classes, shared_out(list(map(len, classes)), count)):
        taken |= set(sorted(names, key=lambda name: (number_of("subset", seed, name), name))[:part])
    return tuple(example for number, example in enumerate(examples) if (example.group or str(number)) in taken)


def shared_out(sizes: list[int], count: int) -> list[int]:
    """`count` in proportion to the sizes, at least one of each; what rounding leaves goes to the largest remainders."""
    exact = count * np.asarray(sizes) / sum(sizes)
    parts = np.maximum(exact.astype(int), 1)
    while parts.sum() != count:
        step = 1 if parts.sum() < count else -1
        behind = np.where((parts < sizes) if step > 0 else (parts > 1), (exact - parts) * step, -np.inf)
        parts[int(behind.argmax())] += step
    return parts.tolist()


# --- a control: nothing can be learned from these labels --------------------------------------------------------------


def with_permuted_labels(task: LabelledTask, seed: int) -> LabelledTask:
    """The same training examples and the same labels, which of them is whose left to chance."""
    labels = task.learn.shuffled_labels(task.train, chance(number_of("exchanged", seed)))
    train = tuple(replace(example, label=label) for example, label in zip(task.train, labels, strict=True))
    note = "the labels of the training examples were exchanged by chance."
    return replace(task, train=train, notes=(*task.notes, note))
