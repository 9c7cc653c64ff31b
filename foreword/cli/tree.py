"""`foreword tree`: who extends whom."""

from __future__ import annotations


def tree() -> None:
    """Print the recipes as a family tree: a child says only what it changed."""
    from foreword.assembly.catalogue import Entry, entries

    found = entries()

    def branch(entry: Entry, depth: int) -> None:
        print(f"{'    ' * depth}{entry.name:<{32 - 4 * depth}} {entry.year}  {entry.about}")
        for child in found:
            if child.extends == entry.name:
                branch(child, depth + 1)

    for entry in found:
        if not entry.extends:
            branch(entry, 0)
