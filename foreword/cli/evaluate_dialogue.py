"""`foreword evaluate MODEL dialogue`: replies to prompts that people answered, and whether a backward model helps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

WORD = "dialogue"
PROMPTS = 200


def ask_dialogue(words: Sequence[str], data: Path | None, mmi: str | None, prompts: int | None, seed: int, split: str,
                 column: str, precision: str, examples: Path | None, as_json: bool) -> None:
    """A table for each model; with --mmi, an answer to the question whether it helps."""
    from foreword.basics.files import write_text
    from foreword.basics.messages import Fault
    from foreword.basics.progress import ticking
    from foreword.evaluate.dialogue import dialogue_report

    models = [word for word in words if word != WORD]
    if not models:
        raise Fault("there is no model to evaluate.", "Give a run or a model folder:  foreword evaluate RUN dialogue --data TEXT")
    if data is None:
        raise Fault("there are no dialogues to answer.", "Give them:  --data DIALOGUES (text, jsonl or a store)")
    if not data.exists():
        raise Fault(f"{data} is not there.", "Give dialogues:  --data DIALOGUES (text, jsonl or a store)")
    found = {}
    for model in models:
        with ticking(model) as ticker:
            found[model] = dialogue_report(model, data, mmi, prompts or PROMPTS, seed=seed, split=split, column=column,
                                           precision=precision, tell=ticker.update)
    if examples is not None:
        rows = [row for report in found.values() for row in report.rows()]
        write_text(examples, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    if as_json:
        print(json.dumps({model: report.values() for model, report in found.items()}, ensure_ascii=False))
        return
    for report in found.values():
        print("\n".join(report.lines()))
