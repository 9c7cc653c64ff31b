"""Open what was trained: a run, its model folder, or any Hugging Face directory of a known type."""

from __future__ import annotations

from pathlib import Path

from foreword.basics.messages import Fault
from foreword.exchange import hugging_face
from foreword.exchange.hugging_face import Loaded
from foreword.runs.folder import RunFolder


def open_model(path: str | Path) -> Loaded:
    folder = Path(path)
    if not folder.exists():
        raise Fault(f"{path} is not there.", "Give a run (runs/NAME), its model folder, or a Hugging Face directory.")
    run = RunFolder(folder)
    if run.exists():
        if not (run.model / "config.json").is_file():
            if run.passport().get("finished"):
                raise Fault(f"{path} has no model any more: a study keeps that of its best run only.",
                            "Its study.json says which (kept).")
            raise Fault(f"{path} has no model yet.", f"Train it on:  foreword train {path} --data STORE --out {path}")
        return hugging_face.read(run.model)
    return hugging_face.read(folder)
