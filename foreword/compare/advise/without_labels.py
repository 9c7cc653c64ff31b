"""`foreword advise` without labels: language models ranked on held-out text, or vectors by what they find again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from foreword.assembly import loader
from foreword.basics.files import JsonObject, read_json, write_folder, write_json
from foreword.basics.messages import Fault, RunFailed, duration
from foreword.basics.progress import say, ticking
from foreword.basics.unfinished import settings_key
from foreword.compare.advise.advice import LEAST, TEXT_A_SECOND, held
from foreword.compare.advise.looking import TextFacts, gather
from foreword.compare.advise.race import Clock
from foreword.evaluate.bits_report import results
from foreword.evaluate.held_out import Corpus, score_corpus, score_mixture
from foreword.evaluate.score import Score
from foreword.model import load as load_model
from foreword.report import Facts, Report, Section, Table, Text
from foreword.runs.folder import RunFolder
from foreword.runs.train import train
from foreword.tasks.confidence import Interval, bootstrap
from foreword.text import reading
from foreword.tokens.build import build_store
from foreword.training.hardware import Hardware
from foreword.transfer.baselines import TfIdf

EVALUATED = 200_000  # bytes of held-out text
FIRST = 0.12  # of the budget, for each network's first try; the best goes on with the rest
LAST = 0.15  # of the budget, for the evaluation
HALVES = 400  # documents at most that are cut in two


@dataclass(frozen=True)
class Purpose:
    """What is trained and asked for one purpose."""

    counts: tuple[tuple[str, str, tuple[str, ...]], ...]  # (name, recipe, settings): there in seconds
    networks: tuple[tuple[str, str, str], ...]  # (name, recipe, size)
    ability: str  # that a given model needs
    unit: str


PURPOSES = {
    "write": Purpose(
        (
            ("bigram", "bigram", ()),
            ("Kneser-Ney 3", "kneser-ney", ("network.order=3",)),
            ("Kneser-Ney 5", "kneser-ney", ()),
        ),
        (("modern GPT", "modern-gpt", "laptop"), ("LSTM", "lstm", "laptop")),
        "score",
        "bits per byte of held-out text",
    ),
    "fill": Purpose(
        (), (("modern BERT", "modern-bert", "laptop"), ("BERT", "bert", "laptop")), "fill", "pseudo-bits per byte"
    ),
}


def advise(text: Path, out: Path, budget: float, purpose: str, starts: Sequence[Path]) -> Report:
    if purpose in ("classify", "tag"):
        raise Fault(f"--for {purpose} needs labels.", "Give them:  --labels labels.csv")
    if budget < LEAST:
        raise Fault("nothing can be said in so little time.", f"Give at least --budget {LEAST:.0f}s.")
    with held(out), ticking("advise") as ticker:
        clock = Clock(budget, claimed(text, out, purpose))
        facts = gather(text, (), out / "text.jsonl", int(TEXT_A_SECOND * budget))
        say(facts.sentence)
        if purpose == "embed":
            report = vectors(text, out, facts, starts)
        else:
            report = language_models(PURPOSES[purpose], out, facts, starts, clock, ticker.update)
        write_json(out / "spent.json", {"seconds": clock.spent})
    return report


def claimed(text: Path, out: Path, purpose: str) -> float:
    key = settings_key({"text": reading.fingerprint([text]), "for": purpose})
    plan, spent = out / "plan.json", out / "spent.json"
    if plan.is_file() and read_json(plan)["key"] != key:
        raise Fault(f"{out} holds advice about other text, or for another purpose.", "Choose another --out.")
    if not plan.is_file() and any(out.iterdir()):
        raise Fault(f"{out} is not empty.", "Choose another --out.")
    write_json(plan, {"key": key, "text": str(text)})
    return float(read_json(spent)["seconds"]) if spent.is_file() else 0.0


# --- language models --------------------------------------------------------------------------------------------------


def language_models(
    purpose: Purpose,
    out: Path,
    facts: TextFacts,
    starts: Sequence[Path],
    clock: Clock,
    update: Callable[[float, str], None],
) -> Report:
    """Counts first, each network for a short time, and the rest of the budget for the best of them."""
    store = out / "store"
    first = loader.load(purpose.networks[0][1], purpose.networks[0][2])
    build_store([out / "text.jsonl"], store, first.tokenizer)
    runs: dict[str, Path] = {}
    for name, recipe, settings in purpose.counts:
        runs[name] = train(loader.load(recipe, "", settings), store, out / "runs" / name.replace(" ", "-")).path
        update(clock.spent / clock.budget, name)
    found, failed = networks(purpose, out, clock, update)
    runs |= found
    models = {name: load_model(path) for name, path in runs.items()}
    models |= {path.name: load_model(path) for path in starts}
    for path in starts:
        if purpose.ability not in models[path.name].abilities:
            failed[path.name] = f"cannot {purpose.ability}"
            del models[path.name]
    held_out = Corpus(store, "test", limit=EVALUATED)
    as_text = Corpus(out / "text.jsonl", "test", limit=EVALUATED)
    scores: dict[str, Score] = {}
    answers = {}
    for name, model in models.items():
        own = name in runs
        answers[name] = score_corpus(model, held_out if own else as_text, None)
        scores[name] = answers[name].score
        update(clock.spent / clock.budget, name)
    weights: dict[str, float] = {}
    best = sorted(scores, key=lambda name: scores[name].bits_per_byte or np.inf)
    pair = [next((name for name in best if (name in found) is neural and name in runs), "") for neural in (True, False)]
    if purpose.counts and all(pair):
        parts = {name: models[name] for name in pair}
        mixed = " + ".join(pair)
        scores[mixed], weights = score_mixture(parts, answers, held_out)
    return ranking(purpose, out, facts, scores, weights, runs, failed, clock)


def networks(
    purpose: Purpose, out: Path, clock: Clock, update: Callable[[float, str], None]
) -> tuple[dict[str, Path], dict[str, str]]:
    """(runs by name, why others are not there). Every one first for a short time; the best is trained on."""
    tried: dict[str, float] = {}
    failed: dict[str, str] = {}

    def go(name: str, recipe: str, size: str, seconds: float) -> float:
        folder, store = out / "runs" / name.replace(" ", "-"), out / "store"
        before = float(RunFolder(folder).passport().get("seconds") or 0.0)
        settings = [f'training.budget="{max(seconds, before + 1):.0f}s"']
        run = train(loader.load(recipe, size, settings), store, folder, hardware=Hardware.choose(compile="off"))
        return float((run.passport().get("best") or {}).get("valid", np.inf))

    for name, recipe, size in purpose.networks:
        if clock.left < FIRST * clock.budget:
            failed[name] = "not tried within the budget"
            continue
        try:
            tried[name] = go(name, recipe, size, FIRST * clock.budget)
        except RunFailed as fault:
            failed[name] = fault.what
        update(clock.spent / clock.budget, name)
    if tried:
        best = min(tried, key=tried.__getitem__)
        rest = clock.left - LAST * clock.budget
        if rest > 0:
            place = next(one for one in purpose.networks if one[0] == best)
            go(*place, seconds=FIRST * clock.budget + rest)
    return {name: out / "runs" / name.replace(" ", "-") for name in tried}, failed


def ranking(
    purpose: Purpose,
    out: Path,
    facts: TextFacts,
    scores: Mapping[str, Score],
    weights: Mapping[str, float],
    runs: Mapping[str, Path],
    failed: Mapping[str, str],
    clock: Clock,
) -> Report:
    bits = {name: score.bits_per_byte for name, score in scores.items() if score.bits_per_byte is not None}
    order = sorted(bits, key=bits.__getitem__)
    alone = [name for name in order if " + " not in name]
    if not alone:
        raise RunFailed("no model could be compared: their tokenizers lose part of the text.")
    best = alone[0]
    lead = [f"Use {best}: {bits[best]:.3f} {purpose.unit}" + _next(alone, bits) + "."]
    if order[0] != best:
        parts = " ".join(str(runs[name]) for name in weights)
        lead.append(
            f"Both together are better: {bits[order[0]]:.3f} ({order[0]}):  foreword evaluate {parts} bits --mix"
        )
    if best in runs:
        write_folder(out / "winner" / "model", lambda partial: _copy(RunFolder(runs[best]).model, partial))
        lead.append(f"It is kept: {out / 'winner'}")
    missing = [f"{name}: {why}" for name, why in failed.items()]
    spent = f"{duration(clock.spent)} of {duration(clock.budget)}"
    values: JsonObject = {"winner": best, "bits_per_byte": bits, "weights": dict(weights), "failed": dict(failed)}
    return Report(
        "Advice for this text",
        lead,
        [
            Section("What there is", Text([facts.sentence], note=True)),
            results(dict(scores), "held-out text", weights),
            Section("Not compared", Text(missing)) if missing else Section("Not compared"),
            Section("How this was made", Facts([("folder", str(out)), ("took", spent)])),
        ],
        values,
    )


def _next(alone: Sequence[str], bits: Mapping[str, float]) -> str:
    return f"; next is {alone[1]} with {bits[alone[1]]:.3f}" if len(alone) > 1 else ""


def _copy(folder: Path, partial: Path) -> None:
    import shutil

    shutil.copytree(folder, partial, dirs_exist_ok=True)


# --- vectors ------------------------------------------------------------------------------------------------------------


def vectors(text: Path, out: Path, facts: TextFacts, starts: Sequence[Path]) -> Report:
    """Held-out documents are cut in two: how often is the half nearest to a first half its own second half?"""
    from foreword import load

    recipe = loader.load("word2vec")
    build_store([out / "text.jsonl"], out / "words", recipe.tokenizer, fractions=(0.9, 0.0, 0.1))
    run = train(recipe, out / "words", out / "runs" / "word2vec").path
    from foreword.tokens.store import TokenStore

    halves = [
        cut(one) for one in TokenStore.open(out / "words", "test").texts() if len(one.split()) > 20 or len(one) > 80
    ]
    halves = halves[:HALVES]
    if len(halves) < 10:
        raise Fault(f"{text} has too few documents of some length to compare vectors by.", "Give more text.")
    counted = TfIdf(characters=False).fit([(one,) for pair in halves for one in pair])
    embeds: dict[str, Callable[[Sequence[str]], np.ndarray]] = {
        "TF-IDF": lambda some: counted.of([(one,) for one in some]).toarray(),
        "word vectors of your text": load(run).features,
        **{path.name: partial(embedded, path) for path in starts},
    }
    found = {name: ranks(embed, halves) for name, embed in embeds.items()}
    order = sorted(found, key=lambda name: -found[name].mean())
    rows: list[tuple[str, ...]] = [("vectors", "MRR", "95%")]
    for name in order:
        low, high = interval(found[name])
        rows.append((name, f"{found[name].mean():.3f}", f"{low:.3f} to {high:.3f}"))
    table = Table(
        rows,
        best=1,
        caption=f"The other half of {len(halves)} held-out documents, found among all: mean reciprocal rank",
    )
    lead = [
        f"Use {order[0]}: {found[order[0]].mean():.3f} mean reciprocal rank; next is {order[1]} with "
        f"{found[order[1]].mean():.3f}."
    ]
    values = {"winner": order[0], "mrr": {name: float(each.mean()) for name, each in found.items()}}
    return Report(
        "Advice for vectors of this text",
        lead,
        [Section("Candidates", table), Section("Text", Text([facts.sentence], note=True))],
        values,
    )


def embedded(model: Path, texts: Sequence[str]) -> np.ndarray:
    from foreword import load

    return np.asarray(load(model).embed(list(texts)))


def cut(text: str) -> tuple[str, str]:
    """Two halves, at a space where there is one."""
    middle = len(text) // 2
    place = text.find(" ", middle)
    place = middle if place < 0 else place
    return text[:place], text[place:]


def ranks(embed: Callable[[Sequence[str]], np.ndarray], halves: Sequence[tuple[str, str]]) -> np.ndarray:
    """1 / rank of each document's own second half, by the cosine."""
    from foreword.vectors.words import unit

    first, second = (unit(np.asarray(embed([pair[side] for pair in halves]), np.float64)) for side in (0, 1))
    both = np.concatenate([first, second])
    middle = both.mean(0)
    cosines = unit(first - middle) @ unit(second - middle).T
    own = np.diagonal(cosines)[:, None]
    return 1 / (1 + (cosines > own).sum(1) + 0.5 * ((cosines == own).sum(1) - 1))


def interval(each: np.ndarray) -> Interval:
    return bootstrap(each[:, None], lambda sums, examples: sums[..., 0] / examples)
