"""Where a model is: a run (runs/x), one of its saved steps (runs/x@12000), or a model folder. No torch is imported here."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from foreword.basics.messages import Fault


class ModelPlace(NamedTuple):
    folder: Path
    step: int | None = None  # a saved step of a run; None: its model, the best or the last

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoints" / f"step-{self.step:09d}"


def model_place(path: str | Path) -> ModelPlace:
    """What is meant by a path; a fault if it is not there."""
    if Path(path).exists() or is_address(path):
        return ModelPlace(Path(path))
    name, at, step = str(path).rpartition("@")
    if not at or not step.isdigit() or not Path(name).is_dir():
        raise Fault(
            f"{path} is not there.",
            "Give a run (runs/NAME), one of its saved steps (runs/NAME@STEP), its model folder, "
            "or a Hugging Face directory.",
        )
    place = ModelPlace(Path(name), int(step))
    if not place.checkpoint.is_dir():
        there = saved_steps(place.folder)
        raise Fault(
            f"{name} has no step {place.step}. "
            + (f"Steps there are: {', '.join(map(str, there))}." if there else "It has no saved steps."),
            "training.keep says how many are kept, training.save how often one is saved.",
        )
    return place


def is_address(path: str | Path) -> bool:
    """A model of a server, http://HOST:PORT/MODEL; a Path has lost one of the strokes."""
    return str(path).startswith(("http:/", "https:/"))


def saved_steps(run: str | Path) -> list[int]:
    """The steps of a run that can be opened as a model, oldest first."""
    return sorted(int(path.name.removeprefix("step-")) for path in (Path(run) / "checkpoints").glob("step-*"))


def is_model(path: str | Path) -> bool:
    """Whether a model may be there: a folder, a saved step of one, or an address."""
    try:
        return is_address(path) or model_place(path).folder.exists()
    except Fault:
        return False
