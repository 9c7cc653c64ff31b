"""TOML with line numbers in, and plain TOML out."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from foreword.basics.files import UNREADABLE, JsonObject, nested_or_long
from foreword.basics.messages import Fault

Path_ = tuple[str, ...]
DEEPEST = 32  # tables in tables; a recipe has five
_HEADER = re.compile(r"^\s*\[(\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"^\s*([A-Za-z0-9_\-.\"']+)\s*=")


def read(path: Path) -> tuple[JsonObject, dict[Path_, int]]:
    """The values of a file, and the line on which each key stands."""
    try:
        text = path.read_bytes().decode("utf-8")
        values = tomllib.loads(text)
    except FileNotFoundError as error:
        raise Fault(f"{path} is not there.") from error
    except (UnicodeDecodeError, IsADirectoryError) as error:
        raise Fault(f"{path} is not a text file in UTF-8.") from error
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise Fault(f"not valid TOML: {error}.", where=f"{path}:{line.group(1) if line else 1}") from error
    except UNREADABLE as error:
        raise Fault(f"not valid TOML: {nested_or_long(error)}.", where=str(path)) from error
    if deeper_than(DEEPEST, values):
        raise Fault(f"not a recipe: sections are nested more than {DEEPEST} deep.", where=str(path))
    return values, dict(_lines(text))


def _lines(text: str) -> Iterator[tuple[Path_, int]]:
    section: Path_ = ()
    several: dict[Path_, int] = {}  # [[section]] -> the number of the latest
    for number, line in enumerate(text.split("\n"), 1):
        if header := _HEADER.match(line):
            section = tuple(part.strip(" \"'") for part in header.group(2).split("."))
            if header.group(1):
                if section not in several:
                    yield section, number
                several[section] = several.get(section, -1) + 1
                section = (*section, str(several[section]))
            yield section, number
        elif key := _KEY.match(line):
            yield section + tuple(part.strip(" \"'") for part in key.group(1).split(".")), number


def value(text: str) -> object:
    """What is written after `--set key=`: a TOML value, or else plain words."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    except UNREADABLE as error:
        raise Fault(f"{text[:40]}...: {nested_or_long(error)}.") from error


def deeper_than(depth: int, value: Any) -> bool:
    """Whether tables and lists stand in each other more often than that; found level by level, not by recursion."""
    level = [value]
    for _ in range(depth):
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
        level = [inner for inner in level if isinstance(inner, (dict, list))]
    return bool(level)


def write(values: JsonObject) -> str:
    """Values as TOML: plain keys first, then one section for each table."""
    return "\n".join(_section(values, ())).strip() + "\n"


def _section(values: JsonObject, at: Path_) -> Iterator[str]:
    plain = {key: item for key, item in values.items() if not isinstance(item, dict)}
    tables = {key: item for key, item in values.items() if isinstance(item, dict)}
    if at and (plain or not tables):
        yield f"\n[{'.'.join(at)}]"
    for key, item in plain.items():
        yield f"{key} = {_literal(item)}"
    for key, item in tables.items():
        yield from _section(item, (*at, key))


def _literal(item: Any) -> str:
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, (int, float)):
        return repr(item)
    if isinstance(item, str):
        return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")  # JSON's escapes are TOML's too
    if isinstance(item, dict):
        return "{ " + ", ".join(f"{key} = {_literal(inner)}" for key, inner in item.items()) + " }"
    return "[" + ", ".join(_literal(inner) for inner in item) + "]"
