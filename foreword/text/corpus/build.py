"""From a plan to a corpus: one pass over all shards, and one more after each stage that has to know all documents first.

Passes are maps over shards that `Unfinished` keeps: whoever works, and however often it was killed, the bytes are the same.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from foreword.basics.files import JsonObject, read_json, write_json
from foreword.basics.messages import Fault
from foreword.basics.progress import say
from foreword.basics.shards import Pool, Workers
from foreword.basics.unfinished import Unfinished, settings_key
from foreword.text.corpus.facts import merged_facts
from foreword.text.corpus.passes import Pass, ShardOfSource, sketch_place
from foreword.text.corpus.plan import CorpusPlan
from foreword.text.corpus.stage import WholeStage, merged
from foreword.text.corpus.why import CONTENT

FORMAT = 1
SMALL = 2 * 2**20  # bytes below which starting processes costs more than it saves


def build_corpus(plan: CorpusPlan, out: Path, workers: Workers | None = None) -> JsonObject:
    """Write the folder `out`: the documents as jsonl, what was removed, and corpus.json, whose content is returned."""
    shards = [
        ShardOfSource(source, unit, number)
        for number, (source, unit) in enumerate(
            (place, unit) for place, source in enumerate(plan.sources) for unit in source.shards()
        )
    ]
    key = _key(plan, shards)
    if out.exists():
        return _existing(out, key)
    who = workers or Workers()
    sizes = [shard.unit.size for shard in shards]
    small = sum(sizes) < SMALL and not who.cluster
    with who.start() as pool, Unfinished(out, key) as unfinished:
        prepared = unfinished.map(
            pool, "prepared", Prepare(unfinished.folder, plan), range(len(plan.stages)), here=True
        )
        found = _run(plan, unfinished, pool, shards, sizes, small)
        content = {"format": FORMAT, "settings": key, "name": plan.name, **_build_summary(plan, found, prepared)}
        write_json(unfinished.folder / CONTENT, content)
        os.rename(unfinished.folder, out)
        for leftover in ("done", "sketches", "prepared"):
            shutil.rmtree(out / leftover, ignore_errors=True)
        (out / "plan.json").unlink()
    return content


def _key(plan: CorpusPlan, shards: list[ShardOfSource]) -> str:
    sources, stages = ([one.settings() for one in plan.sources], [one.settings() for one in plan.stages])
    cuts = [[shard.source, shard.unit.start, shard.unit.stop] for shard in shards]
    return settings_key({"format": FORMAT, "sources": sources, "stages": stages, "units": cuts})


def _existing(out: Path, key: str) -> JsonObject:
    if (out / CONTENT).is_file() and (there := read_json(out / CONTENT)).get("settings") == key:
        say(f"{out} is already there, made from the same files with the same settings: used as it is.")
        return there
    raise Fault(f"{out} is already there.", "Give another --out, or remove it.")


@dataclass(frozen=True)
class Prepare:
    """What a stage learns before it is run."""

    folder: Path
    plan: CorpusPlan

    def __call__(self, number: int) -> JsonObject:
        place = self.folder / "prepared" / str(number)
        place.mkdir(parents=True, exist_ok=True)
        return self.plan.stages[number].prepare(place)


@dataclass(frozen=True)
class Compare:
    """The sketches of all shards, in one place."""

    folder: Path
    number: int
    stage: WholeStage

    def __call__(self, shards: int) -> None:
        self.stage.compare([sketch_place(self.folder, self.number, shard) for shard in range(shards)])


def _run(
    plan: CorpusPlan, unfinished: Unfinished, pool: Pool, shards: list[ShardOfSource], sizes: list[int], small: bool
) -> list[list[JsonObject]]:
    """The records of all shards, pass by pass."""
    found: list[list[JsonObject]] = []
    for one in passes(plan, unfinished.folder):
        records = unfinished.map(pool, f"pass {one.number}", one, shards, sizes, small)
        found.append(records)
        _check_left(one, records)
        if one.last is not None:
            stage = plan.stages[one.last]
            assert isinstance(stage, WholeStage)
            unfinished.map(
                pool, f"{stage.kind} {one.last}", Compare(unfinished.folder, one.last, stage), [len(shards)], here=True
            )
        shutil.rmtree(unfinished.folder / f"pass-{one.number - 1}", ignore_errors=True)
    return found


def passes(plan: CorpusPlan, folder: Path) -> Iterator[Pass]:
    """A stage that has to know all documents is sketched in one pass, and run as the first of the next."""
    first, number, whole = 0, 0, [place for place, one in enumerate(plan.stages) if isinstance(one, WholeStage)]
    for last in whole:
        yield Pass(folder, number, plan, range(first, last), last)
        first, number = last, number + 1
    yield Pass(folder, number, plan, range(first, len(plan.stages)), None)


def _check_left(one: Pass, records: list[JsonObject]) -> None:
    """Who removed everything is said at once, and not after hours."""
    for place in (["read"] if one.number == 0 else []) + [str(stage) for stage in one.stages]:
        tally = merged(record["tallies"][place] for record in records)
        if tally["kept"][0]:
            continue
        if place == "read":
            why = ", ".join(f"{count:,} {rule}" for rule, count in tally["removed"].items())
            raise Fault("there is no text in the files given" + (f": {why}." if why else "."))
        rules = sorted(tally["removed"].items(), key=lambda item: -item[1])
        kind = one.plan.stages[int(place)].kind
        raise Fault(
            f"the stage {kind} removed all {tally['read'][0]:,} documents: "
            f"{', '.join(f'{rule} {count:,}' for rule, count in rules)}.",
            "Look at what it asks for, or leave it out.",
        )


def _build_summary(plan: CorpusPlan, found: list[list[JsonObject]], prepared: list[JsonObject]) -> JsonObject:
    """What goes into corpus.json: sources, stages in order, and facts about what was kept."""
    records = [record for some in found for record in some]
    tallies: dict[str, list[JsonObject]] = {str(place): [] for place in range(len(plan.stages))}
    for record in records:
        for place in tallies.keys() & record["tallies"].keys():
            tallies[place].append(record["tallies"][place])
    sources = [
        {"kind": source.kind, "licence": source.licence, "paths": [str(path) for path in source.paths]}
        | {"name": source.called}
        | merged(record["tallies"]["read"] for record in found[0] if record["source"] == place)
        for place, source in enumerate(plan.sources)
    ]
    stages = [
        {
            "kind": stage.kind,
            "settings": stage.model_dump(mode="json"),
            **prepared[place],
            **merged(tallies[str(place)]),
        }
        for place, stage in enumerate(plan.stages)
    ]
    return {"sources": sources, "stages": stages, **merged_facts([record["facts"] for record in found[-1]])}
