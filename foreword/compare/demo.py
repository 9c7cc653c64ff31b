"""The demonstration: text found on this machine (or one's own), count models and a small GPT, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from foreword.assembly import loader
from foreword.assembly.recipe import Recipe
from foreword.basics import toml
from foreword.basics.budget import Budget
from foreword.basics.files import JsonObject, read_json, write_atomically, write_json
from foreword.basics.messages import Fault, RunFailed, duration, thousands
from foreword.basics.progress import say, ticking
from foreword.compare.continuations import continuations
from foreword.evaluate.bits_report import results
from foreword.evaluate.held_out import Corpus, score_corpus, score_mixture
from foreword.evaluate.score import Score
from foreword.evaluate.while_training import loss_plots
from foreword.model import LoadedModel, load
from foreword.report import Facts, Report, Section
from foreword.report.plots import bars
from foreword.runs.folder import RunFolder
from foreword.runs.train import train
from foreword.text import reading
from foreword.text.dedup import without_near_duplicates
from foreword.text.found import found_documents
from foreword.tokens.build import build_store
from foreword.tokens.kinds import ByteBPE
from foreword.tokens.store import TokenStore
from foreword.training.hardware import Hardware

VOCABULARY = 4096
EVALUATED = 400_000  # bytes of held-out text: enough for three digits, little enough for seconds
SAMPLES = 4  # passages of held-out text that the models continue
UNIT = (
    "Bits per byte: how many bits a model needs, on average, to write down one byte of held-out text. Guessing at "
    "random among all bytes costs 8. It does not depend on the tokenizer, so all models can be compared."
)


@dataclass(frozen=True)
class DemoModel:
    label: str
    recipe: str
    settings: tuple[str, ...] = ()


COUNTS = (
    DemoModel("uniform", "uniform"),
    DemoModel("unigram", "unigram"),
    DemoModel("bigram", "bigram"),
    DemoModel("mixture of orders", "mixture"),
    DemoModel("Kneser-Ney 3", "kneser-ney", settings=("network.order=3",)),
    DemoModel("Kneser-Ney 5", "kneser-ney"),
)
NEURAL = DemoModel("modern GPT", "modern-gpt")  # of our GPTs, the one that learns most in the same time
LONG = 600.0  # seconds of training from which the larger size is worth its steps


def demonstrate(data: Sequence[Path], out: Path, budget: str, seed: int = 0, documents: str = "auto") -> Path:
    """Everything from text to report.html. What an earlier, interrupted call finished is not done again."""
    corpus, gathered = gather(data, out, documents)
    try:
        build_store([corpus], out / "store", ByteBPE(vocabulary=VOCABULARY))
    except Fault as fault:
        if not isinstance(fault, RunFailed):  # this text will not do: leave the folder free for another
            corpus.unlink()
            (out / "corpus.json").unlink()
        raise
    runs: dict[str, RunFolder] = {}
    for entrant in (*COUNTS, NEURAL):
        settings = [*entrant.settings, f"training.seed={seed}"]
        if entrant is NEURAL:
            settings.append(f'training.budget="{budget}"')
        recipe = loader.load(entrant.recipe, size_for(budget) if entrant is NEURAL else "", settings)
        folder = out / "runs" / entrant.label.lower().replace(" ", "-")
        runs[entrant.label] = train(recipe, out / "store", folder, hardware=Hardware.choose())
    models = {label: load(run.path) for label, run in runs.items()}
    held_out = Corpus(out / "store", "test", limit=EVALUATED)
    with ticking("evaluate") as ticker:
        answers = {label: score_corpus(model, held_out, None, ticker) for label, model in models.items()}
    scores = {label: answer.score for label, answer in answers.items()}
    mixed = f"{NEURAL.label} + Kneser-Ney 5"
    parts = {label: models[label] for label in (NEURAL.label, "Kneser-Ney 5")}
    scores[mixed], weights = score_mixture(parts, answers, held_out)
    found = report(scores, parts, runs[NEURAL.label], gathered, weights, mixed, results(scores, held_out.name, weights))
    found.show()
    return found.save(out, "report.json")


def size_for(budget: str) -> str:
    """The network that suits a budget: a larger one learns slower and ends lower."""
    given = Budget.parse(budget)
    return "desktop" if given.unit == "seconds" and given.amount >= LONG else "laptop"


def gather(data: Sequence[Path], out: Path, documents: str = "auto") -> tuple[Path, JsonObject]:
    """The documents, without near-duplicates, as one jsonl file: copies in the held-out text would flatter every model."""
    path, counted = out / "corpus.jsonl", out / "corpus.json"
    said = ", ".join(map(str, data)) if data else "documentation found on this machine"
    origin = f"{reading.fingerprint(list(data))} {documents}" if data else "found"
    if path.is_file() and counted.is_file():
        before = read_json(counted)
        if before["origin"] != origin:
            raise Fault(f"{out} holds a demonstration on other text ({before['text']}).", "Choose another --out.")
        return path, before
    report: JsonObject = {"text": said, "origin": origin}
    source = reading.documents(list(data), documents=documents) if data else found_documents()
    say(f"gathering text: {said}")

    def write(partial: Path) -> None:
        size = 0
        with open(partial, "w", encoding="utf-8") as file:
            for document in without_near_duplicates(source, report=report):
                file.write(json.dumps({"text": document.text, "source": document.source}, ensure_ascii=False) + "\n")
                size += len(document.text.encode())
        report["bytes"] = size

    write_atomically(path, write)
    write_json(counted, report)
    say(
        f"{report['kept']:,} documents, {thousands(report['bytes'])} bytes; left out {report['exact']:,} exact and "
        f"{report['near']:,} near duplicates"
    )
    return path, report


def report(
    scores: dict[str, Score],
    writers: dict[str, LoadedModel],
    run: RunFolder,
    gathered: JsonObject,
    weights: dict[str, float],
    mixed: str,
    table: Section,
) -> Report:
    passport, recipe = run.passport(), run.recipe()
    written = continuations(writers, TokenStore.open(Path(passport["store"]), "test").texts(), SAMPLES)
    bits = {name: score.bits_per_byte or 0.0 for name, score in scores.items()}
    settings = "Every setting of the trained network", toml.write(recipe.values())
    return Report(
        "What this text taught seven language models",
        verdict(scores, weights, mixed, passport["seconds"]),
        [
            Section(
                "How well each model predicts text it has never seen",
                *table.blocks,
                bars(bits, "bits per byte of held-out text (shorter is better)", min(bits, key=bits.__getitem__), UNIT),
            ),
            Section(f"Learning: {NEURAL.label}", *loss_plots(run.metrics())),
            Section("How held-out text goes on, and what the models write", *written),
            Section("How this was made", Facts(facts(gathered, passport, recipe, weights), settings)),
        ],
        {label: score.values() for label, score in scores.items()},
    )


def verdict(scores: dict[str, Score], weights: dict[str, float], mixed: str, seconds: float) -> list[str]:
    """What won and what it means, in words."""
    bits = {name: score.bits_per_byte or 0.0 for name, score in scores.items()}
    alone = {name: value for name, value in bits.items() if name != mixed}
    best, size = min(alone, key=alone.__getitem__), next(iter(scores.values())).bytes
    gpt, kn = bits[NEURAL.label], bits["Kneser-Ney 5"]
    lines = [
        f"{best} predicts this text best on its own: {alone[best]:.3f} bits per byte. The {size / 1000:,.0f} kB of held-out "
        f"text would shrink to {size * alone[best] / 8000:,.0f} kB if it were stored with {best}'s help."
    ]
    if gpt < kn:
        lines.append(
            f"{NEURAL.label}, after {duration(seconds)} of training, is {kn - gpt:.3f} bits per byte better than "
            "the best counting model, Kneser-Ney 5: looking back further than five tokens has paid off."
        )
    else:
        beaten = [name for name in ("bigram", "mixture of orders", "Kneser-Ney 3") if gpt < bits[name]]
        than = f" It already beats {', '.join(beaten)}." if beaten else ""
        lines.append(
            f"Counting still wins here: {NEURAL.label} has trained for only {duration(seconds)} and stands "
            f"{gpt - kn:.3f} bits per byte behind Kneser-Ney 5, which reads all of the text once in seconds.{than} "
            "Give it longer: foreword demo --budget 30m."
        )
    gain = min(gpt, kn) - bits[mixed]
    nothing = (
        f"Mixing the two gains nothing here ({bits[mixed]:.3f}): the better one already knows what the other does."
    )
    together = (
        f"Together they do better than either: the mixture ({weights[NEURAL.label]:.0%} {NEURAL.label}, "
        f"{weights['Kneser-Ney 5']:.0%} Kneser-Ney 5) needs {bits[mixed]:.3f}, {gain:.3f} less. They know "
        "different things: one remembers phrases, the other has learned what may stand where."
    )
    return [*lines, together if gain > 0.0005 else nothing]


def facts(
    gathered: JsonObject, passport: JsonObject, recipe: Recipe, weights: dict[str, float]
) -> list[tuple[str, str]]:
    mixture = " + ".join(f"{weight:.3f} {name}" for name, weight in weights.items())
    found = {
        "text": f"{gathered['text']}: {gathered['kept']:,} documents, {gathered['bytes']:,} bytes, after leaving out "
        f"{gathered['exact']:,} exact and {gathered['near']:,} near duplicates of {gathered['read']:,}",
        "split": "90% training, 5% validation, 5% test, by a hash of each document",
        "tokenizer": f"byte-level BPE, {VOCABULARY:,} tokens, trained on the training documents only",
        NEURAL.label: f"{passport['parameters']:,} parameters, {passport['tokens']:,} tokens in "
        f"{duration(passport['seconds'])} ({passport['tokens'] / max(passport['seconds'], 1e-9):,.0f} tokens a second), "
        f"{recipe.paper}",
        "why this one": "after the same core-seconds it predicts better than a GPT-2 of that size (benchmarks/RESULTS.md)",
        "mixture": f"{mixture}, weights fitted on validation text",
        "evaluated": f"at most {EVALUATED:,} bytes of test documents, each model on the same ones",
        "versions": ", ".join(f"{name} {value}" for name, value in passport["versions"].items()),
        "repeat": f"foreword demo --budget {recipe.training.budget}",
    }
    return list(found.items())
