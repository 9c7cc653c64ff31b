"""From a recipe's file to a Recipe: `extends`, `sizes`, `--set`, and every fault with its file and line at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from foreword.assembly import toml
from foreword.assembly.catalogue import find, shown
from foreword.assembly.recipe import Recipe
from foreword.basics.messages import Fault, Faults, did_you_mean
from foreword.basics.spec import Spec

DEEPEST = 3       # generations of `extends`: more cannot be read at a glance


@dataclass
class Written:
    """Values merged from several places, and where each came from."""

    values: dict[str, Any] = field(default_factory=dict)
    places: dict[toml.Path_, str] = field(default_factory=dict)

    def lay_over(self, values: dict[str, Any], places: dict[toml.Path_, str], at: toml.Path_ = ()) -> None:
        """Put `values` on top. A new `kind` drops every setting of the part that stood there, in every size as well."""
        mine: dict[str, Any] = self.values
        for name in at:
            mine = mine.setdefault(name, {})
        for key, value in values.items():
            path = (*at, key)
            if isinstance(value, dict) and isinstance(mine.get(key), dict):
                if value.get("kind", mine[key].get("kind")) != mine[key].get("kind"):
                    self._forget(path)
                    mine[key] = {}
                    self._forget_in_sizes(path)
                self.lay_over(value, places, path)
            else:
                self._forget(path)
                mine[key] = value
                if isinstance(value, dict):
                    mine[key] = {}
                    self.lay_over(value, places, path)
            self.places[path] = _nearest(places, path)

    def _forget(self, path: toml.Path_) -> None:
        self.places = {other: place for other, place in self.places.items() if other[: len(path)] != path}

    def _forget_in_sizes(self, path: toml.Path_) -> None:
        for size, values in self.values.get("sizes", {}).items():
            for name in path[:-1]:
                values = values.get(name, {})
            if "kind" not in values.get(path[-1], {"kind": ""}):        # a size that names its own kind keeps it
                del values[path[-1]]
                self._forget(("sizes", size, *path))

    def where(self, path: toml.Path_) -> str:
        return _nearest(self.places, path)


def _nearest(places: dict[toml.Path_, str], path: toml.Path_) -> str:
    """Where this key was written, or else the section around it."""
    for length in range(len(path), 0, -1):
        if path[:length] in places:
            return places[path[:length]]
    return next(iter(places.values()), "").rsplit(":", 1)[0]


def written(name: str, size: str = "", settings: Sequence[str] = ()) -> Written:
    """The merged values of a recipe before they are checked."""
    chain: list[tuple[Path, dict[str, Any], dict[toml.Path_, int]]] = []
    path: Path | None = find(name)
    while path is not None:
        values, lines = toml.read(path)
        chain.append((path, values, lines))
        parent = values.get("extends", "")
        if len(chain) > DEEPEST + 1 or any(path == earlier for earlier, _, _ in chain[:-1]):
            raise Fault(f"`extends` goes more than {DEEPEST} deep (or round in a circle).", where=str(path))
        try:
            path = _parent(parent, path) if parent and not _complete(values) else None
        except Fault as fault:
            raise Fault(fault.what, where=f"{shown(chain[-1][0])}:{lines[('extends',)]}  extends") from fault
    merged = Written()
    for path, values, lines in reversed(chain):
        merged.lay_over(values, {key: f"{shown(path)}:{line}" for key, line in lines.items()})
    sizes = merged.values.pop("sizes", {})
    if size and size != merged.values.get("size"):
        if size not in sizes:
            offered = ", ".join(sizes) or "none"
            raise Fault(f"{name} has no size {size!r}.{did_you_mean(size, sizes)} Sizes: {offered}.")
        places = {key[2:]: place for key, place in merged.places.items() if key[:2] == ("sizes", size) and key[2:]}
        merged.lay_over(sizes[size], places)
        merged.values["size"] = size
        merged.places[("size",)] = f"--size {size}"
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key.strip():
            raise Fault(f"--set {setting}: a setting is written section.key=value.")
        nested: Any = toml.value(text.strip())
        path_ = tuple(key.strip().split("."))
        for part in reversed(path_):
            nested = {part: nested}
        merged.lay_over(nested, {path_[:n]: f"--set {setting}" for n in range(1, len(path_) + 1)})
    return merged


def _parent(name: str, child: Path) -> Path:
    """A recipe's parent: by name, or a file beside it."""
    beside = child.parent / name
    return beside if beside.suffix == ".toml" and beside.is_file() else find(name)


