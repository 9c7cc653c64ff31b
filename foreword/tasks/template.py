"""Templates: text with {fields} of an example in it, and nothing else. {question.stem} looks inside, {{ is a brace."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from foreword.basics.messages import Fault, Faults, did_you_mean
from foreword.basics.spec import Spec

Row = Mapping[str, Any]  # the fields of one example
_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class MissingField(KeyError):
    """A template names a field that an example does not have."""

    def __init__(self, name: str):
        super().__init__(name)
        self.name = name


def names(template: str) -> list[str]:
    """The fields a template speaks of."""
    return [part.group(1) for part in _PART.finditer(template) if part.group(1) is not None]


def wrong(template: str) -> str:
    """What is wrong with how a template is written, or nothing."""
    for part in _PART.finditer(template):
        if part.group(0) in "{}":
            return f"a lone {part.group(0)} in {template!r}; a brace that is text is written twice: {part.group(0) * 2}"
        if part.group(1) is not None and not part.group(1).strip():
            return f"an empty field {{}} in {template!r}; name the field of the example that belongs there"
    return ""


def value(name: str, row: Mapping[str, object]) -> object:
    """One field: `question`, `question.stem`, `choices.0`."""
    if "|" in name:  # the first of several names that the row has
        return value(next((one for one in name.split("|") if one.split(".")[0] in row), name.split("|")[0]), row)
    found: object = row
    for part in name.split("."):
        if isinstance(found, Mapping) and part in found:
            found = found[part]
        elif isinstance(found, (list, tuple)) and part.isdigit() and int(part) < len(found):
            found = found[int(part)]
        else:
            raise MissingField(name)
    return found


def render(template: str, row: Mapping[str, object]) -> str:
    """The template with an example's fields in their places."""

    def put(part: re.Match[str]) -> str:
        return part.group(0)[0] if part.group(1) is None else str(value(part.group(1), row))

    return _PART.sub(put, template)


def items(template: str, row: Mapping[str, Any]) -> list[str]:
    """The list that a single field holds."""
    found = value(named[0], row) if len(named := names(template)) == 1 and template == f"{{{named[0]}}}" else None
    if not isinstance(found, (list, tuple)):
        raise TypeError(f"{template!r} must be one field that holds a list")
    return [str(item) for item in found]


class Templated(Spec):
    """Settings some of which are templates, or several templates each."""

    templated: ClassVar[tuple[str, ...]] = ()  # the settings that are
    own_fields: ClassVar[tuple[str, ...]] = ()  # fields of templates that are not fields of the row

    def templates(self, settings: Sequence[str] | None = None) -> dict[str, str]:
        """Template by the setting it stands in; of several in one setting, `choices.0`, `choices.1`."""
        found: dict[str, str] = {}
        for name in self.templated if settings is None else settings:
            said = getattr(self, name)
            several = {f"{name}.{place}": one for place, one in enumerate(said)}
            found |= {name: said} if isinstance(said, str) else several
        return found

    def faults(self) -> list[tuple[str, str]]:
        return [(setting, said) for setting, template in self.templates().items() if (said := wrong(template))]

    def check_fields(self, row: Row, place: Callable[[str], str], settings: Sequence[str] | None = None) -> None:
        """Every field that a template names is there. `place`: file and line of a setting."""
        faults = []
        for setting, name in self.fields(settings):
            try:
                value(name, row)
            except MissingField:
                what = f"the rows have no column {name!r}.{did_you_mean(name, row)} Columns: {', '.join(row)}."
                faults.append(Fault(what, where=place(setting)))
        if faults:
            raise Faults(faults)

    def fields(self, settings: Sequence[str] | None = None) -> list[tuple[str, str]]:
        """(setting, field of the row) for every field that a template names."""
        return [
            (setting, name)
            for setting, template in self.templates(settings).items()
            for name in names(template)
            if name not in self.own_fields
        ]
