"""`python -m tests.golden`: write the golden recipes anew, after looking at why they differ (`git diff` shows it)."""

from __future__ import annotations

from pathlib import Path

from foreword.assembly import loader
from foreword.basics import toml
from tests.tiny import WITH_SIZES

FOLDER = Path(__file__).parent / "recipes"


def path(name: str, size: str) -> Path:
    return FOLDER / (f"{name}-{size}.toml" if size else f"{name}.toml")


def text(name: str, size: str) -> str:
    return toml.write(loader.load(name, size).values())


def write() -> None:
    for old in FOLDER.glob("*.toml"):
        old.unlink()
    for name, size in WITH_SIZES:
        path(name, size).write_text(text(name, size), encoding="utf-8")


if __name__ == "__main__":
    write()
