"""`make table`: train every system on the same text, for the same time, on this machine, and write the table of the README.

    python benchmarks/table.py                 three minutes for each network
    python benchmarks/table.py 10m             another budget

Systems that read both ways or learn from dialogues have no bits per byte and keep a row without a number. What an
interrupted call finished is not done again (runs/table).
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from foreword.assembly import catalogue, loader  # noqa: E402
from foreword.assembly.catalogue import Entry  # noqa: E402
from foreword.assembly.recipe import Recipe, kind  # noqa: E402
from foreword.basics.cores import cores  # noqa: E402
from foreword.basics.messages import thousands  # noqa: E402
from foreword.compare.demo import EVALUATED, VOCABULARY, gather  # noqa: E402
from foreword.evaluate.held_out import Corpus, score_corpus, score_mixture  # noqa: E402
from foreword.model import load  # noqa: E402
from foreword.runs.train import train  # noqa: E402
from foreword.tokens.build import build_store  # noqa: E402
from foreword.tokens.kinds import ByteBPE  # noqa: E402
from foreword.training.hardware import Hardware  # noqa: E402

README, INDEX = ROOT / "README.md", ROOT / "docs" / "index.md"
BEGIN, END = "<!-- written by make table -->", "<!-- end of the table -->"
MIXED = ("modern-gpt", "kneser-ney")
NO_NUMBER = {
    "fill": "reads both ways",
    "written": "writes what it has read",
    "sentences": "guesses no words",
    "dialogue": "learns from dialogues",
    "tasks": "learns from labels",
    "writes": "writes from a source",
    "vectors": "a table of vectors: no bits per byte",
}


@dataclass(frozen=True)
class Row:
    name: str
    size: str  # laptop, or none for count models
    parameters: int | None
    bits: float | None
    why: str = ""  # it has no number


def descriptions() -> dict[str, str]:
    """Every system in a few words, as the index of the docs has it."""
    found = re.findall(
        r"^\| \d{4} \| \[([\w-]+)\]\(lineage/[^)]*\) \| (.+?) \|$", INDEX.read_text(encoding="utf-8"), re.M
    )
    return dict(found)


def recipe_of(entry: Entry, budget: str) -> Recipe:
    size = "laptop" if "laptop" in entry.sizes else ""
    counts = loader.load(entry.name, size).head is None
    return loader.load(entry.name, size, [] if counts else [f'training.budget="{budget}"'])


def why_no_number(recipe: Recipe) -> str:
    """Why a system has no bits per byte of running text; nothing if it has."""
    if "neighbours" in recipe.abilities():
        return NO_NUMBER["vectors"]
    if "translate" in recipe.abilities():
        return NO_NUMBER["writes"]
    if recipe.objective.leading != "tokens":
        return NO_NUMBER["sentences"]
    if kind(recipe.objective) == "autoencode":
        return NO_NUMBER["written"]
    if "score" not in recipe.abilities():
        return NO_NUMBER["tasks"] if recipe.objective.labelled else NO_NUMBER["fill"]
    return NO_NUMBER["dialogue"] if recipe.batches.marks else ""


def measure(budget: str, out: Path) -> tuple[list[Row], float, dict[str, Any]]:
    """A row for every recipe, the bits per byte of a mixture, and what is known about the text."""
    corpus, gathered = gather([], out)
    build_store([corpus], out / "store", ByteBPE(vocabulary=VOCABULARY))
    held_out = Corpus(out / "store", "test", limit=EVALUATED)
    rows, models, answers = [], {}, {}
    order = list(descriptions())
    for entry in sorted(
        catalogue.entries(), key=lambda one: order.index(one.name) if one.name in order else len(order)
    ):
        recipe = recipe_of(entry, budget)
        if why := why_no_number(recipe):
            rows.append(Row(entry.name, recipe.size, None, None, why))
            continue
        run = train(recipe, out / "store", out / entry.name, hardware=Hardware.choose())
        models[entry.name] = load(run.path)
        answers[entry.name] = score_corpus(models[entry.name], held_out)
        rows.append(Row(entry.name, recipe.size, models[entry.name].size, answers[entry.name].score.bits_per_byte))
        print(f"{entry.name}: {rows[-1].bits:.3f} bits per byte")
    together, _ = score_mixture({name: models[name] for name in MIXED}, answers, held_out)
    return (
        rows,
        together.bits_per_byte or 0.0,
        {**gathered, "held_out": together.bytes, "documents": together.documents},
    )


def written(rows: list[Row], together: float, text: dict[str, Any], budget: str) -> Iterator[str]:
    """The table in Markdown, and under which conditions it was measured."""
    about = descriptions()
    held_out = f"the same {text['documents']} held-out documents ({thousands(text['held_out'])} bytes)"
    yield f"Measured with `make table` on one machine in one go ({time.strftime('%Y-%m-%d')}, {cores()} CPU cores):"
    yield f"{thousands(text['bytes'])} bytes of documentation that `make demo` finds, {held_out},"
    yield f"byte-level BPE of {VOCABULARY:,} tokens, {budget} of training for each network, one seed."
    yield "Lower is better; 8 is guessing bytes at random."
    yield from ("", "| recipe | system | size | bits per byte |", "|---|---|---|---|")
    for row in rows:
        size = ", ".join(filter(None, [row.size, f"{thousands(row.parameters)} parameters" if row.parameters else ""]))
        bits = row.why if row.bits is None else f"{row.bits:.3f}"
        yield f"| [`{row.name}`](docs/lineage/{row.name}.md) | {about.get(row.name, '')} | {size or 'counts'} | {bits} |"
    yield f"| | {MIXED[0]} and {MIXED[1]}, mixed | | **{together:.3f}** |"


def main(budget: str = "3m") -> None:
    lines = written(*measure(budget, ROOT / "runs" / "table"), budget)
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    README.write_text("\n".join([f"{before}{BEGIN}", *lines, f"{END}{after}"]), encoding="utf-8")
    print(f"written to {README}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
