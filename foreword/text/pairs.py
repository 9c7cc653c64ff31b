"""Two files whose lines belong together, a source and its target, as one file of dialogues of two turns."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from foreword.basics.files import cache_folder, write_text
from foreword.basics.messages import Fault, Faults
from foreword.text import reading


def lines_of(path: Path) -> list[str]:
    """The lines of a file, cut at newlines alone."""
    if not path.is_file():
        raise Fault(f"{path} is not there.", "Give a file of sources and one of targets:  --pairs train.en train.de")
    text = path.read_text(encoding="utf-8")
    return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]


def joined(sources: Path, targets: Path) -> Path:
    """A jsonl file of both, kept for the next time. Every line that has no partner or no text is named."""
    first, second = lines_of(sources), lines_of(targets)
    if len(first) != len(second):
        shorter, longer = sorted((sources, targets), key=lambda path: len(lines_of(path)))
        least, most = sorted((len(first), len(second)))
        raise Fault(
            f"{shorter} has {least:,} lines, {longer} has {most:,}: line {least + 1:,} of {longer} has no partner.",
            "Line n of one is the translation of line n of the other.",
        )
    empty = [
        Fault(f"{path}:{number}  the line is empty.")
        for path, lines in ((sources, first), (targets, second))
        for number, line in enumerate(lines, 1)
        if not line.strip()
    ]
    if empty:
        more = [Fault(f"and {len(empty) - 5:,} more.")] if len(empty) > 5 else []
        raise Faults([*empty[:5], *more, Fault("a pair needs both its texts.", "Remove the line from both files.")])
    said = f"{reading.fingerprint([sources])}|{reading.fingerprint([targets])}"
    key = hashlib.blake2b(said.encode(), digest_size=6).hexdigest()
    out = cache_folder() / "pairs" / f"{sources.stem}-{key}.jsonl"
    if not out.is_file():
        out.parent.mkdir(parents=True, exist_ok=True)
        rows = (json.dumps({"turns": list(pair)}, ensure_ascii=False) for pair in zip(first, second))
        write_text(out, "\n".join(rows) + "\n")
    return out
