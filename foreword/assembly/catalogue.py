"""The recipes there are, read without building anything: no torch is imported here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from foreword.basics import toml
from foreword.basics.messages import Fault, did_you_mean

RECIPES = Path(__file__).parent.parent / "recipes"
STUDIES = Path(__file__).parent.parent / "studies"


@dataclass(frozen=True)
class Entry:
    """A recipe at a glance."""

    name: str
    year: str
    paper: str
    extends: str
    sizes: tuple[str, ...]
    about: str  # the comment at the head of its file


def entries() -> list[Entry]:
    """Every recipe that comes with Foreword, oldest first."""
    found: dict[str, Entry] = {}
    values = {name: toml.read(path)[0] for name, path in built_in().items()}
    for name, path in built_in().items():
        mine = values[name]
        parent = values.get(mine.get("extends", ""), {})
        line = [mine]
        while (above := values.get(line[-1].get("extends", ""))) is not None:
            line.append(above)
        sizes = {size: given for one in reversed(line) for size, given in one.get("sizes", {}).items()}
        comment = [
            line.lstrip("# ").strip() for line in path.read_text(encoding="utf-8").split("\n") if line.startswith("#")
        ]
        found[name] = Entry(
            name,
            path.stem[:4],
            mine.get("paper") or parent.get("paper") or "",
            mine.get("extends", ""),
            tuple(size for size, given in sizes.items() if given is not False),
            comment[0] if comment else "",
        )
    return list(found.values())


def built_in() -> dict[str, Path]:
    """Name -> file of the recipes that come with Foreword, oldest first."""
    return {re.sub(r"^\d{4}-", "", path.stem): path for path in sorted(RECIPES.glob("*.toml"))}


def study(name: str) -> Path | None:
    """The file of a study that comes with Foreword."""
    path = STUDIES / f"{name}.toml"
    return path if path.is_file() and not Path(name).exists() else None


def studies() -> list[tuple[str, str]]:
    """(name, about) of every study that comes with Foreword; of one that tests a claim, the claim."""
    found = []
    for path in sorted(STUDIES.rglob("*.toml")):
        claim = toml.read(path)[0].get("claim", {})
        about = claim.get("says") or path.read_text(encoding="utf-8").split("\n")[0].lstrip("# ")
        found.append((path.relative_to(STUDIES).with_suffix("").as_posix(), about))
    return found


def find(name: str) -> Path:
    """A recipe's file: by name, by path, or the recipe of a run folder."""
    known = built_in()
    if name in known:
        return known[name]
    path = Path(name)
    if path.is_dir() and (path / "recipe.toml").is_file():
        return path / "recipe.toml"
    if path.suffix == ".toml":
        if path.is_file():
            return path
        raise Fault(f"{name} is not there.")
    raise Fault(f"no recipe is called {name!r}.{did_you_mean(name, known)} `foreword list recipes` shows all.")


def shown(path: Path) -> str:
    """A path as a person would write it here."""
    if path.is_relative_to(RECIPES):
        return f"foreword/recipes/{path.relative_to(RECIPES).as_posix()}"
    return str(path)
