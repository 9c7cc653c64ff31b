"""The model card: what a model is, how it was made and how to open it, written with the model."""

from __future__ import annotations

from collections.abc import Sequence

from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject
from foreword.batches.mixture import Data, stores_of
from foreword.exchange.hugging_face import family_of
from foreword.text.corpus.summary import paragraph
from foreword.training.trainer import Progress


def card(recipe: Recipe, progress: Progress, store: Data, sources: Sequence[JsonObject] = ()) -> str:
    family = family_of(recipe)
    opens = f"`transformers` (`{family.model_type}`) and " if family else ""
    task = "text-generation" if "generate" in recipe.abilities() else "fill-mask"
    best = (
        f" The weights are those of step {progress.best['step']:,.0f}, the best on held-out text."
        if progress.best
        else ""
    )
    return f"""---
library_name: {"transformers" if family else "foreword"}
pipeline_tag: {task}
tags: [foreword, {recipe.name}]
---
# {recipe.name}{f" ({recipe.size})" if recipe.size else ""}

{recipe.paper}. Trained with Foreword on {store.documents:,} documents ({store.total_bytes:,} bytes), tokenizer
{store.tokenizer.name}, for {progress.step:,} steps ({progress.tokens:,} tokens), budget {recipe.training.budget}.{best}
{_mixed(sources)}{_corpora(store)}
This folder opens with {opens}`foreword.load`. How it was trained, to the last setting, is in the run's `recipe.toml`.
"""


def _corpora(store: Data) -> str:
    found = [one for part in stores_of(store) for one in part.content.get("corpora", ())]
    return "".join(f"\n{paragraph(one)}\n" for one in found)


def _mixed(sources: Sequence[JsonObject]) -> str:
    if not sources:
        return ""
    lines = [f"| {one['name']} | {one['weight']:.1%} | {one['tokens']:,} | {one['epochs']:.3f} |" for one in sources]
    return "\n".join(
        ["", "| source | share of the tokens read | tokens it has | epochs |", "|---|---|---|---|", *lines, ""]
    )
