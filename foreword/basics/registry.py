"""Tables from the names used in recipes to the classes that answer them, imported only when asked for."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from pathlib import Path
from typing import Any

from foreword.basics.messages import Fault, did_you_mean


class Registry:
    """`kind` -> class. A dotted path ("my_package.my_module:MyNetwork") needs no entry, but the caller's permission."""

    def __init__(self, noun: str, places: dict[str, str]):
        self.noun, self.places = noun, places

    def names(self) -> list[str]:
        return sorted(self.places)

    def find(self, kind: str, dotted: bool = False) -> Any:
        """The class of this name. `dotted`: the user named it, so a module of the user's own may be imported."""
        if kind not in self.places and ":" in kind and not dotted:
            raise Fault(_refused(kind))
        place = self.places.get(kind, kind)
        if ":" not in place:
            quoted = ", ".join(repr(name) for name in self.names())
            raise Fault(f"{kind!r} is not one of {quoted}.{did_you_mean(kind, self.names())}")
        module, name = place.split(":", 1)
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise Fault(f"the {self.noun} {place!r} could not be imported: {error}.") from error

    def about(self, kind: str) -> str:
        """The first line of the class's docstring (or else its module's), read from the source without importing it."""
        module, name = self.places[kind].split(":", 1)
        found = importlib.util.find_spec(module)
        if found is None or not found.origin:
            return ""
        tree = ast.parse(Path(found.origin).read_text(encoding="utf-8"))
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
        text = (
            next((doc for node in classes if (doc := ast.get_docstring(node))), None) or ast.get_docstring(tree) or ""
        )
        return text.split("\n")[0]


def _refused(kind: str) -> str:
    module = kind.split(":")[0]
    return (
        f"{kind!r} is code from outside Foreword. A recipe that you name may import it; a run or a model folder "
        f"may not. If you trust {module}: set FOREWORD_MODULES={module}, or `import {module}` in Python first."
    )
