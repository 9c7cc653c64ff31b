"""`foreword translate`: a target for every line of a file, and BLEU where the right ones are known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foreword.cli.options import Json


def translate(
    model: Annotated[str, typer.Argument(help="A run or model folder that writes from a source: transformer, t5.")],
    file: Annotated[Path, typer.Argument(help="One source to a line.")],
    beam: Annotated[int, typer.Option(help="Texts kept at every step; 1: always the likeliest token.")] = 4,
    length_penalty: Annotated[float, typer.Option(help="Above 0: long texts are not punished for their length.")] = 0.6,
    max_tokens: Annotated[int | None, typer.Option(help="At most so many. [default: the source's and 50]")] = None,
    references: Annotated[Path | None, typer.Option(help="The right targets, line by line: prints BLEU.")] = None,
    fusion: Annotated[str, typer.Option(help="Another model of the same tokens has a say: RUN=0.2.")] = "",
    out: Annotated[Path | None, typer.Option("--out", help="Where the targets go. [default: printed]")] = None,
    as_json: Json = False,
) -> None:
    """Translate a file, or summarise or answer it: whatever the model was trained to write from its sources."""
    import json

    from foreword.basics.files import write_text
    from foreword.basics.messages import Fault
    from foreword.cli.preparing import models_there
    from foreword.text.pairs import lines_of

    other, _, weight = fusion.rpartition("=")
    models_there(model, other or None)
    lines = lines_of(file)
    right = lines_of(references) if references else None
    if right is not None and len(right) != len(lines):
        raise Fault(f"{file} has {len(lines):,} lines, {references} has {len(right):,}: line n belongs to line n.")
    if empty := [number for number, line in enumerate(lines, 1) if not line.strip()]:
        raise Fault("the line is empty: there is nothing to translate.", where=f"{file}:{empty[0]}")
    from foreword.evaluate.bleu import bleu
    from foreword.model import load

    try:
        fused = (load(other), float(weight)) if fusion else None
    except ValueError as error:
        raise Fault(f"--fusion {fusion}: a run and its weight are written RUN=0.2.") from error
    found = load(model).translate(lines, beam, length_penalty, max_tokens, fused)
    if out is not None:
        write_text(out, "\n".join(found) + "\n")
    scores = {} if right is None else bleu(found, right)
    if as_json:
        print(json.dumps({"lines": len(lines), **scores, **({} if out else {"texts": found})}, ensure_ascii=False))
        return
    if out is None:
        print("\n".join(found))
    if scores:
        print(f"BLEU {scores['bleu']:.2f} ({scores['signature']})")
