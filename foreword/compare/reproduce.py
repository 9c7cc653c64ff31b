"""`foreword reproduce`: a run is trained again from its passport, and what came out is compared, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from foreword.assembly import loader
from foreword.basics.budget import Budget
from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault
from foreword.basics.progress import say
from foreword.report import Facts, Report, Section, Table, Text
from foreword.runs.folder import RunFolder
from foreword.runs.loop import versions
from foreword.runs.train import train
from foreword.tokens.store import TokenStore
from foreword.training.hardware import Hardware
from foreword.training.online import OnlineTraining

FORGIVEN = ("seconds", "spent")  # of a record: what takes another time every time


@dataclass(frozen=True)
class Compared:
    tensors: int
    other: list[str]  # names of those that are not the same, bit for bit
    largest: float  # difference of two numbers among them
    records: int
    first: JsonObject | None  # the first record that is not the same: before and again

    @property
    def same(self) -> bool:
        return not self.other and self.first is None


def reproduce(path: Path, out: Path, hardware: Hardware | None = None) -> Report:
    """The run again, in `out`, and what differs."""
    run = RunFolder(path)
    if not run.exists():
        raise Fault(f"{path} is not a run.", "Give a run folder: it has recipe.toml and passport.json.")
    passport = run.passport()
    store = repeatable(path, passport)
    recipe = run.recipe()
    hardware = hardware or Hardware.choose(compile="off")
    reasons = why_not(run, passport, hardware)
    for line in reasons:
        say(line)
    if Budget.parse(recipe.training.budget).unit == "seconds":
        recipe = loader.from_values(
            {**recipe.values(), "training": {**recipe.values()["training"], "budget": str(passport["step"])}}, str(path)
        )
    start = passport.get("start", {}).get("path")
    again = train(recipe, store, out, hardware=hardware, start=Path(start) if start else None)
    return report(run, again, compared(run, again), reasons)


def repeatable(path: Path, passport: JsonObject) -> Path:
    """The store that it was trained on, unchanged; a fault if it cannot be trained again from what is there."""
    if not passport.get("finished"):
        raise Fault(f"{path} is not finished: there is no end to compare with.", "Finish it with its own command.")
    if "store" not in passport:
        command = " ".join(passport.get("command", [])[1:])
        raise Fault(
            f"{path} was not trained on one store of text, so it is not repeated here.",
            f"Give its own command with another --out:  foreword {command}" if command else "",
        )
    store = Path(passport["store"])
    if not (store / "store.json").is_file():
        raise Fault(f"the text of {path} is gone: {store} is not there.", "Put it back, or train anew.")
    if TokenStore.open(store, "train").data != passport["data"]:
        raise Fault(f"{store} is not what {path} was trained on: it was made again of other text.")
    return store


def why_not(run: RunFolder, passport: JsonObject, hardware: Hardware) -> list[str]:
    """What is not as it was, so that other bits are no surprise."""
    found = []
    for name, value in versions().items():
        if passport.get("versions", {}).get(name, value) != value:
            found.append(f"{name} was {passport['versions'][name]} and is {value}.")
    if passport.get("hardware", str(hardware)) != str(hardware):
        found.append(f"it ran on {passport['hardware']}, and now on {hardware}.")
    if passport.get("processes", 1) != 1:
        found.append(f"it ran in {passport['processes']} processes, and now in one.")
    training = run.recipe().training
    if Budget.parse(training.budget).unit == "seconds":
        found.append(
            f"its budget was wall clock ({training.budget}): it is given its {passport['step']:,} steps, but its learning rate "
            "followed the clock."
        )
    if isinstance(training, OnlineTraining) and training.threads > 1:
        found.append(f"{training.threads} threads updated one table: no two such runs are quite the same.")
    return found


def compared(run: RunFolder, again: RunFolder) -> Compared:
    before, after = (_tensors(one.model) for one in (run, again))
    other = [name for name in before if name not in after or not _same(before[name], after[name])]
    other += [name for name in after if name not in before]
    apart = [_apart(before[name], after[name]) for name in other if name in before and name in after]
    first = None
    lines = [[_kept(record) for record in one.metrics()] for one in (run, again)]
    for old, new in zip(*lines):
        if old != new:
            first = {"before": old, "again": new}
            break
    return Compared(len(before), other, max(apart, default=0.0), len(lines[0]), first)


def _tensors(folder: Path) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for file in sorted(folder.glob("*.safetensors")):
        found |= load_file(file)
    return found


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()


def _apart(one: np.ndarray, other: np.ndarray) -> float:
    same_shape = one.shape == other.shape and one.size
    return float(np.abs(one.astype(np.float64) - other).max()) if same_shape else float("inf")


def _kept(record: JsonObject) -> JsonObject:
    return {name: value for name, value in record.items() if name not in FORGIVEN}


def report(run: RunFolder, again: RunFolder, found: Compared, reasons: list[str]) -> Report:
    if found.same:
        lead = [f"The same, bit for bit: {found.tensors} tensors and {found.records} records of {run.path}."]
    else:
        lead = [
            f"Not the same: {len(found.other)} of {found.tensors} tensors differ, by {found.largest:.2g} at most"
            + (f"; records from step {found.first['before'].get('step')} on." if found.first else ".")
        ]
        lead += reasons or ["Versions, hardware and settings are those of the passport: this should not be."]
    facts = [("before", str(run.path)), ("again", str(again.path))]
    rows = [("tensor that differs",), *((name,) for name in found.other[:20])]
    return Report(
        f"{run.path.name}, again",
        lead,
        [
            Section("What differs", Table(rows)) if found.other else Section("What differs"),
            Section("The first record that differs", Text([str(found.first)])) if found.first else Section(""),
            Section("How this was made", Facts(facts)),
        ],
        {"same": found.same, "tensors": found.tensors, "differ": found.other, "largest": found.largest, "why": reasons},
    )
