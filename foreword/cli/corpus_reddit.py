"""`foreword corpus reddit`: pushshift's files -> threads -> dialogues, with DialoGPT's rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from foreword.cli.options import Cluster, Json, Out, WorkerCount


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
    workers: WorkerCount = None,
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """Make dialogues of Reddit's comments: every path from the root of a thread to a leaf, its replies weighed by rules."""
    from foreword.basics.messages import Fault
    from foreword.basics.progress import say
    from foreword.basics.shards import Workers
    from foreword.text.reddit_corpus import RedditSettings, reddit_corpus

    if language not in ("en", "zh"):
        raise Fault(f"--language {language}: there are rules for en and zh.")
    wanted = RedditSettings(language, _listed(offensive), _listed(leave_out), turns, often)
    report = reddit_corpus(files, out, wanted, Workers(workers, cluster))
    if as_json:
        print(json.dumps(report, ensure_ascii=False))
        return
    for name, count in report["threads"].items():
        print(f"{count:>12,}  {name}")
    print(f"{report['replies']:>12,}  replies in all paths; not learned, because of")
    for name, count in sorted(report["reasons"].items(), key=lambda one: -one[1]):
        print(f"{count:>12,}      {name}")
    print(f"{report['not learned']:>12,}      any of these")
    print(f"{report['dialogues']:>12,}  dialogues with a reply to learn, in {out}")
    if offensive is None:
        say("no list of offensive phrases was given (--offensive FILE): none was looked for.")


def _listed(path: Path | None) -> tuple[str, ...]:
    from foreword.basics.messages import Fault

    if path is None:
        return ()
    if not path.is_file():
        raise Fault(f"{path} is not there.")
    return tuple(line.strip() for line in path.read_text(encoding="utf-8").split("\n") if line.strip())
