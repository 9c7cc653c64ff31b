"""Addresses worth reading, from Reddit's submissions: WebText's first stages (Radford et al. 2019, section 2.1).

Links outward, with at least three karma, before a date, without Wikipedia. Nothing is downloaded.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from foreword.basics.files import JsonObject, write_atomically
from foreword.basics.messages import Fault
from foreword.basics.shards import Workers
from foreword.basics.unfinished import Unfinished, settings_key
from foreword.text.reading import Unit
from foreword.text.reddit import each, units
from foreword.text.rows import RowFault

REDDIT = ("reddit.com", "redd.it", "redditmedia.com")
SMALL = 4 * 2**20  # bytes below which starting processes costs more than it saves


@dataclass(frozen=True)
class LinkRules:
    """Which links are wanted."""

    karma: int = 3
    before: str = "2017-12-01"  # WebText's date
    without: tuple[str, ...] = ("wikipedia.org",)  # hosts, and all below them

    @property
    def until(self) -> float:
        try:
            return datetime.fromisoformat(self.before).replace(tzinfo=UTC).timestamp()
        except ValueError as error:
            raise Fault(f"--before {self.before}: it is written as 2017-12-01.") from error

    def objection(self, row: JsonObject, time: float) -> str:
        """Why a submission is no link that is wanted, or nothing."""
        host = _host(row.get("url"))
        if row.get("is_self") or not host or _below(host, REDDIT):
            return "not a link outward"
        if int(row.get("score") or 0) < self.karma:
            return f"karma below {self.karma}"
        if time >= self.until:
            return f"not before {self.before}"
        return next((one for one in self.without if _below(host, (one,))), "")


def collect_links(
    paths: Sequence[Path], out: Path, rules: LinkRules | None = None, workers: Workers | None = None
) -> JsonObject:
    """Write the addresses to `out`, one to a line and each once; what was counted is returned."""
    rules, who, work = rules or LinkRules(), workers or Workers(), units(paths)
    if out.exists():
        raise Fault(f"{out} is already there.", "Give another --out, or remove it.")
    _ = rules.until  # said before anything is read
    files = [[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in map(Path, paths)]
    key = settings_key({"links": 1, "files": files, "units": len(work), **asdict(rules)})
    sizes = [unit.size for unit in work]
    counts: Counter[str] = Counter()
    with who.start() as pool, Unfinished(out, key) as unfinished:
        small = sum(sizes) < SMALL and not who.cluster
        found = unfinished.map(pool, "links", LinkReader(rules), work, sizes, small)
        seen: dict[str, None] = {}
        for one in found:
            counts.update(one["counts"])
            for address in one["links"]:
                counts["seen before"] += address in seen
                seen[address] = None
        text = "".join(f"{address}\n" for address in seen)
        write_atomically(out, lambda partial: partial.write_text(text, encoding="utf-8"))
        shutil.rmtree(unfinished.folder)
    return {
        "submissions": counts.pop("submissions", 0),
        "removed": {k: v for k, v in counts.items() if v},
        "links": len(seen),
    }


@dataclass(frozen=True)
class LinkReader:
    """The links of a unit that are wanted, in order, and why the others are not."""

    rules: LinkRules

    def __call__(self, unit: Unit) -> JsonObject:
        counts: Counter[str] = Counter()
        links = []
        for row, time in each(unit, _checked):
            counts["submissions"] += 1
            if why := self.rules.objection(row, time):
                counts[why] += 1
            else:
                links.append(str(row["url"]).strip())
        return {"counts": dict(counts), "links": links}


def _checked(row: Any, number: int) -> tuple[JsonObject, float]:
    if not isinstance(row, dict) or "id" not in row or "title" not in row:
        raise RowFault(
            number, "this is no submission (id, title, url, score).", "Pushshift's RS files have one to a line."
        )
    try:
        int(row.get("score") or 0)
        return row, float(row.get("created_utc") or 0)
    except (TypeError, ValueError) as error:
        raise RowFault(number, f"score or created_utc is no number: {error}.") from error


def _host(address: Any) -> str:
    try:
        parts = urlsplit(address.strip()) if isinstance(address, str) else None
        return (parts.hostname or "") if parts and parts.scheme in ("http", "https") else ""
    except ValueError:  # as http://[
        return ""


def _below(host: str, names: Sequence[str]) -> bool:
    return any(host == name or host.endswith(f".{name}") for name in names)
