"""`foreword advise` for labels: look, race, choose within the training labels, look at test once, keep the winner."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from foreword.assembly import loader
from foreword.basics.cores import cores
from foreword.basics.files import JsonObject, read_json, remove_folder, write_folder, write_json, write_json_lines
from foreword.basics.messages import Fault, Interrupted, RunFailed, duration
from foreword.basics.progress import say, ticking
from foreword.basics.unfinished import settings_key
from foreword.compare.advise.candidates import BASELINE, CONSTANT, Candidate, Labeller, quick
from foreword.compare.advise.looking import TextFacts, gather, label_facts
from foreword.compare.advise.networks import Finetuned
from foreword.compare.advise.problem import Problem, smallest
from foreword.compare.advise.race import CandidateRace, Clock, average
from foreword.compare.advise.trials import KeptTrials, Trial
from foreword.runs.train import train
from foreword.tasks.labelled_task import LabelledTask
from foreword.tasks.metrics import PairedDifference, difference
from foreword.tasks.template import Row
from foreword.text import reading
from foreword.tokens.build import build_store
from foreword.transfer.kinds.base import Answer, prediction_record
from foreword.transfer.labellers import AverageLabeller

LEAST = 20.0  # seconds below which nothing can be said
TEXT_A_SECOND = 30_000  # bytes of text to a second of budget: learning vectors of it takes a tenth of the budget, about
TOKENS_A_SECOND = 20_000  # that are read at least, to a second of budget, however often that is
LAST = 0.15  # of the budget, kept for the winner and the test
FORMAT = 1
NETWORKS_FROM = (
    2000  # labels from which a network may pass a bag of words (measured on SST-2: see docs/how-to/advise.md)
)


@dataclass(frozen=True)
class AdviceRequest:
    """What was asked."""

    text: Path
    labels: str  # as it was written
    out: Path
    budget: float  # seconds
    starts: tuple[Path, ...] = ()
    written: str = ""  # the budget as it was given
    rows: Sequence[Row] = ()  # the labels as they stand in their file


@dataclass(frozen=True)
class AdviceTestResult:
    """What a fitted labeller answers to the test."""

    name: str
    answers: tuple[Answer, ...]
    value: float


@dataclass(frozen=True)
class Advice:
    wish: AdviceRequest
    problem: Problem
    text: TextFacts | None
    facts: Sequence[str]
    race: CandidateRace
    order: Sequence[Trial]  # the best first
    winner: Trial
    learned: bool  # whether anything is better than one answer
    tested: Sequence[AdviceTestResult]  # the winner, the baseline, one answer
    apart: PairedDifference | None  # winner - baseline on test
    curve: Sequence[tuple[int, Trial]]  # the winner with fewer labels


def advise(wish: AdviceRequest, task: LabelledTask) -> Advice:
    """All of it. The same call goes on where it was stopped; a larger budget goes on further."""
    if wish.budget < LEAST:
        raise Fault(f"--budget {wish.written}: nothing can be said in so little time.", f"Give at least {LEAST:.0f}s.")
    with held(wish.out), ticking("advise") as ticker:
        clock = Clock(wish.budget, claimed(wish, task))
        problem = Problem.of(task)
        if problem.learned_from < smallest(problem):
            raise Fault(
                f"{len(problem.examples)} labels are too few to learn anything and to judge it by.",
                f"Give at least {2 * smallest(problem)}: then something can be said, though not much.",
            )
        problem, text = with_text(wish, problem)
        facts = label_facts(task, wish.rows)
        for line in ([text.sentence] if text else []) + facts:
            say(line)
        race = CandidateRace(problem, KeptTrials(wish.out / "trials"), clock, ticker)
        candidates: list[Candidate] = list(quick(problem, wish.starts))
        race.run(candidates, until=(0.5 if wish.starts else LAST) * wish.budget)
        write_json(wish.out / "spent.json", {"seconds": clock.spent})
        candidates += slow(race, wish)
        order = averaged(race, ranked(race))
        winner = order[0]
        learned = above_one_answer(race, winner)
        fitted = fit_again(race, candidates, winner)
        tested = at_test(race, candidates, winner, fitted)
        curve = smaller(race, candidates, winner)
        apart = difference_at_test(problem, tested)
        found = Advice(wish, problem, text, facts, race, order, winner, learned, tested, apart, curve)
        if learned:
            keep_winner(found, fitted)
        write_json(wish.out / "spent.json", {"seconds": clock.spent})
    return found


# --- the folder -----------------------------------------------------------------------------------------------------------


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """The folder, while no other process works in it. If what was given cannot be used, nothing of a new one is left."""
    import fcntl

    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise Fault(f"another process works in {folder} now.", "Wait for it, or give another --out.") from error
    except Fault as fault:
        if new and not isinstance(fault, RunFailed | Interrupted):
            remove_folder(folder)
        raise
    finally:
        os.close(handle)


def claimed(wish: AdviceRequest, task: LabelledTask) -> float:
    """The seconds that earlier calls have spent here; a folder of other labels or text is refused."""
    from foreword.transfer.labelled_run import contents

    key = settings_key({"text": reading.fingerprint([wish.text]), "labels": contents(task), "format": FORMAT})
    plan = wish.out / "plan.json"
    if plan.is_file():
        if read_json(plan)["key"] != key:
            raise Fault(f"{wish.out} holds advice about other labels or text.", "Choose another --out.")
        spent = wish.out / "spent.json"
        return float(read_json(spent)["seconds"]) if spent.is_file() else 0.0
    if any(wish.out.iterdir()):
        raise Fault(f"{wish.out} is not empty.", "Choose another --out.")
    write_json(plan, {"key": key, "labels": wish.labels, "text": str(wish.text)})
    return 0.0


def with_text(wish: AdviceRequest, problem: Problem) -> tuple[Problem, TextFacts | None]:
    """The text beside the labels, and vectors of its words."""
    if problem.task.kind not in ("classify", "pair", "similarity"):
        return problem, None
    file = wish.out / "text.jsonl"
    facts = gather(wish.text, problem.task.test, file, int(TEXT_A_SECOND * wish.budget))
    check_language(wish, problem, facts)
    vectors = wish.out / "vectors"
    try:
        least = min(4_000_000, int(TOKENS_A_SECOND * wish.budget))
        recipe = loader.load("word2vec", "", [f"training.threads={cores()}", f'training.least="{least}tok"'])
        build_store([file], wish.out / "store", recipe.tokenizer, fractions=(1.0, 0.0, 0.0))
        train(recipe, wish.out / "store", vectors)
    except Fault as fault:
        if isinstance(fault, RunFailed):
            raise
        say(f"no word vectors: {fault.what}")
        return replace(problem, text=file), facts
    return replace(problem, text=file, vectors=vectors), facts


def check_language(wish: AdviceRequest, problem: Problem, facts: TextFacts) -> None:
    from foreword.compare.advise.looking import NAMES, OTHER, language_of

    said = language_of(text for example in problem.examples[:2000] for text in example.texts)
    if OTHER not in (said, facts.language) and said != facts.language:
        text, labels = (NAMES.get(one, one) for one in (facts.language, said))
        raise Fault(
            f"{wish.text} is {text}, and the texts of {wish.labels} are {labels}: one teaches nothing about the other.",
            "Give text in the language of the labels; if there is none, the file of the labels itself.",
        )


# --- the choice -----------------------------------------------------------------------------------------------------------


def slow(race: CandidateRace, wish: AdviceRequest) -> list[Candidate]:
    """Networks, one after another, each with an equal share of what is left; they come back as candidates."""
    problem, folder = race.problem, wish.out / "runs"
    found = [Finetuned(start, folder, 0.0) for start in wish.starts]
    classes = problem.task.kind in ("classify", "pair")
    if problem.vectors is not None and classes and len(problem.examples) >= NETWORKS_FROM:
        found.append(Finetuned(problem.vectors, folder, 0.0, "lstm:laptop"))
    whole = replace(problem, threads=cores())
    alone = CandidateRace(whole, race.kept, race.clock, race.ticker, race.trials)
    given: list[Candidate] = []
    for number, one in enumerate(found):
        share = (race.clock.left - LAST * wish.budget) / (len(found) - number)
        if share < LEAST:
            race.too_slow[one.name] = 2 * LEAST
            continue
        one = replace(one, seconds=0.55 * share)  # the rest: reading, and the answers
        alone.round([one], None, LAST * wish.budget)
        given.append(one)
    return given


def ranked(race: CandidateRace) -> list[Trial]:
    """The best first, compared on what both answered, though one had fewer labels or folds: more would only help it."""
    order = race.furthest()
    if not order:
        raise RunFailed("no candidate could be tried within the budget.", "Give more: --budget 10m")
    best = order[0]
    for one in order[1:]:
        if race.apart(one, best)[0] > 0:
            best = one
    return [best, *(one for one in order if one is not best)]


def averaged(race: CandidateRace, order: list[Trial]) -> list[Trial]:
    """With the mean of the best two or three in front, where it is better than the best."""
    same = [one for one in order if one.size == order[0].size and one.name != CONSTANT]
    made = [average(race.problem, *same[:several]) for several in (2, 3) if len(same) >= several]
    better = [one for one in made if one is not None and one.value > order[0].value]
    best = max(better, key=lambda one: one.value, default=None)
    return [best, *order] if best else order


def above_one_answer(race: CandidateRace, winner: Trial) -> bool:
    """Beyond three standard errors: several candidates were tried, and one of them is always lucky."""
    constant = race.trials.get((CONSTANT, winner.size)) or race.trials.get((CONSTANT, None))
    if constant is None or winner.name == CONSTANT:
        return False
    apart, error = race.apart(winner, constant)
    return apart > 3 * error


def members(winner: Trial) -> list[str]:
    return winner.name.split(" + ")


def fit_again(race: CandidateRace, candidates: Sequence[Candidate], winner: Trial) -> Labeller:
    """The winner with all training labels; a network as it learned in its fold."""
    by_name = {one.name: one for one in candidates}
    made: list[Labeller] = []
    for name in members(winner):
        one = by_name[name]
        setting = race.trials[name, winner.size].setting
        if isinstance(one, Finetuned):
            made.append(one.learned(race.problem))
        else:
            made += one.fit(race.problem, race.problem.examples, [one.settings[setting]])
    return made[0] if len(made) == 1 else AverageLabeller(tuple(race.problem.task.labels), tuple(made))


def at_test(
    race: CandidateRace, candidates: Sequence[Candidate], winner: Trial, fitted: Labeller
) -> list[AdviceTestResult]:
    problem, found = race.problem, []
    for name in dict.fromkeys((winner.name, BASELINE, CONSTANT)):
        trial = race.trials.get((name, winner.size)) or race.trials.get((name, None))
        if name == winner.name:
            labeller = fitted
        elif trial is None:
            continue
        else:
            one = next(one for one in candidates if one.name == name)
            labeller = one.fit(problem, problem.examples, [one.settings[trial.setting]])[0]
        answers = tuple(labeller.answers(problem.task.test))
        value = problem.measure.of(problem.task.test, [one.label for one in answers])
        found.append(AdviceTestResult(name, answers, value))
    return found


def difference_at_test(problem: Problem, tested: Sequence[AdviceTestResult]) -> PairedDifference | None:
    """winner - baseline, or - one answer where there is no other."""
    if len(tested) < 2:
        return None
    judged = [problem.measure.judge(problem.task.test, [one.label for one in some.answers]) for some in tested[:2]]
    return difference(problem.measure.metric, judged[1], judged[0])


def smaller(race: CandidateRace, candidates: Sequence[Candidate], winner: Trial) -> list[tuple[int, Trial]]:
    """The winner's first member with an eighth, a quarter and half of the labels, if there is time."""
    problem, name = race.problem, members(winner)[0]
    one = next(one for one in candidates if one.name == name)
    whole = race.trials[name, winner.size]
    found = [(winner.size or problem.learned_from, whole)]
    if isinstance(one, Finetuned) or winner.size is not None or name == CONSTANT:
        return found
    for part in (2, 4, 8):
        size = problem.learned_from // part
        keep = 0.05 * race.clock.budget
        if size < smallest(problem) or whole.seconds / len(one.settings) > race.clock.left - keep:
            break
        race.round([one], size, keep, only=whole.setting)
        trial = race.trials[name, size]
        if not trial.failed:
            found.append((size, trial))
    return found[::-1]


# --- the winner as a run ----------------------------------------------------------------------------------------------


def keep_winner(advice: Advice, fitted: Labeller) -> None:
    """A run folder: `foreword predict` and `foreword test` open it."""
    if not hasattr(fitted, "save"):
        return
    task, out = advice.problem.task, advice.wish.out / "winner"
    remove_folder(out)
    write_folder(out / "model", fitted.save)
    mine = advice.tested[0]
    lines = [
        {"split": "test", **prediction_record(example, answer)} for example, answer in zip(task.test, mine.answers)
    ]
    write_json_lines(out / "predictions.jsonl", lines)
    scores = {one.metric: one.values() for one in task.scored(task.test, [one.label for one in mine.answers])}
    about: JsonObject = {"name": task.name, "kind": task.kind, "learn": task.learn.model_dump(mode="json")}
    about |= {"labels": list(task.labels), "notes": list(task.notes)}
    about |= {"examples": {"train": len(task.train), "dev": 0, "test": len(task.test)}}
    facts = {"format": FORMAT, "task": about, "candidate": mine.name, "scores": {"test": scores}, "finished": True}
    write_json(out / "passport.json", facts)


def took(advice: Advice) -> str:
    return duration(advice.race.clock.spent)
