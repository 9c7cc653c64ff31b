"""From a recipe's file to a Recipe: `extends`, `sizes`, `--set`, and every fault with its file and line at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreword.assembly.catalogue import RECIPES, find, shown
from foreword.basics import toml
from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault, Faults, did_you_mean
from foreword.basics.sections import Written, construct

if TYPE_CHECKING:
    from foreword.assembly.recipe import Recipe

SECTIONS = ("network", "head", "objective", "batches", "tokenizer", "training")
DEEPEST = 3  # generations of `extends`: more cannot be read at a glance


def written(name: str, size: str = "", settings: Sequence[str] = (), named: bool = True) -> Written:
    """The merged values of a recipe before they are checked. Only a file that the user named may import code."""
    chain: list[tuple[Path, JsonObject, dict[toml.Path_, int]]] = []
    path: Path | None = find(name)
    while path is not None:
        values, lines = toml.read(path)
        _check_form(values, lines, shown(path))
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
        _lay_shared_sizes(merged, values, lines)
        merged.lay_over(values, {key: f"{shown(path)}:{line}" for key, line in lines.items()})
        if "sizes" in merged.values:  # `xl = false`: a size of the parent that this system does not have
            merged.values["sizes"] = {
                size: given for size, given in merged.values["sizes"].items() if given is not False
            }
    if named and not Path(name).is_dir():
        merged.trust(merged.values)
    sizes = merged.values.pop("sizes", {})
    if size and size != merged.values.get("size"):
        if size not in sizes:
            offered = ", ".join(sizes) or "none"
            raise Fault(f"{name} has no size {size!r}.{did_you_mean(size, sizes)} Sizes: {offered}.")
        places = {key[2:]: place for key, place in merged.places.items() if key[:2] == ("sizes", size) and key[2:]}
        merged.lay_over(sizes[size], places)
        merged.values["size"] = size
        merged.places[("size",)] = f"--size {size}"
    lay_settings(merged, settings)
    return merged


def _check_form(values: JsonObject, lines: dict[toml.Path_, int], source: str) -> None:
    """What must be a table is one, before anything is laid over anything; the rest is for the parts to say."""
    wrong: list[tuple[toml.Path_, str]] = []
    if not isinstance(values.get("extends", ""), str):
        wrong.append((("extends",), "this is the name of one recipe."))
    tables: dict[toml.Path_, Any] = {(section,): values.get(section, {}) for section in SECTIONS}
    sizes = values.get("sizes", {})
    tables[("sizes",)] = sizes
    for size, given in sizes.items() if isinstance(sizes, dict) else ():
        if given is not False:  # a size that is switched off
            tables[("sizes", size)] = given
            tables |= {("sizes", size, name): given.get(name, {}) for name in SECTIONS if isinstance(given, dict)}
    wrong += [(path, f"this must be a section: [{'.'.join(path)}].") for path, one in tables.items() if _flat(one)]
    if wrong:
        raise Faults(Fault(what, where=f"{source}:{lines.get(path, 1)}  {'.'.join(path)}") for path, what in wrong)


def _flat(value: Any) -> bool:
    return not isinstance(value, dict)


def _lay_shared_sizes(merged: Written, values: JsonObject, lines: dict[toml.Path_, int]) -> None:
    """A size that is `like` one of recipes/sizes begins with what stands there."""
    for size, given in values.get("sizes", {}).items():
        if not isinstance(given, dict) or "like" not in given:
            continue
        lines.pop(("sizes", size, "like"), None)
        like, known = str(given.pop("like")), {path.stem: path for path in sorted((RECIPES / "sizes").glob("*.toml"))}
        if like not in known:
            raise Fault(f"there is no size {like!r} to be like.{did_you_mean(like, known)} Sizes: {', '.join(known)}.")
        path = known[like]
        shared, places = toml.read(path)
        merged.lay_over(
            {"sizes": {size: shared}}, {("sizes", size, *key): f"{shown(path)}:{line}" for key, line in places.items()}
        )


def lay_settings(merged: Written, settings: Sequence[str]) -> None:
    """What `--set` says, on top."""
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key.strip():
            raise Fault(f"--set {setting}: a setting is written section.key=value.")
        nested: Any = toml.value(text.strip())
        path_ = tuple(key.strip().split("."))
        for part in reversed(path_):
            nested = {part: nested}
        merged.trust(nested)
        merged.lay_over(nested, {path_[:n]: f"--set {setting}" for n in range(1, len(path_) + 1)})


def _parent(name: str, child: Path) -> Path:
    """A recipe's parent: by name, or a file beside it."""
    beside = child.parent / name
    return beside if beside.suffix == ".toml" and beside.is_file() else find(name)


def _complete(values: JsonObject) -> bool:
    """A saved recipe is already resolved: it tells its parent but needs nothing from it, since every section says its kind."""
    return all("kind" in values.get(section, {}) for section in SECTIONS if section != "head")


def load(name: str, size: str = "", settings: Sequence[str] = (), named: bool = True) -> Recipe:
    """A checked recipe, or all that is wrong with it. `named`: the user gave this file, so its dotted kinds are imported."""
    return _checked(written(name, size, settings, named))


def from_values(values: JsonObject, source: str, settings: Sequence[str] = ()) -> Recipe:
    """A recipe from plain values (a model folder's config), checked in the same way. Its dotted kinds import nothing."""
    if _flat(values) or toml.deeper_than(toml.DEEPEST, values):
        raise Fault("what stands there is no recipe.", where=source)
    _check_form(values, {}, source)
    merged = Written()
    merged.lay_over(values, {(key,): source for key in values})
    lay_settings(merged, settings)
    return _checked(merged)


def _checked(merged: Written) -> Recipe:
    # with it come all parts and torch, which a mistyped name need not wait for
    from foreword.assembly.recipe import Recipe

    faults: list[Fault] = []
    recipe = construct(Recipe, merged.values, merged, (), faults)
    if faults:
        raise Faults(faults)
    return recipe
