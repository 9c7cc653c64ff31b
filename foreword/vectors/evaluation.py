"""What vectors are worth by themselves: word similarity (Spearman) and analogies, each with its coverage."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from foreword.basics.messages import Fault, did_you_mean
from foreword.report import Report, Section, Table
from foreword.tasks.confidence import wilson
from foreword.vectors.words import WordVectors, unit

FILES = {
    "wordsim353": "word-sim/wordsim353.tsv",
    "simlex999": "word-sim/simlex999.txt",
    "analogies": "word-sim/questions-words.txt",
}
MOST = 300_000  # words that can answer, the most frequent: as gensim has it
AT_ONCE = 128  # questions
DRAWS = 1000  # of the bootstrap


@dataclass(frozen=True)
class VectorTestResult:
    """`asked`: those whose words all have a vector; `total`: all. Of analogies also by kind of question."""

    value: float
    interval: tuple[float, float]
    asked: int
    total: int
    sections: dict[str, tuple[int, int]] | None = None  # right, asked

    @property
    def all_counted(self) -> float:
        """Analogies: as if those without vectors were wrong."""
        return self.value * self.asked / max(self.total, 1)


def spearman(one: np.ndarray, other: np.ndarray) -> float:
    """The correlation of ranks; equals share theirs."""
    ranks = [_ranks(np.asarray(values, float)) for values in (one, other)]
    return float(np.corrcoef(ranks)[0, 1]) if len(one) > 1 and all(rank.std() > 0 for rank in ranks) else 0.0


def _ranks(values: np.ndarray) -> np.ndarray:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]


def pairs_of(path: Path) -> list[tuple[str, str, float]]:
    found = []
    for number, line in enumerate(_lines(path), 1):
        parts = line.split("\t") if "\t" in line else line.replace(",", " ").split()
        if not line.strip() or line.startswith("#"):
            continue
        try:
            found.append((parts[0].strip(), parts[1].strip(), float(parts[2])))
        except (IndexError, ValueError) as error:
            raise Fault(
                "a line of word similarities is: word, word, number, with tabs between them.", where=f"{path}:{number}"
            ) from error
    return found


def word_similarity(vectors: WordVectors, path: Path) -> VectorTestResult:
    """Spearman's correlation of cosines and what people said, of the pairs whose words both have vectors."""
    pairs = pairs_of(path)
    known = [(vectors.find(a), vectors.find(b), said) for a, b, said in pairs]
    asked = [(a, b, said) for a, b, said in known if a is not None and b is not None]
    if not asked:
        return VectorTestResult(0.0, (-1.0, 1.0), 0, len(pairs))
    cosines = np.array([vectors.unit[a] @ vectors.unit[b] for a, b, _ in asked])
    said, draw = np.array([one for _, _, one in asked]), np.random.default_rng(0)
    drawn = [spearman(cosines[rows], said[rows]) for rows in draw.integers(len(said), size=(DRAWS, len(said)))]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return VectorTestResult(spearman(cosines, said), (float(low), float(high)), len(asked), len(pairs))


def questions_of(path: Path) -> dict[str, list[tuple[str, ...]]]:
    found: dict[str, list[tuple[str, ...]]] = {}
    section = ""
    for number, line in enumerate(_lines(path), 1):
        if line.startswith(":"):
            section = line[1:].strip()
        elif words := line.split():
            if len(words) != 4:
                raise Fault(
                    "a question has four words (Athens Greece Oslo Norway); a line that begins with a colon names a section.",
                    where=f"{path}:{number}",
                )
            found.setdefault(section, []).append(tuple(words))
    return found


def analogies(vectors: WordVectors, path: Path, method: str = "add", most: int = MOST) -> VectorTestResult:
    """The share of questions whose fourth word is nearest of all; questions with a word that has no vector are left out."""
    sections, total = {}, 0
    answering = unit(np.ascontiguousarray(vectors.table.vectors[:most]))
    hidden = vectors.hidden[vectors.hidden < len(answering)]
    for section, questions in questions_of(path).items():
        total += len(questions)
        known = [[vectors.find(word) for word in question] for question in questions]
        asked = np.array([row for row in known if all(id is not None and id < most for id in row)], dtype=np.int64)
        right = 0
        for start in range(0, len(asked), AT_ONCE):
            some = asked[start : start + AT_ONCE]
            scores = _answers(answering, some, method)
            scores[:, hidden] = -np.inf
            scores[np.arange(len(some))[:, None], some[:, :3]] = -np.inf
            right += int((scores.argmax(1) == some[:, 3]).sum())
        sections[section] = (right, len(asked))
    right, asked_in_all = map(sum, zip(*sections.values())) if sections else (0, 0)
    interval = wilson(right, asked_in_all) if asked_in_all else (0.0, 1.0)
    return VectorTestResult(right / max(asked_in_all, 1), interval, asked_in_all, total, sections)


def _answers(table: np.ndarray, questions: np.ndarray, method: str) -> np.ndarray:
    """[questions, words]: how well each word answers."""
    a, b, c = (table[questions[:, place]] for place in range(3))
    if method == "add":
        return unit(b - a + c) @ table.T
    near = [(1 + one @ table.T) / 2 for one in (a, b, c)]
    return near[1] * near[2] / (near[0] + 1e-3)


def _lines(path: Path) -> list[str]:
    if not path.is_file():
        raise Fault(f"{path} is not there.", "--data names the folder, or give a file's path.")
    return path.read_text(encoding="utf-8", errors="replace").split("\n")


def report(models: Sequence[str], words: Sequence[str], data: Path | None) -> Report:
    """Every model on every set: wordsim353, simlex999, analogies, or files of one's own in the same formats."""
    folder = data or Path(os.environ.get("FOREWORD_DATA", "."))
    table: list[tuple[str, ...]] = [("model", "set", "measure", "value", "95%", "asked", "of")]
    values: dict[str, dict[str, object]] = {}
    for name in models:
        vectors = WordVectors.opened(name)
        for word in words:
            if word not in FILES and not Path(word).is_file():
                raise Fault(
                    f"{word} is no set of word pairs or analogies.{did_you_mean(word, FILES)}",
                    f"Known: {', '.join(FILES)}.",
                )
            path = folder / FILES[word] if word in FILES else Path(word)
            if not path.is_file() and (folder / path.name).is_file():
                path = folder / path.name
            found = _measured(vectors, path)
            for measure, one in found.items():
                digits = [f"{100 * number:.1f}" for number in (one.value, *one.interval)]
                table.append(
                    (name, word, measure, digits[0], f"{digits[1]} to {digits[2]}", f"{one.asked:,}", f"{one.total:,}")
                )
                values.setdefault(name, {})[f"{word} {measure}"] = {
                    "value": one.value,
                    "interval": list(one.interval),
                    "asked": one.asked,
                    "total": one.total,
                    "all_counted": one.all_counted,
                    "sections": one.sections,
                }
    return Report("Word vectors", [], [Section("Results", Table(table, left=(0, 1, 2)))], values)


def _measured(vectors: WordVectors, path: Path) -> dict[str, VectorTestResult]:
    if any(line.startswith(":") for line in _lines(path)[:50]):
        return {f"3Cos{method.title()}": analogies(vectors, path, method) for method in ("add", "mul")}
    return {"Spearman": word_similarity(vectors, path)}
