"""What held-out text costs models, for people: a table with every unit, and what each token was allowed to see."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from foreword.basics.files import JsonObject
from foreword.basics.progress import ticking
from foreword.basics.shards import Pool
from foreword.evaluate.held_out import Corpus, score_corpus, score_mixture
from foreword.evaluate.score import Score, check_alike, check_comparable
from foreword.parts.frozen import left_in_float32
from foreword.report import Report, Section, Table, Text
from foreword.runs.opening import TrainedModel


def report(
    models: Mapping[str, TrainedModel],
    corpus: Corpus,
    stride: int | None = None,
    mix: bool = False,
    precision: str = "float32",
    pool: Pool | None = None,
) -> Report:
    """Bits per byte of every model, of their mixture, and what a coarser precision costs."""
    coarse = {}
    if precision != "float32":
        coarse = {f"{path}, {precision}": model.at(precision) for path, model in models.items()}
    check_alike({name: model.nature for name, model in models.items()})
    with ticking("evaluate") as ticker:
        answers = {
            name: score_corpus(model, corpus, stride, ticker, pool) for name, model in {**models, **coarse}.items()
        }
    scores = {name: answer.score for name, answer in answers.items()}
    costs = precision_costs(scores, list(models), precision) if coarse else {}
    weights: dict[str, float] = {}
    if len(scores) > 1:
        check_comparable(scores)
    if mix:
        scores["mixture"], weights = score_mixture(models, answers, corpus, stride)
    lines = [cost_line(name, precision, cost, coarse[f"{name}, {precision}"]) for name, cost in costs.items()]
    table = results(scores, corpus.name, weights)
    values: JsonObject = {
        "text": corpus.name,
        "scores": {name: score.values() for name, score in scores.items()},
        "weights": weights,
    }
    if coarse:
        values["precision"] = {"name": precision, "costs": costs}
    return Report("Bits per byte", [], [Section(table.title, *table.blocks, Text(lines) if lines else None)], values)


def results(scores: Mapping[str, Score], text: str, weights: Mapping[str, float] | None = None) -> Section:
    """The table, the best model highlighted, and notes: what was lost, what was mixed, what a token could see."""
    rows = [
        {
            "model": name,
            "bits/byte": _cell(score.bits_per_byte, 4),
            "bits/char": _cell(score.bits_per_character, 4),
            "word ppl": _cell(score.word_perplexity, 1),
            "token ppl": _cell(score.perplexity, 2),
            "tokens": f"{score.tokens:,}",
        }
        for name, score in scores.items()
    ]
    costs = [score.bits_per_byte or math.inf for score in scores.values()]
    first = next(iter(scores.values()))
    best = 1 + costs.index(min(costs)) if len(costs) > 1 else None
    table = Table.of(rows, caption=f"{text}: {first.documents:,} documents, {first.bytes:,} bytes", best=best)
    return Section("Bits per byte of held-out text", table, Text([*notes(scores, weights or {})], note=True))


def notes(scores: Mapping[str, Score], weights: Mapping[str, float]) -> list[str]:
    first, found = next(iter(scores.values())), []
    if any(score.kind != "likelihood" for score in scores.values()):
        found.append(
            "PSEUDO-LIKELIHOOD: tokens guessed from both sides. Not a probability of the text; "
            "never compare it with one."
        )
    if not first.lossless:
        lost = f" ({first.unknown:,} unknown tokens)" if first.unknown else ""
        found.append(
            f"The tokenizer loses part of the text{lost}: bits per byte of the original text would flatter it, "
            "so they are not given."
        )
    if spelled := {name: score.spelled for name, score in scores.items() if score.spelled and score.lossless}:
        each = ", ".join(
            f"{nats / math.log(2) / first.bytes:.4f} bits per byte of {name}" for name, nats in spelled.items()
        )
        found.append(
            f"Words that are not in a vocabulary are spelled out by a model of its words' letters ({each}): "
            "bits and word perplexity count that, token perplexity does not."
        )
    if weights:
        found.append("mixture = " + " + ".join(f"{weight:.3f} {name}" for name, weight in weights.items()))
    return [*found, *(f"context: {policy}" for policy in dict.fromkeys(score.policy for score in scores.values()))]


def precision_costs(scores: Mapping[str, Score], names: Sequence[str], precision: str) -> dict[str, JsonObject]:
    """What a coarser precision costs each model: bits per byte, or per token where its tokenizer loses text."""
    found: dict[str, JsonObject] = {}
    for name in names:
        fine, coarse = scores[name], scores[f"{name}, {precision}"]
        if fine.bits_per_byte is not None and coarse.bits_per_byte is not None:
            found[name] = {"cost": coarse.bits_per_byte - fine.bits_per_byte, "unit": "bits per byte"}
        else:
            found[name] = {"cost": coarse.bits_per_token - fine.bits_per_token, "unit": "bits per token"}
    return found


def cost_line(name: str, precision: str, cost: JsonObject, coarse: TrainedModel) -> str:
    whole = left_in_float32(coarse.with_heads)
    left = f"; {', '.join(whole)} stays float32" if whole else ""
    price = f"{round(cost['cost'], 4) + 0.0:.4f}"  # never -0.0000
    return f"{name}: {precision} costs {price} {cost['unit']}{left}"


def _cell(value: float | None, digits: int) -> str:
    if value is None:
        return "-"
    written = f"{value:,.{digits}f}" if math.isfinite(value) else "infinite"
    return written if len(written) < 12 else f"{value:.2e}"
