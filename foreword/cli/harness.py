"""`foreword harness`: EleutherAI's lm-evaluation-harness, asking one of our models."""

from __future__ import annotations

from typing import Annotated

import typer

PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}


def harness(
    more: typer.Context,
    model: Annotated[str, typer.Argument(help="A run, a model folder or a Hugging Face directory.")],
    precision: Annotated[str, typer.Option(help="float32 or int8.")] = "float32",
) -> None:
    """Evaluate with lm-evaluation-harness: all further arguments are those of `lm_eval` (--tasks, --num_fewshot, --limit)."""
    from foreword.basics.messages import Fault
    from foreword.cli.preparing import models_there

    models_there(model)
    try:
        from foreword.evaluate.harness import main
    except ModuleNotFoundError as error:
        raise Fault(
            f"the harness is not installed ({error.name} is missing).", "Install it:  pip install 'foreword[harness]'"
        ) from error
    main(["run", "--model", "foreword", "--model_args", f"path={model}", f"precision={precision}", *more.args])
