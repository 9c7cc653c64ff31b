"""Names in tagged words: which stretches BIO, BIOES or IOB1 tags mark, read as the CoNLL evaluation reads them.

Broken tags are read the lenient way: an I- without a beginning begins a name, another type ends one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Entity = tuple[str, int, int]  # type, first word, word after the last

_MARKS = {"B": "B", "I": "I", "M": "I", "E": "E", "L": "E", "S": "S", "U": "S"}  # BMES and BILOU say the same otherwise


def entities(tags: Sequence[str]) -> set[Entity]:
    """The names that the tags mark."""
    found: set[Entity] = set()
    begun, before, kind = -1, "O", ""
    for place, tag in enumerate([*tags, "O"]):
        mark, _, named = tag.partition("-")
        mark = _MARKS.get(mark, "O")
        inside = mark != "O"
        goes_on = inside and begun >= 0 and mark in "IE" and named == kind and before not in "ES"
        if begun >= 0 and not goes_on:
            found.add((kind, begun, place))
            begun = -1
        if inside and begun < 0:
            begun, kind = place, named
        before = mark
    return found


def in_iob1(tagged: Iterable[Sequence[str]]) -> bool:
    """Whether B- is used, but only where a name follows another of its type: all others begin with I-."""
    used = False
    for tags in tagged:
        for before, tag in zip(["O", *tags], tags):
            if tag[:2] not in ("B-", "I-", "O") or (tag[:2] == "B-" and before[2:] != tag[2:]):
                return False
            used = used or tag[:2] == "B-"
    return used


def to_iob2(tags: Sequence[str]) -> tuple[str, ...]:
    """B- at the beginning of every name."""
    return tuple(
        f"B-{tag[2:]}" if tag[:2] == "I-" and before[2:] != tag[2:] else tag for before, tag in zip(["O", *tags], tags)
    )
