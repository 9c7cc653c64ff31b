"""Text that any machine with Python holds: the language's own documentation and the docstrings of its packages."""

from __future__ import annotations

import ast
import gc
import importlib.util
import os
import sysconfig
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from foreword.basics.shards import Workers
from foreword.text.document import Document

PACKAGES = ("numpy", "torch", "sympy", "networkx")
LEAST = 200  # a file with fewer characters of documentation has nothing to say
SKIPPED = {"test", "tests", "testing", "idle_test", "site-packages", "dist-packages", "__pycache__", "lib2to3"}
Named = tuple[str, str]  # a file, and the name it goes by


def found_documents(packages: Sequence[str] = PACKAGES, workers: int | None = None) -> Iterator[Document]:
    """Python's topics, then one document per file of the standard library and of the packages that are installed."""
    yield from _topics()
    files = [*_files(Path(sysconfig.get_path("stdlib")), "python")]
    for package in packages:
        if folder := _folder(package):
            files.extend(_files(folder, package))
    groups = [files[start : start + 64] for start in range(0, len(files), 64)]
    with Workers(workers).start() as pool:
        for documents in pool.map(_read, groups, here=len(groups) == 1):
            yield from documents


def _topics() -> Iterator[Document]:
    try:
        from pydoc_data.topics import topics
    except ImportError:  # some distributions package it apart
        return
    for name in sorted(topics):
        text = topics[name].strip()
        if len(text) >= LEAST:
            yield Document(text, f"python/topics/{name}")


def _folder(package: str) -> Path | None:
    """Where a package is, without importing it."""
    spec = importlib.util.find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


def _files(folder: Path, name: str) -> Iterator[Named]:
    for inside, folders, names in os.walk(folder):
        folders[:] = sorted(child for child in folders if child not in SKIPPED)
        for file in sorted(names):
            if file.endswith(".py"):
                path = Path(inside, file)
                yield str(path), f"{name}/{path.relative_to(folder).as_posix()}"


def _read(files: Sequence[Named]) -> list[Document]:
    found = []
    collecting = gc.isenabled()
    gc.disable()  # syntax trees are many objects without cycles: looking for them takes a third of the time
    try:
        for path, name in files:
            text = docstrings(Path(path))
            if len(text) >= LEAST:
                found.append(Document(text, name))
    finally:
        if collecting:
            gc.enable()
    return found


def docstrings(path: Path) -> str:
    """The docstrings of a source file in the order they stand, a blank line between two."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other people's escape sequences are not our business
            tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError, RecursionError):  # a template, another version's file
        return ""
    parts = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            parts.append((ast.get_docstring(node) or "").strip())
        # docstrings live in statements: expressions, the larger part of a tree, need no visit
        waiting.extend(
            reversed(
                [
                    child
                    for field in ("body", "orelse", "handlers", "finalbody", "cases")
                    for child in getattr(node, field, ())
                    if isinstance(child, ast.AST)
                ]
            )
        )
    return _printable("\n\n".join(filter(None, parts)))


def _printable(text: str) -> str:
    """Without lone surrogates, which some docstrings hold as escapes and UTF-8 cannot."""
    return text if text.isascii() else text.encode("utf-8", "ignore").decode("utf-8")
