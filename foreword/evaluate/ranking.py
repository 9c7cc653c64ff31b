"""Candidates ranked by frozen vectors: each query's, the most alike first. Nothing is learned (Yang et al. 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from foreword.basics.files import parse_json
from foreword.basics.messages import Fault
from foreword.report import Report, Section, Table, Text
from foreword.tasks import user_files
from foreword.tasks.example import Example, groups
from foreword.tasks.judging import scored
from foreword.tasks.labelled.columns import Columns
from foreword.tasks.labelled.rank import Ranking
from foreword.tasks.labelled_task import labelled
from foreword.transfer.word_overlap import InverseDocumentFrequency
from foreword.vectors.words import unit

MEASURES = ("map", "mrr", "ndcg@10")
SHARED = "shared words"  # what it is compared with


class Embedder(Protocol):
    """What `foreword.load` returns of a model that embeds."""

    def need(self, ability: str) -> object: ...

    def embed(self, texts: list[str]) -> Any:
        """[texts, width]"""


def is_candidates(path: Path) -> bool:
    """Whether its first line has a query, a candidate and a relevance."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        first = next((line for line in lines if line.strip()), "")
    try:
        row = parse_json(first)
    except ValueError:
        return False
    return isinstance(row, dict) and "query" in row and Ranking.from_columns(Columns([row], True)) is not None


def candidates(path: Path) -> list[Example]:
    """All candidates of all queries. At least one must be relevant to its query, and one not."""
    rows = user_files.rows_of(path)
    learn, _ = user_files.inferred(rows, "rank", str(path))
    found = labelled(path, learn, rows)
    if not any(0 < sum(found[i].number > 0 for i in some) < len(some) for some in groups(found).values()):
        raise Fault(
            f"{path}: no query has both a relevant candidate and another: there is nothing to rank.",
            'Give each query several:  {"query": ..., "candidate": ..., "relevance": 0}',
        )
    return found


def cosine_similarities(model: Embedder, examples: Sequence[Example]) -> list[float]:
    """The cosine of each candidate's vector and its query's; every text is read once."""
    texts = list(dict.fromkeys(text for one in examples for text in one.texts))
    place, vectors = {text: number for number, text in enumerate(texts)}, unit(model.embed(texts))
    return [float(vectors[place[one.texts[0]]] @ vectors[place[one.texts[1]]]) for one in examples]


def shared_words(examples: Sequence[Example]) -> list[float]:
    """The more and the rarer the words that a candidate shares with the query, the better."""
    rarity = InverseDocumentFrequency(text for one in examples for text in one.texts)
    return [rarity.weight(one.texts[0], one.texts[1], 0.0) for one in examples]


def report(models: Mapping[str, Embedder], paths: Sequence[Path]) -> Report:
    """Every model on every file, and beside them the words that a candidate shares with its query."""
    for one in models.values():
        one.need("embed")
    table: list[tuple[str, ...]] = [("ranked by", "candidates", "queries", *(f"{name}, 95%" for name in MEASURES))]
    values: dict[str, dict[str, object]] = {}
    for path in paths:
        examples = candidates(path)
        scorers = {name: cosine_similarities(model, examples) for name, model in models.items()} | {
            SHARED: shared_words(examples)
        }
        for name, scores in scorers.items():
            found = scored(MEASURES, (), examples, scores)
            row = (f"{one.shown} ({one.between})" for one in found)
            table.append((name, path.name, f"{found[0].count:,}", *row))
            values.setdefault(name, {})[path.name] = {one.metric: one.values() for one in found}
    note = "Vectors are frozen: nothing was learned here. Equal scores are ordered against the model. Queries without a relevant"
    return Report(
        "Ranking",
        [],
        [Section("Results", Table(table, left=(0, 1)), Text([f"{note} candidate do not count."]))],
        values,
    )
