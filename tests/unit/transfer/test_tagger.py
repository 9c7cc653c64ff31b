"""The tagger of windows: its path is the likeliest of all paths, it learns what stands around a word, and it reopens the same."""

from __future__ import annotations

import itertools

import numpy as np

from foreword.tasks.example import Example, Span
from foreword.transfer.tagger import WindowTagger, fit_tagger, shape, transitions

LABELS = ("O", "B-x", "I-x")


def sentence(words: list[str], tags: list[str] | None = None) -> Example:
    text, spans, at = " ".join(words), [], 0
    for word in words:
        spans.append(Span(at, at + len(word), word))
        at += len(word) + 1
    return Example("1", (text,), None if tags is None else tuple(tags), words=tuple(spans))


def planted(count: int, seed: int = 0) -> list[Example]:
    """After 'mr' stand two words of a name, whatever they are."""
    draw, found = np.random.default_rng(seed), []
    for _ in range(count):
        words = [f"w{n}" for n in draw.integers(40, size=8)]
        tags, at = ["O"] * 8, int(draw.integers(5))
        words[at], tags[at + 1], tags[at + 2] = "mr", "B-x", "I-x"
        found.append(sentence(words, tags))
    return found


def test_the_path_is_the_likeliest_of_all():
    draw = np.random.default_rng(3)
    made = WindowTagger(LABELS, np.zeros((3, 1), np.float32), np.zeros(3), draw.normal(size=(4, 3)))
    for _ in range(20):
        logs = draw.normal(size=(5, 3))

        def total(path: tuple[int, ...], logs: np.ndarray = logs) -> float:
            steps = [made.steps[-1][path[0]], *(made.steps[a][b] for a, b in itertools.pairwise(path))]
            return sum(steps) + sum(logs[place, tag] for place, tag in enumerate(path))

        best = max(itertools.product(range(3), repeat=5), key=total)
        assert made._path(logs) == list(best)
        assert made._path(logs[:, ::-1]) != list(best) or best == best[::-1]


def test_what_stands_around_a_word_decides(tmp_path):
    made = fit_tagger(planted(150), LABELS, 1e-5)
    test = planted(40, seed=9)
    answers = [one.label for one in made.answers(test)]
    assert np.mean([said == one.tags for said, one in zip(answers, test)]) > 0.95
    made.save(tmp_path)
    assert [one.label for one in WindowTagger.opened(tmp_path, lambda folder: None).answers(test)] == answers
    assert made.answers([sentence([])])[0].label == ()


def test_a_tag_that_never_follows_another_is_hardly_possible():
    steps = transitions(planted(50), LABELS)
    assert steps[LABELS.index("O"), LABELS.index("I-x")] < steps[LABELS.index("B-x"), LABELS.index("I-x")] - 5
    assert shape("NewYork12") == "XxXxd"
