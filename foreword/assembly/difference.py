"""What differs between two recipes, setting by setting."""

from __future__ import annotations

import json
from collections.abc import Mapping


def difference(one: Mapping[str, object], other: Mapping[str, object], at: str = "") -> list[str]:
    """What differs between two recipes' values, one line each."""
    found = []
    for key in dict.fromkeys([*one, *other]):
        name = f"{at}{key}"
        a, b = one.get(key), other.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            found += difference(a, b, f"{name}.")
        elif a != b:
            found.append(f"{name}: {_shown(a)} -> {_shown(b)}")
    return found


def _shown(value: object) -> str:
    return "(not given)" if value is None else json.dumps(value, ensure_ascii=False)
