"""Reddit's comments as pushshift writes them: files of comments (RC) and submissions (RS) -> threads -> sessions.

A thread is a tree, and every path from its root to a leaf is one session (Zhang et al. 2020, section 3.1). A comment that was
deleted, or whose parent is in none of the files, cuts its tree: what answers it begins a session of its own.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from foreword.basics.messages import Fault
from foreword.text import compressed
from foreword.text.document import Dialogue
from foreword.text.reading import Unit
from foreword.text.rows import RowFault, json_rows

Made = TypeVar("Made")
GONE = ("[deleted]", "[removed]")
COMMENT, SUBMISSION = "t1_", "t3_"  # how Reddit marks what an id is of
MOST_TURNS = 20  # of one path; the paper gives no limit, but a chain of thousands has as many leaves


@dataclass(frozen=True)
class Post:
    """A comment or submission, and what it answers (nothing: "")."""

    name: str  # its mark and id
    parent: str
    text: str
    time: int
    community: str


@dataclass(frozen=True)
class Session:
    """One path through a thread."""

    dialogue: Dialogue
    leaf: str
    community: str


@dataclass
class Threads:
    """All posts of some files, by name, and what was found wanting on the way."""

    posts: dict[str, Post] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, post: Post, leave_out: frozenset[str] = frozenset()) -> None:
        kind = "comments" if post.name.startswith(COMMENT) else "submissions"
        self.counts[f"{kind} read"] += 1
        if post.community.lower() in leave_out:
            self.counts[f"{kind} of communities left out"] += 1
        elif post.name in self.posts:
            self.counts["read twice (the same id)"] += 1
        else:
            self.posts[post.name] = post

    def sessions(self, most_turns: int = MOST_TURNS) -> Iterator[Session]:
        """Every path from a root to a leaf, the earlier answer first; of a longer path the last `most_turns` turns."""
        answers, roots = self.tree(self.counts)
        reached = 0
        for root in roots:
            path: list[Post] = []
            waiting = [(root, 0)]
            while waiting:
                post, depth = waiting.pop()
                reached += 1
                path[depth:] = [post]
                below = answers.get(post.name, [])
                if not below and len(path) > 1:
                    self.counts["paths"] += 1
                    kept = path[-most_turns:]
                    self.counts["paths cut to their last turns"] += len(kept) < len(path)
                    yield Session(Dialogue(tuple(one.text for one in kept)), post.name, post.community)
                self.counts["posts nobody answered and that answer nobody"] += not below and len(path) == 1
                waiting += [(answer, depth + 1) for answer in reversed(below)]
        if lost := sum(self._kept(post) for post in self.posts.values()) - reached:
            self.counts["comments in a circle (each answers another)"] += lost

    def tree(self, counts: Counter[str] | None = None) -> tuple[dict[str, list[Post]], list[Post]]:
        """(the answers to each post in order of time, the posts that begin a tree). What is wanting is added to `counts`."""
        counts = Counter() if counts is None else counts
        answers: dict[str, list[Post]] = {}
        roots = []
        for post in sorted(self.posts.values(), key=lambda post: (post.time, post.name)):
            if not self._kept(post):
                counts["deleted" if post.text in GONE else "empty"] += 1
                continue
            parent = self.posts.get(post.parent)
            if parent is not None and self._kept(parent):
                answers.setdefault(post.parent, []).append(post)
                continue
            roots.append(post)
            if post.parent.startswith(COMMENT) and parent is None:
                counts["comments whose parent is in no file"] += 1
            elif post.name.startswith(COMMENT) and not post.parent:
                counts["comments that name no parent"] += 1
            elif parent is not None:
                counts["comments whose parent was deleted or empty"] += 1
        return answers, roots

    @staticmethod
    def _kept(post: Post) -> bool:
        return bool(post.text) and post.text not in GONE


def read(paths: Sequence[Path], leave_out: Sequence[str] = ()) -> Threads:
    """All comments and submissions of the files. `leave_out`: communities (subreddits) that are not wanted."""
    threads, unwanted = Threads(), communities(leave_out)
    for unit in units(paths):
        for post in posts(unit):
            threads.add(post, unwanted)
    return threads


def communities(names: Sequence[str]) -> frozenset[str]:
    return frozenset(name.lower().removeprefix("r/") for name in names)


def units(paths: Sequence[Path], unit_bytes: int = 16 * 2**20) -> list[Unit]:
    """What is read at a time: a compressed file, or a range of a plain one."""
    found: list[Unit] = []
    for path in map(Path, paths):
        if not path.is_file():
            raise Fault(
                f"{path} is {'a folder' if path.exists() else 'not there'}.", "Give pushshift's RC and RS files."
            )
        size = path.stat().st_size
        if _packed(path) or not size:
            found.append(Unit((str(path),), size))
        else:
            starts = range(0, size, unit_bytes)
            found += [
                Unit((str(path),), unit_bytes, start=start, stop=min(start + unit_bytes, size)) for start in starts
            ]
    return found


def posts(unit: Unit) -> Iterator[Post]:
    """The comments and submissions of a unit."""
    return each(unit, _post)


def each(unit: Unit, make: Callable[[object, int], Made]) -> Iterator[Made]:
    """What `make` makes of each row, given its number, of a unit."""
    path = Path(unit.files[0])
    packed = _packed(path)
    try:
        for number, row in json_rows(compressed.lines(path) if packed else unit.lines(path)):
            yield make(row, number)
    except RowFault as fault:
        number = fault.number + (0 if packed else unit.first_line(path) - 1)
        raise Fault(fault.what, fault.do, where=f"{path}:{number}") from fault


def clean(text: str) -> str:
    """A text on one line, with its characters as themselves (&gt; is >)."""
    return " ".join(html.unescape(text).split())


def _packed(path: Path) -> bool:
    return path.name.lower().endswith((".zst", ".gz"))


def _post(row: object, number: int) -> Post:
    if not isinstance(row, dict) or "id" not in row or not ("body" in row or "title" in row):
        raise RowFault(
            number,
            "this is neither a comment (id, parent_id, body) nor a submission (id, title).",
            "Pushshift's files have one of them to a line.",
        )
    community, time = str(row.get("subreddit") or ""), _whole_number(row.get("created_utc"), number)
    if "body" in row:
        return Post(
            COMMENT + str(row["id"]), str(row.get("parent_id") or ""), clean(str(row["body"] or "")), time, community
        )
    said = [str(row.get(part) or "") for part in ("title", "selftext")]
    text = clean(" ".join(part for part in said if part not in GONE))
    return Post(SUBMISSION + str(row["id"]), "", text, time, community)


def _whole_number(value: Any, number: int) -> int:
    try:
        return int(float(value or 0))  # older files have it as a text
    except (TypeError, ValueError) as error:
        raise RowFault(number, f"created_utc is not a time: {value!r}.") from error
