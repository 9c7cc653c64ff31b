"""`foreword finetune` of a table of vectors: fitted on the labels, scored beside TF-IDF, kept as a run. No torch here."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from foreword.basics import toml
from foreword.basics.files import JsonObject, read_json, write_folder, write_json, write_json_lines, write_text
from foreword.basics.messages import Fault
from foreword.basics.progress import say
from foreword.basics.seeds import chance, number_of
from foreword.report import Facts, Report, Sample, Section, Table
from foreword.tasks import LABELLED_KINDS
from foreword.tasks.example import Example
from foreword.tasks.judging import scored
from foreword.tasks.labelled_task import LabelledTask
from foreword.tasks.labelled_task import unlabelled as read_unlabelled
from foreword.text.reading import documents
from foreword.tokens.store import TokenStore
from foreword.transfer.label_subset import label_subset
from foreword.transfer.vector_classifier import Scale, VectorClassifier, fitted, opened, save, self_trained
from foreword.vectors.words import WordVectors, config_of

COUNTS, WORDS, ALONE = "TF-IDF of words and characters", "TF-IDF", "without self-training"
UNLABELLED, SAMPLED = 5000, 1_000_000  # texts that numbers are brought to scale on, and the tokens they are found in
FEW = 100  # texts that say too little about the spread of numbers
MOST = 20_000  # texts of self-training
DRAWS = 2000  # of the bootstrap
WORST = 8  # mistakes on a page


@dataclass(frozen=True)
class LabelledFit:
    """What `foreword finetune` was asked for."""

    labels: int | None = None
    seed: int = 0
    seeds: int = 1
    self_train: tuple[Path, ...] = ()


def text_of(examples: Sequence[Example]) -> list[str]:
    return [example.texts[0] for example in examples]


def with_dev(task: LabelledTask) -> LabelledTask:
    """Cross-validation within the labels chooses: all but the test's are learned from."""
    tests = {example.texts for example in task.test}
    more = tuple(example for example in task.dev if example.texts not in tests)
    return replace(task, train=(*task.train, *more), dev=())


def unlabelled(model: Path, otherwise: Sequence[str]) -> list[str]:
    """Lines of the text that the vectors were learned from, if its store is still there and has enough of them."""
    passport = read_json(model / "passport.json") if (model / "passport.json").is_file() else {}
    folder = Path(passport.get("store") or "")
    if not passport.get("store") or not (folder / "store.json").is_file():
        return list(otherwise)
    store = TokenStore.open(folder)
    some = np.linspace(0, store.documents - 1, min(UNLABELLED, store.documents)).astype(int)
    starts, most = np.append(0, store.ends[:-1]), SAMPLED // max(len(some), 1)
    parts = [store.read(int(starts[one]), int(min(store.ends[one] - 1, starts[one] + most))) for one in some]
    lines = [line for part in parts for line in store.tokenizer.decode(part).split("\n") if line.strip()]
    found = [lines[int(place)] for place in np.linspace(0, len(lines) - 1, min(UNLABELLED, len(lines)))]
    return found if len(found) >= FEW else [*found, *otherwise]


def model_of(model: str, seed: int) -> Path:
    """runs/w2v-{seed} names other vectors for each draw of labels."""
    return Path(model.replace("{seed}", str(seed)))


@dataclass
class Draw:
    """One draw of labels: what was fitted on it, and what each answers on test."""

    made: VectorClassifier
    answers: dict[str, list[str]]
    notes: list[str]


def drawn(model: Path, task: LabelledTask, wish: LabelledFit, seed: int, more: Sequence[str]) -> Draw:
    some = label_subset(task, wish.labels, seed)
    texts, labels, notes = text_of(some.train), [str(example.label) for example in some.train], list[str]()
    scale = Scale.over(WordVectors.opened(model), unlabelled(model, texts))
    teacher = made = fitted(texts, labels, scale, seed)
    beside = {COUNTS: fitted(texts, labels, None, seed), WORDS: fitted(texts, labels, None, seed, characters=False)}
    if made.counts.chinese:
        del beside[COUNTS]
    if more:
        made, (alone, taught) = self_trained(teacher, texts, labels, more, seed)
        verdict = "not used" if made is teacher else "used"
        notes.append(f"self-training is {verdict}: {taught:.1%} right in cross-validation, {alone:.1%} without it.")
        beside = {ALONE: teacher, **beside}
    test = text_of(some.test)
    answers = {"vectors and TF-IDF": made.predict(test)} | {name: one.predict(test) for name, one in beside.items()}
    return Draw(made, answers, notes)


