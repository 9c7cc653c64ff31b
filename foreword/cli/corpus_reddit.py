"""`foreword corpus reddit`: pushshift's files -> threads -> dialogues, with DialoGPT's rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreword.cli.options import Json, Out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.text.reddit import Threads
    from foreword.text.reply_rules import Sieve


def reddit(
    files: Annotated[
        list[Path], typer.Argument(help="Files of comments (RC_...) and submissions (RS_...): plain, .zst or .gz.")
    ],
    out: Out,
    language: Annotated[str, typer.Option(help="en, or zh: which replies are readable.")] = "en",
    offensive: Annotated[
        Path | None, typer.Option(help="Phrases, one to a line: a reply with one is not learned.")
    ] = None,
    leave_out: Annotated[
        Path | None, typer.Option(help="Communities (subreddits), one to a line, that are not read.")
    ] = None,
    turns: Annotated[
        int, typer.Option(min=2, help="The most turns of a dialogue: the last ones of a longer path.")
    ] = 20,
    often: Annotated[int, typer.Option(min=0, help="Three words seen more often than this are bland.")] = 1000,
    as_json: Json = False,
) -> None:
    """Make dialogues of Reddit's comments: every path from the root of a thread to a leaf, its replies weighed by rules."""
    from foreword.basics.files import write_atomically
    from foreword.basics.messages import Fault
    from foreword.basics.progress import say, ticking
    from foreword.text.reddit import read
    from foreword.text.reply_rules import Blandness, Sieve, rules

    if language not in ("en", "zh"):
        raise Fault(f"--language {language}: there are rules for en and zh.")
    if out.exists():
        raise Fault(f"{out} is already there.", "Give another --out, or remove it.")
    with ticking("reading") as ticker:
        threads = read(files, _listed(leave_out), lambda posts: ticker.update(0.0, f"{posts:,} posts"))
    bland = Blandness(often)
    answers, _ = threads.tree()
    for there in answers.values():  # every reply once, in however many paths it lies
        for post in there:
            bland.count(post.text)
    sieve = Sieve([*rules(language, _listed(offensive)), bland])
    kept = 0

    def write(partial: Path) -> None:
        nonlocal kept
        with open(partial, "w", encoding="utf-8") as file:
            for line in _dialogues(threads, sieve, turns):
                file.write(line)
                kept += 1

    write_atomically(out, write)
    report = {
        "threads": dict(threads.counts),
        "replies": sieve.replies,
        "not learned": sieve.left_out,
        "reasons": dict(sieve.reasons),
        "dialogues": kept,
    }
    if as_json:
        print(json.dumps(report, ensure_ascii=False))
        return
    for name, count in threads.counts.items():
        print(f"{count:>12,}  {name}")
    print(f"{sieve.replies:>12,}  replies in all paths; not learned, because of")
    for name, count in sorted(sieve.reasons.items(), key=lambda one: -one[1]):
        print(f"{count:>12,}      {name}")
    print(f"{sieve.left_out:>12,}      any of these")
    print(f"{kept:>12,}  dialogues with a reply to learn, in {out}")
    if offensive is None:
        say("no list of offensive phrases was given (--offensive FILE): none was looked for.")


def _dialogues(threads: Threads, sieve: Sieve, turns: int) -> Iterator[str]:
    """A line of JSON for every path that has something to learn."""
    for session in threads.sessions(turns):
        weighed = sieve.weigh(session.dialogue)
        if any(weighed.weights[1:]):
            yield (
                json.dumps(
                    {
                        "turns": weighed.turns,
                        "weights": weighed.weights,
                        "community": session.community,
                        "leaf": session.leaf,
                    },
                    ensure_ascii=False,
                )
                + "\n"
            )


def _listed(path: Path | None) -> list[str]:
    from foreword.basics.messages import Fault

    if path is None:
        return []
    if not path.is_file():
        raise Fault(f"{path} is not there.")
    return [line.strip() for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
