"""What units cost: text marked once (MB per core-second), and batches made of whole words or entities beside single tokens.

    python benchmarks/masking.py TEXT [STORE TOKENS_PER_SECOND]

With a store that has the marks, and the tokens that a training reads in a second, the last line is what masking takes of a step.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from foreword.assembly import loader
from foreword.tokens.kinds import WordPiece
from foreword.tokens.page import Page
from foreword.tokens.store import TokenStore
from foreword.tokens.units import UnitsSpec, encode_marked

MARKED = {
    "words": UnitsSpec(),
    "words and phrases": UnitsSpec(phrases=0.5),
    "words, phrases and entities": UnitsSpec(phrases=0.5, entities=["auto"]),
}


def seconds(work: Callable[[], object]) -> float:
    """Of one core: what other processes do in the meantime is not counted."""
    start = time.process_time()
    work()
    return time.process_time() - start


def marking(path: Path) -> None:
    text = path.read_text(encoding="utf-8")[:100_000]
    page = Page.of([text[at : at + 4000] for at in range(0, len(text), 4000)])
    tokenizer = WordPiece(vocabulary=4096).learn(iter(page.texts))
    for name, spec in MARKED.items():
        units = spec.learn(page.texts)
        encode_marked(tokenizer, Page.of(page.texts[:1]), spec.marks, units)  # dictionaries are read
        took = seconds(lambda units=units, spec=spec: encode_marked(tokenizer, page, spec.marks, units))
        print(f"{name}: {page.size / 1e6 / took:.2f} MB per core-second, tokens included ({units})")


def batches(folder: Path, speed: float) -> None:
    store, found = TokenStore.open(folder), {}
    for unit in ("token", "word", "entity"):
        part = f'[{{ kind = "masked", unit = "{unit}" }}, {{ kind = "next_sentence" }}]'
        recipe = loader.load("bert-wwm", "laptop", [f"objective.parts={part}"])
        cutter = recipe.batches.over(store, 16, 0)

        def read(recipe=recipe, cutter=cutter) -> int:
            return sum(
                recipe.objective.collate(cutter.rows(step, 0, 16), store.tokenizer).tokens for step in range(100)
            )

        tokens = read()
        found[unit] = seconds(read) / tokens
        more = found[unit] - found["token"]
        print(
            f"{unit}: {1e6 * found[unit]:.2f} core-seconds per million tokens of batches; "
            f"a training of {speed:,.0f} tokens a second is {more * speed:.2%} slower than by tokens, if nothing is read ahead"
        )


if __name__ == "__main__":
    marking(Path(sys.argv[1]))
    if len(sys.argv) > 3:
        batches(Path(sys.argv[2]), float(sys.argv[3]))
