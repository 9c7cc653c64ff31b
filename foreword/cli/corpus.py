"""`foreword corpus`: what can be asked of text, and made of it, before it becomes tokens. One file for each verb."""

from __future__ import annotations

import typer

from foreword.cli import (
    corpus_build,
    corpus_card,
    corpus_links,
    corpus_overlap,
    corpus_reddit,
    corpus_select,
    corpus_stages,
)

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Text: corpora built in stages, duplicates, dialogues from Reddit, what resembles a sample, test text in training text.",
)

VERBS = (
    ("build", corpus_build.build, "Sources through stages, as a TOML file says."),
    ("extract", corpus_build.extract, "HTML, WARC, Wikipedia, mails, books, PDF -> text."),
    ("links", corpus_links.links, "Reddit's submissions -> addresses worth reading."),
    ("clean", corpus_stages.clean, "Leave out what rules call no text: C4's, GPT-3's, Gopher's."),
    ("language", corpus_stages.language, "Note the language of documents; keep those wanted."),
    ("quality", corpus_stages.quality, "Keep what resembles good samples, as GPT-3's filter did."),
    ("private", corpus_stages.private, "Marks in the place of what belongs to persons."),
    ("dedup", corpus_stages.dedup, "Leave out repeated documents, lines or sentences."),
    ("card", corpus_card.card, "What a corpus holds, and what each stage removed."),
    ("why", corpus_card.why, "Why a document was kept or removed."),
    ("diff", corpus_card.diff, "How two corpora differ."),
    ("reddit", corpus_reddit.reddit, "Comments and submissions -> dialogues."),
    ("select", corpus_select.select, "Of much text, that which resembles a sample."),
    ("overlap", corpus_overlap.overlap, "How much of a task stands in a training text."),
)
for verb, function, short in VERBS:
    app.command(verb, short_help=short)(function)


@app.callback()
def _corpus() -> None:
    pass
