"""`foreword corpus`: what can be asked of text, and made of it, before it becomes tokens. One file for each verb."""

from __future__ import annotations

import typer

from foreword.cli import corpus_overlap, corpus_reddit

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Text: dialogues from Reddit; test text in training text."
)

VERBS = (
    ("reddit", corpus_reddit.reddit, "Comments and submissions -> dialogues."),
    ("overlap", corpus_overlap.overlap, "How much of a task stands in a training text."),
)
for verb, function, short in VERBS:
    app.command(verb, short_help=short)(function)


@app.callback()
def _corpus() -> None:
    pass
