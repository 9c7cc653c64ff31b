"""The same tasks from huggingface.co, through `datasets`: names instead of class numbers, in columns called as in our files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault
from foreword.basics.packages import needed
from foreword.basics.spec import Spec
from foreword.tasks.template import Row

PREFIX = "hf:"
NO_LABEL = "-"  # what stands where a data set says -1


class Hub(Spec):
    """Where a data set is, which of its splits are which, and which columns are called otherwise than here."""

    path: str  # a name there, a folder, or "json" / "csv" with `files`
    config: str = ""
    train: str = ""
    valid: str = ""
    test: str = ""
    rename: dict[str, str] = {}  # its column -> ours
    files: dict[str, str] = {}  # split -> file, for "json" and "csv"
    revision: str = ""

    def splits(self) -> dict[str, str]:
        """Our split -> theirs; all they have, by their usual names, where none is given."""
        named = {"train": self.train, "dev": self.valid, "test": self.test}
        return {ours: theirs for ours, theirs in named.items() if theirs}


USUAL = {"train": ("train",), "dev": ("validation", "valid", "dev"), "test": ("test",)}


def rows(hub: Hub) -> dict[str, Sequence[Row]]:
    """Rows by our split: train, dev, test."""
    there = _downloaded(hub)
    wanted = hub.splits() or {ours: name for ours, names in USUAL.items() for name in names if name in there}
    wanted = wanted or dict(zip(("train",), there))
    if gone := [name for name in wanted.values() if name not in there]:
        raise Fault(f"{hub.path} has no split {gone[0]!r}. It has: {', '.join(there)}.")
    return {ours: _named(there[theirs], hub.rename) for ours, theirs in wanted.items()}


def _downloaded(hub: Hub) -> Any:
    library = needed("datasets", "hf", "data from huggingface.co needs")
    try:
        given = {"data_files": hub.files or None, "revision": hub.revision or None}
        return library.load_dataset(hub.path, hub.config or None, **given)
    except (OSError, ValueError, library.exceptions.DatasetsError) as error:  # no network, no such data set or config
        raise Fault(
            f"{hub.path} could not be loaded: {str(error).splitlines()[0]}",
            "Is there a network, and does the name stand at huggingface.co/datasets?",
        ) from error


def _named(split: Any, rename: Mapping[str, str]) -> list[JsonObject]:
    """Rows with class numbers turned into names, at any depth of lists."""
    features = split.features
    return [{rename.get(name, name): _words(features[name], value) for name, value in row.items()} for row in split]


def _words(feature: Any, value: Any) -> Any:
    inner = feature[0] if isinstance(feature, list) else getattr(feature, "feature", None)
    if isinstance(value, list) and inner is not None:
        return [_words(inner, one) for one in value]
    if hasattr(feature, "int2str") and isinstance(value, int):
        return feature.int2str(value) if value >= 0 else NO_LABEL
    return value
