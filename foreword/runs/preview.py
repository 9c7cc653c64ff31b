"""What a recipe's batches look like: rows as a person would check them, and their statistics over many rows."""

from __future__ import annotations

from collections.abc import Iterator

from foreword.assembly.recipe import Recipe, kind
from foreword.batches.cuts import describe
from foreword.batches.mixture import Data, Mixture, cutter_over

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
        run = cutter.rows(step, 0, 1)[0].ids[:200]
        yield f"counted in order, for example: {store.tokenizer.decode(run, keep_specials=True)}"
        return
    batch = recipe.objective.collate(cutter.rows(step, 0, max(rows, 1)), store.tokenizer)
    for row in range(min(rows, batch.size)):
        yield ""
        yield f"row {row} of step {step}"
        yield recipe.objective.show(batch, row, store.tokenizer)
    wanted = min(ROWS_FOR_STATISTICS, max(1, int(cutter.epoch * size)))
    many = [row for at in range(-(-wanted // size)) for row in cutter.rows(at, 0, size)][:wanted]
    whole = recipe.objective.collate(many, store.tokenizer)
    yield ""
    yield f"over {whole.size:,} rows:"
    for name, value in recipe.objective.statistics(whole, store.tokenizer).items():
        yield f"  {value:>10,}  {name}" if isinstance(value, int) else f"  {value:>10.2%}  {name}"