def difference(right: np.ndarray, other: np.ndarray) -> tuple[float, float, float]:
    """Mean of right - other [draws, examples] and its 95% interval: draws and examples are drawn anew, in pairs."""
    apart, draw = right.astype(float) - other, chance(number_of("paired"))
    found = []
    for _ in range(DRAWS):
        rows = draw.integers(len(apart), size=len(apart))
        found.append(apart[rows][:, draw.integers(apart.shape[1], size=apart.shape[1])].mean())
    low, high = np.percentile(found, (2.5, 97.5))
    return float(apart.mean()), float(low), float(high)


def refuse(model: str, task: LabelledTask) -> None:
    """What cannot be fitted."""
    if not model_of(model, 0).is_dir():
        raise Fault(f"{model} is a file of vectors.", f"Make a run of it:  foreword import {model} --out runs/vectors")
    if task.kind != "classify":
        raise Fault(f"a table of vectors learns to label single texts; {task.name} is {task.learn.in_words}.")


def fit_labels(model: str, task: LabelledTask, out: Path, wish: LabelledFit) -> Report:
    """A run in `out`: the classifier of the first draw, what it answers, and a page. Learned from is train alone."""
    refuse(model, task)
    if (out / "passport.json").is_file() or (out.is_dir() and any(out.iterdir())) or out.is_file():
        raise Fault(f"{out} is already there.", "Choose another --out, or remove that folder.")
    for note in task.notes:
        say(f"{task.name}: {note}")
    tests = set(text_of(task.test))
    more = [one.text for one in documents(wish.self_train, "line")] if wish.self_train else []
    more = [text for text in more if text.strip() not in tests][:MOST]  # what is tested on teaches nothing
    if wish.self_train and not more:
        say("no self-training: that text is the test's own, which teaches nothing.")
    draws = []
    for number in range(wish.seeds):
        draws.append(drawn(model_of(model, number), task, wish, wish.seed + number, more))
        made = draws[-1].made
        judged = (
            f"{made.right:.1%} right in cross-validation."
            if made.cost < np.inf
            else "too few labels to choose them by."
        )
        weighed = f"vectors weigh {made.weight:g}, C {made.strength:g}, {judged}"
        say(" ".join([f"draw {number + 1} of {wish.seeds}: {weighed}", *draws[-1].notes]))
    report = page(task, draws, wish, model)
    _write(out, task, draws[0], wish, model_of(model, 0), report)
    return report


