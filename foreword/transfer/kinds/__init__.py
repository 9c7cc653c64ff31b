"""Kinds of labelled tasks as a network learns them, one file each: objective, encoding, answers, baseline, plot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.transfer import TRANSFER_KINDS

if TYPE_CHECKING:
    from foreword.assembly.recipe import Recipe
    from foreword.tasks.labelled.base import LabelledKind
    from foreword.transfer.kinds.base import TransferKind


def transfer_kind_of(kind: str) -> TransferKind:
    made: TransferKind = TRANSFER_KINDS.find(kind)()
    return made


def learned_as(learn: LabelledKind, name: str, recipe: Recipe) -> TransferKind:
    """How a network of this recipe learns a task: as its kind, or as text behind the name of the task."""
    from foreword.transfer.encoding import input_format_of
    from foreword.transfer.kinds.text import TextTransfer

    return TextTransfer(learn, name) if input_format_of(recipe).reading == "text" else transfer_kind_of(learn.kind)


def answered_by(objective: str) -> list[str]:
    """The kinds of tasks that a model with this kind of objective may have learned, the most particular first."""
    return [kind for kind in TRANSFER_KINDS.places if objective in TRANSFER_KINDS.find(kind).objectives]
