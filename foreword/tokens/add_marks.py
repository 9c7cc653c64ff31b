"""Words, phrases and entities for a store that is there: its text is read again, its ids stay what they are."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from foreword.basics.messages import Fault
from foreword.basics.shards import Workers
from foreword.text.reading import fingerprint
from foreword.tokens.build import build_store
from foreword.tokens.marks import MARKS
from foreword.tokens.store import StoreContent, read_content
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.units import UnitsSpec


def add_units(folder: Path, units: UnitsSpec, workers: Workers | None = None) -> StoreContent:
    """The same store, with the marks of these units."""
    content = read_content(folder)
    given = content.get("given") or {"": content["sources"]["paths"]}
    paths = {split: [Path(path) for path in some] for split, some in given.items()}
    every = [path for some in paths.values() for path in some]
    again = "Make it again from the text:  foreword tokens TEXT --words auto --out STORE"
    if gone := [path for path in every if not path.exists()]:
        raise Fault(f"{folder} was made from {gone[0]}, which is not there any more.", again)
    if fingerprint(every) != content["sources"]["fingerprint"]:
        raise Fault(f"the text that {folder} was made from has changed since.", again)
    made, before = (folder.with_name(f"{folder.name}.{end}") for end in ("marked", "before"))
    train, valid, test = content["fractions"]
    new = build_store(
        paths if "given" in content else every,
        made,
        Tokenizer.load(folder),
        content["documents"],
        content["column"],
        (train, valid, test),
        [name for name in content["marks"] if name in MARKS],
        workers,
        units=units,
    )
    if _ids(new) != _ids(content):
        shutil.rmtree(made)
        raise Fault(f"{folder} was made by another Foreword, which cut its text otherwise.", again)
    os.rename(folder, before)
    os.rename(made, folder)
    shutil.rmtree(before)
    return new


def _ids(content: StoreContent) -> dict[str, list[str]]:
    return {split: [shard["checksum"] for shard in about["shards"]] for split, about in content["splits"].items()}