def page(task: LabelledTask, draws: Sequence[Draw], wish: LabelledFit, model: str) -> Report:
    truth = np.asarray([str(example.label) for example in task.test])
    right = {name: np.stack([np.asarray(one.answers[name]) == truth for one in draws]) for name in draws[0].answers}
    mine, *others = right
    table: list[tuple[str, ...]] = [("", "accuracy", "least", "most", "vectors minus it", "95%")]
    values: JsonObject = {}
    for name, each in right.items():
        shares = each.mean(1)
        apart, low, high = difference(right[mine], each) if name != mine else (0.0, 0.0, 0.0)
        cells = ("", "") if name == mine else (f"{100 * apart:+.1f}", f"{100 * low:+.1f} to {100 * high:+.1f}")
        table.append((name, *(f"{100 * share:.1f}" for share in (shares.mean(), shares.min(), shares.max())), *cells))
        values[name] = {"accuracy": shares.tolist(), "mean": float(shares.mean())}
        values[name] |= {} if name == mine else {"minus": apart, "interval": [low, high]}
    labels = f"{wish.labels or len(task.train):,} labels"
    lead = (
        f"{task.name}, {labels}, {len(draws)} draw{'s' * (len(draws) > 1)} of them: accuracy {100 * right[mine].mean():.1f}, "
        f"{others[-1]} {100 * right[others[-1]].mean():.1f}."
    )
    chances = draws[0].made.probabilities(text_of(task.test))
    wrong = sorted(np.flatnonzero(~right[mine][0]), key=lambda place: -chances[place].max())[:WORST]
    samples = [
        Sample(f"true {truth[place]}, predicted {draws[0].answers[mine][place]}", task.test[place].texts[0][:600])
        for place in wrong
    ]
    facts = [("vectors", model), ("test", f"{len(task.test):,} texts"), ("labels", labels)]
    facts += [(f"draw {n + 1}", f"weight {one.made.weight:g}, C {one.made.strength:g}") for n, one in enumerate(draws)]
    return Report(
        f"{Path(model).name} on {task.name}",
        [lead, *draws[0].notes],
        [
            Section("Results on test", Table(table)),
            Section("Most confident mistakes", *samples),
            Section("How this was made", Facts(facts)),
        ],
        {"task": task.name, "labels": wish.labels, "results": values},
    )


def _write(out: Path, task: LabelledTask, draw: Draw, wish: LabelledFit, model: Path, report: Report) -> None:
    found = config_of(model)
    assert found is not None
    folder: Path = found["folder"]
    out.mkdir(parents=True, exist_ok=True)

    def write(partial: Path) -> None:
        shutil.copytree(folder, partial, dirs_exist_ok=True)
        save(draw.made, partial)

    write_folder(out / "model", write)
    lines, scores = [], {}
    for split, examples in (("dev", task.dev), ("test", task.test)):
        if not examples:
            continue
        chances = draw.made.probabilities(text_of(examples))
        said = [draw.made.labels[place] for place in chances.argmax(1)]
        scores[split] = {one.metric: one.values() for one in scored(task.metrics, task.labels, examples, said)}
        for example, answer, shares in zip(examples, said, chances):
            each = {name: round(float(share), 6) for name, share in zip(draw.made.labels, shares)}
            lines.append({"split": split, "id": example.id, "label": example.label, "answer": answer, "scores": each})
    write_json_lines(out / "predictions.jsonl", lines)
    write_text(out / "recipe.toml", toml.write(found["recipe"]))
    about = {"name": task.name, "kind": task.kind, "learn": task.learn.model_dump(mode="json")}
    about |= {"labels": list(task.labels), "notes": list(task.notes)}
    about |= {"examples": {"train": len(task.train), "dev": len(task.dev), "test": len(task.test)}}
    tuning = {"labels": wish.labels, "seed": wish.seed, "self_train": [str(path) for path in wish.self_train]}
    facts: JsonObject = {
        "format": 1,
        "step": 0,
        "start": {"path": str(model)},
        "task": about,
        "tuning": tuning,
        "scores": scores,
    }
    write_json(out / "passport.json", {**facts, "results": report.data(), "finished": True})
    report.save(out)


def answers(run: Path, file: Path, columns: Sequence[str] = ()) -> list[JsonObject]:
    """What a fitted run answers to each example of a file: columns as in training; of a .txt, every line is one."""
    said = read_json(run / "passport.json")["task"]
    if file.suffix == ".txt":
        if not file.is_file():
            raise Fault(f"{file} is not there.")
        examples = [
            Example(str(number), (line.strip(),))
            for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1)
            if line.strip()
        ]
    else:
        examples = read_unlabelled(file, LABELLED_KINDS.find(said["kind"])(**said["learn"]), columns)
    made = opened(run)
    chances = made.probabilities(text_of(examples))
    return [
        {
            "id": example.id,
            "answer": made.labels[int(shares.argmax())],
            "scores": {name: round(float(share), 6) for name, share in zip(made.labels, shares)},
        }
        for example, shares in zip(examples, chances)
    ]