def _complete(values: dict[str, Any]) -> bool:
    """A saved recipe is already resolved: it tells its parent but needs nothing from it."""
    return all(section in values for section in ("network", "objective", "batches", "tokenizer", "training"))


def load(name: str, size: str = "", settings: Sequence[str] = ()) -> Recipe:
    """A checked recipe, or all that is wrong with it."""
    merged = written(name, size, settings)
    faults: list[Fault] = []
    recipe = construct(Recipe, merged.values, merged, (), faults)
    if faults:
        raise Faults(faults)
    return recipe


def from_values(values: dict[str, Any], source: str) -> Recipe:
    """A recipe from plain values (a model folder's config), checked in the same way."""
    merged = Written()
    merged.lay_over(values, {(key,): source for key in values})
    faults: list[Fault] = []
    recipe = construct(Recipe, merged.values, merged, (), faults)
    if faults:
        raise Faults(faults)
    return recipe


def construct(cls: type[Spec], values: dict[str, Any], source: Written, at: toml.Path_, faults: list[Fault]) -> Any:
    """`cls` from plain values, its chosen parts first; None, and a fault for each thing wrong, if it cannot be."""
    before = len(faults)
    ready = dict(values)
    for name, table in cls.chosen.items():
        given = values.get(name)
        items = given if isinstance(given, list) else [given]
        made = []
        for number, item in enumerate(items):
            path = (*at, name) if given is item else (*at, name, str(number))
            if isinstance(item, dict):
                made.append(_chosen(table, item, source, path, faults))
            elif item is not None:
                faults.append(Fault(f"this must be a section with a kind, one of {', '.join(table.names())} "
                                    f"(it says {item!r}).", where=_where(source, path)))
        if given is not None:
            ready[name] = made if isinstance(given, list) else next(iter(made), None)
    broken = {name for name in cls.chosen if values.get(name) is not None and _has_none(ready[name])}
    made_whole = None
    try:
        made_whole = cls.model_validate({key: value for key, value in ready.items() if key not in broken})
    except ValidationError as error:
        for problem in error.errors():
            path = (*at, *map(str, problem["loc"]))
            if problem["loc"] and problem["loc"][0] in broken:
                continue
            faults.append(Fault(_words(problem, cls), where=_where(source, path)))
    if made_whole is not None:
        for name, what in made_whole.faults():
            faults.append(Fault(what, where=_where(source, (*at, *name.split(".")))))
    return made_whole if len(faults) == before else None


def _has_none(value: Any) -> bool:
    return value is None or (isinstance(value, list) and any(item is None for item in value))


def _chosen(table: Any, item: dict[str, Any], source: Written, at: toml.Path_, faults: list[Fault]) -> Any:
    name = item.get("kind")
    if not isinstance(name, str):
        faults.append(Fault(f"it must say its kind, one of {', '.join(table.names())}.", where=_where(source, at)))
        return None
    try:
        cls = table.find(name)
    except Fault as fault:
        faults.append(Fault(fault.what, where=_where(source, (*at, "kind"))))
        return None
    if "kind" not in getattr(cls, "model_fields", {}) or cls.model_fields["kind"].annotation not in (str, Literal[name]):
        faults.append(Fault(f"{name} must be a Spec with the field  kind: str = {name!r}, so that a run can name it.",
                            where=_where(source, (*at, "kind"))))
        return None
    return construct(cls, item, source, at, faults)


def _where(source: Written, path: toml.Path_) -> str:
    return f"{source.where(path)}  {'.'.join(path)}".strip()


def _words(problem: Any, cls: type[Spec]) -> str:
    """pydantic's finding in our voice."""
    name, given = str(problem["loc"][-1]) if problem["loc"] else "", problem.get("input")
    if problem["type"] == "extra_forbidden":
        known = [key for key in cls.model_fields if key != "kind"]
        return f"there is no setting {name!r} here.{did_you_mean(name, known)} Settings: {', '.join(known)}."
    if problem["type"] == "missing":
        return f"{name} is not given."
    return f"{problem['msg']} (it says {given!r})"
