"""Kinds of labelled tasks as a network learns them, one file each: objective, encoding, answers, baseline, plot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.transfer import TRANSFER_KINDS

if TYPE_CHECKING:
    from foreword.transfer.kinds.base import TransferKind


def transfer_kind_of(kind: str) -> TransferKind:
    made: TransferKind = TRANSFER_KINDS.find(kind)()
    return made


def answered_by(objective: str) -> list[str]:
    """The kinds of tasks that a model with this kind of objective may have learned, the most particular first."""
    return [kind for kind in TRANSFER_KINDS.places if objective in TRANSFER_KINDS.find(kind).objectives]
