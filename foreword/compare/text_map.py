"""Texts where a model's vectors put them, coloured by label: principal components, and t-SNE (van der Maaten & Hinton 2008).

A picture flatters: beside it stands how often the nearest texts, in all dimensions, have the same label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from foreword.basics.messages import Fault
from foreword.report import Plot, Report, Section, Table
from foreword.report.plots import COLOURS
from foreword.tasks.labelled_task import LabelledTask
from foreword.tasks.metrics import Proportion, between
from foreword.transfer.baselines import library
from foreword.vectors.words import unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 1000  # texts that are drawn
NEAR = 10  # neighbours that are asked


def draw(embed: Callable[[Sequence[str]], np.ndarray], task: LabelledTask, name: str, seed: int = 0) -> Report:
    """The texts of test; of more than MOST, the first."""
    if not task.learn.has_classes or len(task.learn.reads) != 1:
        raise Fault(f"{task.name} is {task.learn.in_words}: a map shows single texts, coloured by their class.")
    some = task.test[:MOST]
    labels = [str(example.label) for example in some]
    vectors = embed([example.texts[0] for example in some]).astype(np.float64)
    shown = library("sklearn.decomposition").PCA(min(50, *vectors.shape), random_state=seed).fit(vectors)
    points = shown.transform(vectors)
    near, share = neighbours(vectors, labels), shown.explained_variance_ratio_[:2].sum()
    maps = {
        f"The first two principal components ({share:.0%} of the variance)": points[:, :2],
        "t-SNE: who is near whom; distances between groups say little": tsne(points, seed),
    }
    common = Counter(labels).most_common(1)[0][1] / len(labels)
    sure = between(Proportion(), Proportion().interval(near))
    rows = [
        ("texts", "of the same label", "95% interval"),
        (f"the {NEAR} nearest, by vote", f"{100 * np.mean(near):.1f}", sure),
        ("the commonest label", f"{100 * common:.1f}", "-"),
    ]
    return Report(
        f"{task.name} in the vectors of {name}",
        [
            f"The {NEAR} nearest texts guess the label of {100 * np.mean(near):.1f}% (95% {sure}; commonest {100 * common:.1f})."
        ],
        [
            Section("Neighbours in all dimensions", Table(rows)),
            *(Section(title, scattered(where, labels, task.labels)) for title, where in maps.items()),
        ],
        {
            "task": task.name,
            "model": name,
            "neighbours": float(np.mean(near)),
            "commonest": common,
            "points": {"pca": points[:, :2].tolist(), "tsne": maps[list(maps)[1]].tolist(), "labels": labels},
        },
    )


def tsne(points: np.ndarray, seed: int) -> np.ndarray:
    """[texts, 2]"""
    nearness = max(2.0, min(30.0, (len(points) - 1) / 4))
    return library("sklearn.manifold").TSNE(2, perplexity=nearness, init="pca", random_state=seed).fit_transform(points)


def neighbours(vectors: np.ndarray, labels: Sequence[str]) -> list[bool]:
    """Of each text, whether most of the nearest others by cosine have its label; of equals the nearer."""
    directions = unit(vectors - vectors.mean(0))
    found = []
    for place, row in enumerate(directions @ directions.T):
        row[place] = -np.inf
        votes = Counter(labels[other] for other in np.argsort(-row, kind="stable")[:NEAR].tolist())
        found.append(votes.most_common(1)[0][0] == labels[place])
    return found


def scattered(points: np.ndarray, labels: Sequence[str], names: Sequence[str]) -> Plot:
    groups: Mapping[str, np.ndarray] = {
        name: points[[place for place, label in enumerate(labels) if label == name]] for name in names
    }

    def draw(axes: Axes) -> None:
        for number, (name, where) in enumerate(groups.items()):
            axes.scatter(where[:, 0], where[:, 1], s=9, alpha=0.6, color=COLOURS[number % len(COLOURS)], label=name)
        axes.set_xticks([])
        axes.set_yticks([])

    return Plot(4.6, draw)
