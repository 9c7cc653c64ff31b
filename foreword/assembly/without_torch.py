"""Resolve a recipe without torch.

Each part keeps its settings and its computation in one file, which therefore imports torch. To check, show or compare settings,
only the first half is needed: here such files are imported with a stand-in for torch, and forgotten again afterwards.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from foreword.assembly import loader
from foreword.basics.files import JsonObject
from foreword.basics.sections import Written


def resolved(name: str, size: str = "", settings: Sequence[str] = ()) -> tuple[JsonObject, Written]:
    """(all values of a checked recipe, the same as they were written); or all that is wrong with it."""
    found = loader.written(name, size, settings)
    if any(":" in kind for kind in found.trusted):  # the user's own code may need torch for more than definitions
        return loader.load(name, size, settings).values(), found
    with _stand_in():
        return loader.load(name, size, settings).values(), found


class _Anything(type):
    """The type of everything in the stand-in: classes whose attributes are more of them."""

    def __getattr__(cls, name: str) -> _Anything:
        if name.startswith("__") or not cls.__dict__.get(
            "of_torch"
        ):  # a class of ours that has one of theirs as its base
            raise AttributeError(name)
        return _Anything(name, (_Inert,), {"of_torch": True})


class _Inert(metaclass=_Anything):
    """What a definition needs: a base class, a decorator, a value to pass on. It computes nothing."""

    of_torch = True

    def __init__(self, *args: Any, **settings: Any):
        pass

    def __getattr__(self, name: str) -> object:
        return self

    def __call__(self, decorated: object = None, *args: object, **settings: object) -> object:
        """As a decorator: methods stay what they are, for the sake of settings that have them; functions compute nothing."""
        return decorated if "." in getattr(decorated, "__qualname__", ".") else self


class _Finder(MetaPathFinder, Loader):
    """Finds `torch` and everything below it: modules that hold anything."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.split(".")[0] == "torch" else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name)
        module.__dict__["__getattr__"] = lambda name: getattr(_Inert, name)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


@contextmanager
def _stand_in() -> Iterator[None]:
    """Import with the stand-in; nothing if torch is there already. What was imported so is forgotten at the end."""
    if "torch" in sys.modules:
        yield
        return
    before, finder = set(sys.modules), _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in set(sys.modules) - before:
            if name.split(".")[0] in ("torch", "foreword"):
                module = sys.modules.pop(name)
                parent, _, child = name.rpartition(".")
                if getattr(sys.modules.get(parent), child, None) is module:
                    delattr(sys.modules[parent], child)
