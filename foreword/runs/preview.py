"""What a recipe's batches look like: rows as a person would check them, and their statistics over many rows."""

from __future__ import annotations

from collections.abc import Iterator

from foreword.assembly.recipe import Recipe, kind
from foreword.batches.cuts import Cutter, describe
from foreword.batches.mixture import Data, Mixture, cutter_over
from foreword.batches.text_tasks import TextTaskCutter

ROWS_FOR_STATISTICS = 2000


def look(recipe: Recipe, store: Data, rows: int, step: int) -> Iterator[str]:
    """Lines to read: the shape of the batches, some rows, and what is true of many."""
    seed, size = recipe.training.seed, recipe.training.batch_size
    cutter = cutter_over(store, recipe.batches, size, seed)
    yield (
        f"{recipe.name}: {kind(recipe.objective)} over {kind(recipe.batches)} of {recipe.batches.length} tokens, "
        f"{size} rows a batch; {describe(cutter, store.tokens, store.documents)}"
    )
    if isinstance(store, Mixture):
        yield str(store)
    if recipe.head is None:
        first = cutter.rows(step, 0, 1)[0]
        if first.second is not None and first.counts is not None:
            yield "entries of the table, for example: a word, another, and how often they stand near each other"
            for one, other, count in zip(first.ids[: 10 * rows], first.second, first.counts):
                yield f"  {count:>10,.2f}  {'  '.join(store.tokenizer.pieces([int(one), int(other)]))}"
            return
        run = first.ids[:200]
        yield f"counted in order, for example: {store.tokenizer.decode(run, keep_specials=True)}"
        return
    for name, one in cutter.by_task().items() if isinstance(cutter, TextTaskCutter) else [("", cutter)]:
        yield from _rows(recipe, store, one, rows, step, f" ({name})" if name else "")


def _rows(recipe: Recipe, store: Data, cutter: Cutter, rows: int, step: int, what: str) -> Iterator[str]:
    size = recipe.training.batch_size
    batch = recipe.objective.collate(cutter.rows(step, 0, max(rows, 1)), store.tokenizer)
    for row in range(min(rows, batch.size)):
        yield ""
        yield f"row {row} of step {step}{what}"
        yield recipe.objective.show(batch, row, store.tokenizer)
    wanted = min(ROWS_FOR_STATISTICS, max(1, int(cutter.epoch * size)))
    many = [row for at in range(-(-wanted // size)) for row in cutter.rows(at, 0, size)][:wanted]
    whole = recipe.objective.collate(many, store.tokenizer)
    yield ""
    yield f"over {whole.size:,} rows:"
    for name, value in recipe.objective.statistics(whole, store.tokenizer).items():
        yield f"  {value:>10,}  {name}" if isinstance(value, int) else f"  {value:>10.2%}  {name}"
