"""Dialogues from Reddit's files: posts are read unit by unit, threads put together in one place, replies judged in groups."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple, dataclass
from functools import cached_property
from pathlib import Path

from foreword.basics.files import JsonObject, parse_json, write_atomically, write_json_lines
from foreword.basics.messages import Fault
from foreword.basics.shards import Workers
from foreword.basics.unfinished import Unfinished, settings_key
from foreword.text.reading import Unit
from foreword.text.reddit import MOST_TURNS, Post, Threads, communities, posts, units
from foreword.text.reply_rules import OFTEN, Blandness, CachedReplyFilter, Rule, rules

FORMAT = 1
GROUP = 20_000  # replies that are judged at a time
SMALL = 4 * 2**20  # bytes below which starting processes costs more than it saves
Pair = tuple[str, str]  # a turn and the reply to it


@dataclass(frozen=True)
class RedditSettings:
    """Which dialogues are wanted."""

    language: str = "en"
    offensive: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    turns: int = MOST_TURNS
    often: int = OFTEN


def reddit_corpus(
    paths: Sequence[Path], out: Path, wanted: RedditSettings | None = None, workers: Workers | None = None
) -> JsonObject:
    """Write a line of JSON to `out` for every path of a thread that has a reply to learn; what was counted is returned."""
    wanted, who, work = wanted or RedditSettings(), workers or Workers(), units(paths)
    if out.exists():
        raise Fault(f"{out} is already there.", "Give another --out, or remove it.")
    files = [[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in map(Path, paths)]
    key = settings_key({"format": FORMAT, "files": files, "units": len(work), **asdict(wanted)})
    sizes = [unit.size for unit in work]
    small = sum(sizes) < SMALL and not who.cluster
    with who.start() as pool, Unfinished(out, key) as unfinished:
        reader = PostReader(unfinished.folder)
        unfinished.map(pool, "reading", reader, list(enumerate(work)), sizes, small)
        threads, unwanted = Threads(), communities(wanted.leave_out)
        for number in range(len(work)):
            for post in reader.written(number):
                threads.add(post, unwanted)
        pairs = _pairs(threads)
        groups = [pairs[start : start + GROUP] for start in range(0, len(pairs), GROUP)]
        judge = ReplyJudge(wanted.language, wanted.offensive, _blandness(pairs, wanted.often))
        reasons = [one for some in unfinished.map(pool, "judging", judge, groups, here=small) for one in some]
        sieve = CachedReplyFilter([], judged={pair: found for pair, found in zip(pairs, reasons) if found})
        kept = _write(out, threads, sieve, wanted.turns)
        shutil.rmtree(unfinished.folder)
    return {
        "threads": dict(threads.counts),
        "replies": sieve.replies,
        "not learned": sieve.left_out,
        "reasons": dict(sieve.reasons),
        "dialogues": kept,
    }


@dataclass(frozen=True)
class PostReader:
    """Reads the posts of a unit, and writes down what is needed of them."""

    folder: Path

    def __call__(self, numbered: tuple[int, Unit]) -> int:
        number, unit = numbered
        found = [astuple(post) for post in posts(unit)]
        rows = "".join(json.dumps(row) + "\n" for row in found)
        write_atomically(self._place(number), lambda partial: partial.write_text(rows, encoding="ascii"))
        return len(found)

    def written(self, number: int) -> Iterator[Post]:
        with open(self._place(number), encoding="ascii") as file:
            for line in file:
                yield Post(*parse_json(line))

    def _place(self, number: int) -> Path:
        return self.folder / "posts" / f"{number:05d}.jsonl"


@dataclass(frozen=True)
class ReplyJudge:
    """The reasons not to learn from each of some replies."""

    language: str
    offensive: tuple[str, ...]
    bland: Blandness

    @cached_property
    def rules(self) -> list[Rule]:
        return [*rules(self.language, self.offensive), self.bland]

    def __call__(self, pairs: list[Pair]) -> list[list[str]]:
        return [[reason for rule in self.rules if (reason := rule(*pair))] for pair in pairs]


def _pairs(threads: Threads) -> list[Pair]:
    """Every reply once, in however many paths it lies."""
    answers, _ = threads.tree()
    return [(threads.posts[name].text, post.text) for name, there in answers.items() for post in there]


def _blandness(pairs: list[Pair], often: int) -> Blandness:
    bland = Blandness(often)
    for _, reply in pairs:
        bland.count(reply)
    return bland.settled()


def _write(out: Path, threads: Threads, sieve: CachedReplyFilter, turns: int) -> int:
    """How many dialogues have something to learn."""
    kept = 0

    def rows() -> Iterator[JsonObject]:
        nonlocal kept
        for session in threads.sessions(turns):
            weighed = sieve.weigh(session.dialogue)
            if any(weighed.weights[1:]):
                kept += 1
                about = {"community": session.community, "leaf": session.leaf}
                yield {"turns": weighed.turns, "weights": weighed.weights, **about}

    write_json_lines(out, rows())
    return kept
