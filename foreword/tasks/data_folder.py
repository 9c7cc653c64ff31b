"""Where the data of tasks is: nothing of it is shipped."""

from __future__ import annotations

import os
from pathlib import Path

from foreword.basics.messages import Fault

VARIABLE = "FOREWORD_DATA"


def data_folder(given: Path | None = None) -> Path:
    """`given`, or what FOREWORD_DATA says, or `shared/data` beside the project."""
    return Path(given or os.environ.get(VARIABLE) or Path(__file__).parents[3] / "shared" / "data")


def find(name: str, beside: Path, data: Path | None, folder: bool = False) -> Path:
    """A file (or folder) of a task: beside its task file, or else in the data folder."""
    for place in (beside / name, data_folder(data) / name):
        if place.is_dir() if folder else place.is_file():
            return place
    raise Fault(f"{name} is neither beside the task file nor in {data_folder(data)}.",
                f"Say where the data is:  --data FOLDER, or set {VARIABLE}")
