"""Frozen features: the settings of a network that stays as it is, and whose layers, mixed, are read by what is learned."""

from __future__ import annotations

from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault, Faults

RATE = 1e-3  # Adam, at a constant rate: AllenNLP's configuration of ELMo for names (ner_elmo.jsonnet)


def over(network: JsonObject, reader: str) -> JsonObject:
    """The settings of a network that freezes this one, or what this one froze, and reads all its layers."""
    return {"kind": "features", "trunk": network.get("trunk", network), "reader": {"kind": reader}}


def learning(rate: float | None) -> JsonObject:
    return {"optimizer": {"kind": "adam", "learning_rate": rate or RATE}, "schedule": {"kind": "constant"}}


def check(aux: float, layers: int | None) -> None:
    """What cannot be asked of a trunk that stays as it is."""
    faults = []
    if aux:
        faults.append(Fault(f"--aux {aux:g}: what is frozen learns nothing from guessing tokens.", "Leave it out."))
    if layers is not None:
        what = f"--layers {layers}: those above would be drawn, and stay as they were drawn."
        faults.append(Fault(what, f"To mix the first {layers} alone: --set network.trunk.layers={layers}"))
    if faults:
        raise Faults(faults)
