"""From plain values to Specs: values laid over each other, and every fault with its file and line at once."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import ValidationError

from foreword.basics import toml
from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault, did_you_mean
from foreword.basics.spec import Spec

LIMITS = {  # pydantic's names of what a number broke
    "greater_than_equal": "at least {}",
    "greater_than": "more than {}",
    "less_than_equal": "at most {}",
    "less_than": "below {}",
    "finite_number": "a finite number",
}
LONGEST = 80  # characters of a value that are repeated to who wrote it


@dataclass
class Written:
    """Values merged from several places, and where each came from."""

    values: JsonObject = field(default_factory=dict)
    places: dict[toml.Path_, str] = field(default_factory=dict)
    trusted: set[str] = field(default_factory=set)  # dotted kinds that the user named: only these import a module

    def trust(self, values: object) -> None:
        """Every dotted kind among these values may be imported: the user wrote them, or named the file they are from."""
        if isinstance(values, dict) and isinstance(values.get("kind"), str):
            self.trusted.add(values["kind"])
        for value in values.values() if isinstance(values, dict) else values if isinstance(values, list) else ():
            self.trust(value)

    def lay_over(self, values: JsonObject, places: dict[toml.Path_, str], at: toml.Path_ = ()) -> None:
        """Put `values` on top. A new `kind` drops every setting of the part that stood there, in every size as well."""
        mine: JsonObject = self.values
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
            if not isinstance(values, dict):  # a size that is switched off
                continue
            for name in path[:-1]:
                values = values.get(name, {})
            if "kind" not in values.get(path[-1], {"kind": ""}):  # a size that names its own kind keeps it
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


def construct(cls: type[Spec], values: JsonObject, source: Written, at: toml.Path_, faults: list[Fault]) -> Any:
    """`cls` from plain values, its chosen parts first; None, and a fault for each thing wrong, if it cannot be."""
    before = len(faults)
    ready = {name: value for name, value in values.items() if name not in cls.retired or value != cls.retired[name]}
    for name, table in cls.chosen.items():
        given = values.get(name)
        items = given if isinstance(given, list) else [given]
        made = []
        for number, item in enumerate(items):
            path = (*at, name) if given is item else (*at, name, str(number))
            if isinstance(item, dict):
                made.append(_chosen(table, item, source, path, faults))
            elif item is not None:
                faults.append(
                    Fault(
                        f"this must be a section with a kind, one of {', '.join(table.names())} (it says {item!r}).",
                        where=_where(source, path),
                    )
                )
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


def _has_none(value: object) -> bool:
    return value is None or (isinstance(value, list) and any(item is None for item in value))


def _chosen(table: Any, item: JsonObject, source: Written, at: toml.Path_, faults: list[Fault]) -> Any:
    name = item.get("kind")
    if not isinstance(name, str):
        faults.append(Fault(f"it must say its kind, one of {', '.join(table.names())}.", where=_where(source, at)))
        return None
    try:
        cls = table.find(name, dotted=name in source.trusted or _admitted(name))
    except Fault as fault:
        faults.append(Fault(fault.what, where=_where(source, (*at, "kind"))))
        return None
    fields = cls.model_fields if isinstance(cls, type) and issubclass(cls, Spec) else {}
    if "kind" not in fields or fields["kind"].annotation not in (str, Literal[name]):
        faults.append(
            Fault(
                f"{name} must be a Spec with the field  kind: str = {name!r}, so that a run can name it.",
                where=_where(source, (*at, "kind")),
            )
        )
        return None
    return construct(cls, item, source, at, faults)


def _admitted(kind: str) -> bool:
    """The user let this module in: it is named in FOREWORD_MODULES, or the program that uses Foreword imported it."""
    module = kind.split(":")[0]
    return module in sys.modules or module in os.environ.get("FOREWORD_MODULES", "").split(",")


def _where(source: Written, path: toml.Path_) -> str:
    return f"{source.where(path)}  {'.'.join(path)}".strip()


def _words(problem: Any, cls: type[Spec]) -> str:
    """pydantic's finding in our voice."""
    name, given = str(problem["loc"][-1]) if problem["loc"] else "", problem.get("input")
    if problem["type"] == "extra_forbidden" and name in cls.retired:
        return f"there is no setting {name!r} any more; leave it out."
    if problem["type"] == "extra_forbidden":
        known = [key for key in cls.model_fields if key != "kind"]
        return f"there is no setting {name!r} here.{did_you_mean(name, known)} Settings: {', '.join(known)}."
    if problem["type"] == "missing":
        return f"{name} is not given."
    if problem["type"] in LIMITS:
        named = next(str(part) for part in reversed(problem["loc"]) if isinstance(part, str))
        limit = LIMITS[problem["type"]].format(*problem.get("ctx", {}).values())
        return f"{named} must be {limit} (it says {_shortened(given)})."
    if problem["type"] == "string_pattern_mismatch":
        return f"{name} cannot be {_shortened(given)}: it is the name of a folder too, without / and not beginning with a dot."
    return f"{problem['msg']} (it says {_shortened(given)})"


def _shortened(given: Any) -> str:
    said = repr(given)
    return said if len(said) <= LONGEST else f"{said[:LONGEST]}..."
