"""`foreword import`: a Hugging Face directory (or an ARPA file) -> a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foreword.cli.options import Out


def import_(
    source: Annotated[Path, typer.Argument(help="A Hugging Face directory of type gpt2, openai-gpt or bert.")],
    out: Out,
) -> None:
    """Bring a model in: every tensor accounted for, then written as a run."""
    from foreword.runs.moving import bring_in
    run, loaded = bring_in(source, out)
    print(f"{loaded.recipe.name}: {len(loaded.model.weights())} tensors, {loaded.model.parameter_count():,} parameters; "
          f"run in {run.path}")
