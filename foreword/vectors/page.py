"""The page of a table of vectors: neighbours, clusters, and maps in two dimensions. What is drawn depends on the words it has."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

import numpy as np

from foreword.basics.seeds import chance
from foreword.report import Facts, Report, Section, Table, Text
from foreword.report.plots import NamedPoint, word_map
from foreword.vectors.words import WordVectors, unit

CAPITALS = {
    "china": "beijing", "japan": "tokyo", "russia": "moscow", "france": "paris", "germany": "berlin", "italy": "rome",
    "spain": "madrid", "portugal": "lisbon", "greece": "athens", "turkey": "ankara", "poland": "warsaw", "egypt": "cairo",
    "england": "london", "ireland": "dublin", "cuba": "havana", "canada": "ottawa", "austria": "vienna", "sweden": "stockholm",
    "norway": "oslo", "finland": "helsinki", "iraq": "baghdad", "iran": "tehran", "india": "delhi", "peru": "lima",
}  # fmt: skip
FEWEST = 4  # pairs of a country and its capital that are worth a map
SHOWN, NEAR, FROM = 16, 6, 3000  # words of the table of neighbours, neighbours of each, among the so many most frequent
DRAWN, CLUSTERS = 250, 8  # words of the map and of the clusters


def frequent(vectors: WordVectors, most: int) -> list[int]:
    """The most frequent words, without marks, numbers and the shortest ones."""
    pieces, counts = vectors.tokenizer.vocabulary().pieces, vectors.table.counts
    order = np.argsort(-counts, kind="stable").tolist()
    least = 4 if sum(piece.isascii() for piece in pieces) > len(pieces) / 2 else 2  # "with" says less than "ship"
    known = (id for id in order if vectors.known[id] and counts[id] > 0)
    named = [id for id in known if pieces[id].replace(" ", "").isalpha() and len(pieces[id]) >= least]
    return named[:most]


def plane(points: np.ndarray) -> np.ndarray:
    """[points, 2]: the two directions in which they differ most (principal components)."""
    centred = points - points.mean(0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    found = centred @ directions[:2].T
    return np.pad(found, ((0, 0), (0, 2 - found.shape[1])))


def clusters(points: np.ndarray, number: int, rounds: int = 30) -> np.ndarray:
    """The cluster of each vector: k-means of directions, begun far apart (k-means++ without chance after the first)."""
    points = unit(points)
    chosen = [int(chance(0).integers(len(points)))]
    while len(chosen) < min(number, len(points)):
        chosen.append(int((points @ points[chosen].T).max(1).argmin()))
    centres = points[chosen]
    found = np.zeros(len(points), int)
    for _ in range(rounds):
        found = (points @ centres.T).argmax(1)
        sums = np.stack([points[found == place].sum(0) for place in range(len(centres))])
        centres = np.where(sums.any(1, keepdims=True), unit(sums), centres)
    return found


def report(vectors: WordVectors) -> Report:
    words = frequent(vectors, FROM)
    if not words:
        return Report(vectors.name, [f"{vectors!r}: it has no words to show."], [])
    sections = [Section("Neighbours", neighbours(vectors, words)), countries(vectors), *_map(vectors, words[:DRAWN])]
    lead = [
        f"{len(vectors.table.vectors):,} vectors of {vectors.width} numbers.",
        "A word has one vector, whatever its sentence: nothing here tells the bank of a river from one in the city.",
    ]
    made = Section("How it was made", Facts([("recipe", str(vectors.recipe.get("paper", ""))), ("run", vectors.name)]))
    return Report(f"{vectors.recipe.get('name', 'Vectors')}: words and their neighbours", lead, [*sections, made])


def neighbours(vectors: WordVectors, words: Sequence[int]) -> Table:
    """Words from frequent to rare, and the nearest of each."""
    some = [words[place] for place in np.unique(np.geomspace(1, len(words), SHOWN).astype(int) - 1)]
    rows = []
    for name in vectors.tokenizer.pieces(some):
        near = ", ".join(f"{word} {cosine:.2f}" for word, cosine in vectors.neighbours(name, NEAR))
        rows.append((name, near))
    return Table([("word", "nearest, with their cosines"), *rows], left=(0, 1))


def countries(vectors: WordVectors) -> Section:
    """Countries and their capitals: arrows that are alike, where the vectors have learned it."""
    found = [(vectors.find(country), vectors.find(capital)) for country, capital in CAPITALS.items()]
    pairs = [(one, other) for one, other in found if one is not None and other is not None]
    if len(pairs) < FEWEST:
        return Section("Countries and capitals")
    ids = np.array(pairs).T
    places, names = plane(vectors.unit[ids.ravel()]), vectors.tokenizer.pieces(ids.ravel())
    marks = [
        NamedPoint(x, y, name, group) for (x, y), name, group in zip(places, names, [0] * len(pairs) + [1] * len(pairs))
    ]
    apart = unit(vectors.unit[ids[1]] - vectors.unit[ids[0]])
    alike = (apart @ apart.T)[~np.eye(len(pairs), dtype=bool)].mean()
    note = f"Mean cosine of two arrows: {alike:.2f}; 0 if directions had nothing in common."
    arrows = [(place, place + len(pairs)) for place in range(len(pairs))]
    return Section("Countries and capitals", word_map(marks, arrows, "Principal components. " + note))


def _map(vectors: WordVectors, words: Sequence[int]) -> list[Section]:
    points, names = vectors.unit[list(words)], vectors.tokenizer.pieces(words)
    own = clusters(points, CLUSTERS)
    rows = [
        (str(place + 1), ", ".join(name for name, one in zip(names, own) if one == place)) for place in range(CLUSTERS)
    ]
    table = Table([("cluster", "words, the most frequent first"), *(row for row in rows if row[1])], left=(0, 1))
    if find_spec("sklearn") is not None and len(words) > 30:
        near = import_module("sklearn.manifold").TSNE(
            metric="cosine", init="random", random_state=0, perplexity=min(30, len(words) / 4)
        )
        places, how = near.fit_transform(points), "t-SNE: neighbours are near, distances between groups say little."
    else:
        places, how = plane(points), "Principal components; with scikit-learn, t-SNE."
    marks = [NamedPoint(x, y, name, int(one)) for (x, y), name, one in zip(places.tolist(), names, own)]
    about = Text([f"The {len(words)} most frequent words, coloured by cluster."], note=True, page_only=True)
    return [Section("Clusters", table), Section("A map", word_map(marks, (), how, 7.6), about)]
