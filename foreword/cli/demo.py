"""`foreword demo`: from text to report in a few minutes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foreword.cli.options import Documents


def demo(
    data: Annotated[
        list[Path] | None, typer.Option("--data", help="Your own text (default: documentation found on this machine).")
    ] = None,
    budget: Annotated[str, typer.Option(help="How long the network trains.")] = "3m",
    documents: Documents = "auto",
    out: Annotated[Path, typer.Option("--out", help="Where everything goes.")] = Path("runs/demo"),
    seed: Annotated[int, typer.Option(help="The seed of every random choice.")] = 0,
) -> None:
    """Train count models and a small GPT, compare them in bits per byte, and write a report."""
    from foreword.basics.budget import Budget
    from foreword.compare.demo import demonstrate

    Budget.parse(budget)
    print(f"report: {demonstrate(data or [], out, budget, seed, documents)}")
