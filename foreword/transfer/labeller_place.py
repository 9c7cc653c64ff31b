"""Where a labeller is kept. No torch here: whether a folder holds one is asked before anything is opened."""

from __future__ import annotations

from pathlib import Path

FILE = "labeller.json"


def model_folder(path: Path) -> Path:
    """The model folder of a run, or the folder itself."""
    return path / "model" if (path / "model").is_dir() else path


def is_labeller(path: Path) -> bool:
    return (model_folder(path) / FILE).is_file()
