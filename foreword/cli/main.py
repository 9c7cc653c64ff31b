"""`foreword`: verbs in the order data flows. Nothing heavy is imported until a verb needs it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from foreword.basics.messages import Fault, RunFailed
from foreword.basics.version import VERSION
from foreword.cli import (
    check,
    demo,
    diff,
    evaluate,
    export,
    generate,
    importing,
    listing,
    preview,
    show,
    tokens,
    train,
    tree,
)

app = typer.Typer(
    name="foreword", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None,
    help="Train, evaluate, compare and sample every language model from n-grams to GPT and BERT, on your own text.",
)


def _version(asked: bool) -> None:
    if asked:
        print(f"foreword {VERSION}")
        raise typer.Exit


@app.callback()
def _root(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True,
                                                help="Print the version and stop.")] = False) -> None:
    pass


for verb, function in (
    ("tokens", tokens.tokens), ("preview", preview.preview), ("train", train.train), ("evaluate", evaluate.evaluate),
    ("generate", generate.generate), ("import", importing.import_), ("export", export.export), ("check", check.check),
    ("show", show.show), ("diff", diff.diff), ("tree", tree.tree), ("list", listing.list_), ("demo", demo.demo),
):
    app.command(verb)(function)


def main() -> None:
    """Run the program: 0 ok, 1 the work failed, 2 the command or its input was wrong, 130 interrupted."""
    try:
        app()                        # typer itself ends with 2 for a wrong command, 130 for Ctrl-C
    except Fault as fault:
        print(fault, file=sys.stderr)
        sys.exit(fault.code)
    except OSError as error:         # a folder that may not be written, a name that is a file, a full disk
        print(f"{error.filename or 'a file'} could not be used: {error.strerror}.", file=sys.stderr)
        sys.exit(RunFailed.code)
