"""Frozen features: the settings of a network that stays as it is, and whose layers, mixed, are read by what is learned."""

from __future__ import annotations

from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault, Faults, did_you_mean
from foreword.networks.features import COMBINES, READERS
from foreword.tasks.labelled_task import LabelledTask

RATE = 1e-3  # Adam, at a constant rate: AllenNLP's configuration of ELMo for names (ner_elmo.jsonnet)


def over(network: JsonObject, words: str) -> JsonObject:
    """The settings of a network that freezes this one, or what this one froze, and reads its layers."""
    combine, reader = layers_and_reader(words)
    trunk = network.get("trunk", network)
    return {"kind": "features", "trunk": trunk, "combine": combine, "reader": {"kind": reader}}


def layers_and_reader(words: str) -> tuple[str, str]:
    """'concat-4:bilstm' -> which layers, and who reads them; what is not said is mix and linear."""
    combine, reader = "mix", "linear"
    for word in words.split(":"):
        if word in COMBINES:
            combine = word
        elif word in READERS.names():
            reader = word
        else:
            known = (*COMBINES, *READERS.names())
            raise Fault(
                f"--features {words}: {word!r} is not one of {', '.join(known)}.{did_you_mean(word, known)}",
                "Which layers, who reads them, or both: --features mix, --features bilstm, --features concat-4:bilstm",
            )
    return combine, reader


def check_texts(words: str, task: LabelledTask) -> None:
    """A reader of two texts needs two."""
    _, reader = layers_and_reader(words)
    if len(task.learn.reads) < READERS.find(reader).texts:
        raise Fault(f"--features {words}: {reader} aligns two texts, and {task.name} is {task.learn.in_words}.")


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
