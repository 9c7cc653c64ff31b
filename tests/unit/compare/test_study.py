"""Several seeds of every setting: means and intervals by hand, dev alone chooses, and what is finished is left alone."""

from __future__ import annotations

import math
import shutil
import tomllib as toml
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from foreword import tasks
from foreword.assembly import loader
from foreword.basics.messages import Fault, Interrupted, RunFailed
from foreword.compare import study as protocol
from foreword.compare.contenders import Plan
from foreword.compare.significance import Difference, Result, SeedResult, Significance, over_seeds
from foreword.compare.study import AGAIN, Study, study
from foreword.exchange import hugging_face
from foreword.runs.folder import RunFolder
from foreword.runs.loop import RunLoop
from foreword.tasks.labelled_task import LabelledTask
from foreword.tokens.kinds import Words
from foreword.transfer import vector_classifier
from foreword.transfer.kinds import transfer_kind_of
from foreword.transfer.kinds.base import read_predictions
from foreword.transfer.label_subset import training_subset
from foreword.transfer.tuning import FinetuneSettings
from foreword.transfer.vector_classifier import is_classifier
from foreword.vectors.table import VectorTable
from tests.labelled import BAD, GOOD, KINDS, PLAIN, folder, task

QUICK = FinetuneSettings(epochs=2, batch_size=16, learning_rate=3e-3)
PUBLISHED = {
    "cmrc2018": [3e-5, 8e-5],
    "drcd": [3e-5, 8e-5],
    "xnli-zh": [3e-5, 5e-5],
    "chnsenticorp": [2e-5, 5e-5],
    "lcqmc": [2e-5, 5e-5],
    "thucnews": [2e-5, 5e-5],
    "msra-ner": [3e-5, 4e-5, 5e-5],
    "peopledaily": [3e-5, 5e-5],
}
T2, T4 = 4.302652729911275, 2.7764451051977987  # Student's t, 97.5%, with 2 and 4 degrees of freedom (any table)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder("gpt2", tmp_path_factory.mktemp("base") / "gpt2")


def seed_results(task: LabelledTask, *answers: list[str], dev: float = 0.5) -> tuple[SeedResult, ...]:
    worth = Significance(task)
    return tuple(SeedResult(seed, dev, worth.of(said), tuple(said)) for seed, said in enumerate(answers))


# --- sums ---------------------------------------------------------------------------------------------------------------


def test_mean_spread_and_interval_are_those_of_a_sheet_of_paper() -> None:
    row = Result(
        "x", 16, tuple(SeedResult(seed, 0.1 * seed, test, ()) for seed, test in enumerate([0.5, 0.6, 0.7, 0.8, 0.9]))
    )
    assert row.dev == pytest.approx(0.2)
    assert row.test == pytest.approx(0.7)
    spread = math.sqrt((0.04 + 0.01 + 0 + 0.01 + 0.04) / 4)
    assert row.spread == pytest.approx(spread)
    assert row.over_seeds == pytest.approx((0.7 - T4 * spread / math.sqrt(5), 0.7 + T4 * spread / math.sqrt(5)))
    assert math.isnan(over_seeds([0.5])[0])


def test_a_mean_stays_where_the_metric_can_be_and_a_difference_does_not() -> None:
    whole = task("classify", test=8)
    row = Significance(whole).bounded(
        Result("x", 16, tuple(SeedResult(seed, 0.5, test, ("good",) * 8) for seed, test in enumerate([0.5, 1.0])))
    )
    assert over_seeds(row.tests)[1] > 1.5
    assert row.over_seeds == (0.0, 1.0)
    assert Significance(task("similarity")).measure.within == (-1.0, 1.0)  # a correlation
    assert Difference(16, "x", "y", (-0.5, 0.5), (0.0, 0.0)).over_seeds[0] < -1
    assert math.isnan(Significance(whole).bounded(Result("x", 16, row.seeds[:1])).over_seeds[0])


def test_the_paired_interval_is_that_of_the_differences() -> None:
    """Seeds that differ much, by the same from row to row: the pairs know it, the means apart would not."""
    whole = task("classify", test=8)
    right = [str(one.label) for one in whole.test]
    wrong = [{"good": "bad", "bad": "good"}[label] for label in right]

    def but(count: int) -> list[str]:
        return wrong[:count] + right[count:]

    one, other = (
        Result("a", 16, seed_results(whole, but(0), but(3), but(5))),
        Result("b", 16, seed_results(whole, but(1), but(4), but(7))),
    )
    apart = Significance(whole).difference(one, other)
    assert apart.each == pytest.approx((1 / 8, 1 / 8, 2 / 8))
    mean, spread = 1 / 6, math.sqrt(((1 / 24) ** 2 * 2 + (1 / 12) ** 2) / 2)
    assert apart.over_seeds == pytest.approx((mean - T2 * spread / math.sqrt(3), mean + T2 * spread / math.sqrt(3)))
    assert apart.over_seeds[1] - apart.over_seeds[0] < one.over_seeds[1] - one.over_seeds[0]


def test_examples_are_drawn_once_for_all_seeds_and_both_rows() -> None:
    whole = task("classify", test=12)
    right = [str(one.label) for one in whole.test]
    none = [{"good": "bad", "bad": "good"}[label] for label in right]
    worth = Significance(whole)
    same = Result("a", 16, seed_results(whole, none[:4] + right[4:], none[:6] + right[6:]))
    assert worth.difference(same, same).over_examples == pytest.approx((0, 0))
    low, high = worth.difference(same, Result("b", 16, seed_results(whole, none))).over_examples  # one try beside each
    draws = np.random.default_rng(1).multinomial(12, [1 / 12] * 12, 20000)
    better = np.asarray([0] * 4 + [0.5] * 2 + [1.0] * 6)
    assert (low, high) == pytest.approx(np.quantile(draws @ better / 12, [0.025, 0.975]), abs=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_knowing_nothing_is_the_same_answer_to_everything(kind: str) -> None:
    whole = task(kind, 24, 9, 9)
    constant = whole.learn.constant_answer(whole.train)
    said = [constant(example) for example in whole.test]
    assert Significance(whole).of(said) < 0.8
    assert len({str(one) for one in said}) == 1 or kind == "tag"


def test_an_ensemble_is_the_mean_of_the_scores() -> None:
    lines = [
        {"answer": "a", "scores": {"a": 0.6, "b": 0.4}},
        {"answer": "a", "scores": {"a": 0.55, "b": 0.45}},
        {"answer": "b", "scores": {"a": 0.1, "b": 0.9}},
    ]
    assert transfer_kind_of("classify").combined(lines) == "b"  # 1.25 to 1.75, though two of three say a
    assert transfer_kind_of("similarity").combined([{"answer": 1.0}, {"answer": 4.0}]) == 2.5
    assert transfer_kind_of("choice").combined([{"answer": 0, "scores": {"0": 0.2, "1": 0.8}}]) == 1


# --- numbers of labels --------------------------------------------------------------------------------------------------


def test_fewer_labels_are_among_more_and_keep_the_shares() -> None:
    whole = task("classify", 200)
    uneven = replace(whole, train=tuple(one for n, one in enumerate(whole.train) if one.label == "good" or n % 6 == 0))
    share = sum(one.label == "good" for one in uneven.train) / len(uneven.train)
    for seed in range(3):
        sets = [training_subset(uneven, size, seed) for size in (16, 64, None)]
        assert {one.id for one in sets[0]} < {one.id for one in sets[1]} < {one.id for one in sets[2]}
        for some in sets:
            assert Counter(one.label for one in some)["good"] == pytest.approx(share * len(some), abs=1)
    assert {one.id for one in training_subset(uneven, 16, 0)} != {one.id for one in training_subset(uneven, 16, 1)}


# --- whole studies ------------------------------------------------------------------------------------------------------


def test_a_study_runs_every_setting_with_every_seed(base: Path, tmp_path: Path) -> None:
    whole = task("classify")
    found = study(base, whole, tmp_path / "out", QUICK, Plan(2, curve=(16, None), compare=("scratch",), ensemble=True))
    assert [(row.name, row.labels) for row in found.results] == [
        (name, size)
        for size in (16, None)
        for name in ("pretrained", "scratch", "ensemble", "TF-IDF", "bag of features")
    ] + [("majority", None)]
    assert [(one.labels, one.minus) for one in found.differences] == [
        (size, name) for size in (16, None) for name in ("scratch", "TF-IDF", "bag of features")
    ]
    for row, inside in zip(found.results[:2], ("", "scratch")):
        for seed, one in enumerate(row.seeds):
            run = RunFolder(tmp_path / "out" / "labels-16" / inside / f"seed-{seed}")
            passport = run.passport()
            assert one.run == run.path
            assert passport["tuning"]["seed"] == seed
            assert passport["tuning"]["init"] == row.name
            assert passport["task"]["examples"]["train"] == 16
            assert one.dev == passport["scores"]["dev"]["accuracy"]["value"]
            assert one.test == pytest.approx(passport["scores"]["test"]["accuracy"]["value"])
    assert [len(row.seeds) for row in found.find("TF-IDF")] == [2, 1]  # each seed's own 16 labels; all are all


def outcome(found: Study) -> list[tuple]:
    return [
        (row.name, row.labels, row.rate, row.batch, row.chosen, row.dev, row.collapsed, row.median.seed)
        for row in found.results
        if row.seeds[0].run
    ]


@pytest.mark.thorough
def test_test_has_no_say(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every test label the other way round, all that is chosen is chosen again."""
    monkeypatch.setattr(protocol, "BATCHES", (16,))
    whole = task("classify", 48, 24, 24)
    other = {"good": "bad", "bad": "good"}
    poisoned = replace(whole, test=tuple(replace(one, label=other[str(one.label)]) for one in whole.test))
    how, plan = replace(QUICK, learning_rate=None), Plan(2, grid=True, restarts=1)
    one, two = (study(base, some, tmp_path / name, how, plan) for name, some in (("right", whole), ("wrong", poisoned)))
    assert outcome(one) == outcome(two)
    cells = one.results[:3]
    assert sum(row.chosen for row in cells) == 1
    assert max(cells, key=lambda row: row.dev).chosen
    assert one.find("pretrained")[0].test == pytest.approx(1 - two.find("pretrained")[0].test)
    assert [row.rate for row in cells] == pytest.approx(
        [rate * 24 for rate in (2e-5, 3e-5, 5e-5)]
    )  # 768 / 32 times as large


def test_a_task_with_published_rates_has_them_as_its_grid(base: Path) -> None:
    one = SimpleNamespace(model=base, how=QUICK)
    learn = task("classify", 8).learn
    for rates, tried in (((), (2e-5, 3e-5, 5e-5)), ((1e-5, 8e-5), (1e-5, 8e-5))):
        about = SimpleNamespace(learn=learn.model_copy(update={"rates": rates}))
        cells = protocol.StudyRunner.grid(SimpleNamespace(plan=Plan(1, grid=True), task=about), one)
        assert cells == [(pytest.approx(rate * 24), batch) for rate in tried for batch in (16, 32)]


def test_known_chinese_tasks_have_the_published_rates() -> None:
    """Cui et al. 2019, the best rates of BERT, BERT-wwm and ERNIE."""
    catalogue = Path(tasks.__file__).parent / "catalogue"
    rates = {name: toml.loads((catalogue / f"{name}.toml").read_text("utf-8"))["learn"]["rates"] for name in PUBLISHED}
    assert rates == PUBLISHED


@pytest.mark.thorough
def test_of_several_rates_dev_chooses_for_every_beginning(base: Path, tmp_path: Path) -> None:
    """One rate at which nothing is learned, one at which everything is: each is tried, in a folder of its own."""
    found = study(
        base,
        task("classify", 48),
        tmp_path / "out",
        replace(QUICK, epochs=8, learning_rate=None),
        Plan(2, rates=(1e-9, 3e-3), compare=("scratch",)),
    )
    tuned = [row for row in found.results if row.seeds[0].run]
    assert [(row.name, row.rate, row.chosen) for row in tuned] == [
        (name, rate, rate == 3e-3) for name in ("pretrained", "scratch") for rate in (1e-9, 3e-3)
    ]
    assert (tmp_path / "out" / "rate-3.00e-03-batch-16" / "seed-1").is_dir()
    assert (tmp_path / "out" / "scratch" / "rate-1.00e-09-batch-16" / "seed-0").is_dir()


def test_a_seed_that_learned_nothing_has_collapsed_and_begins_again(base: Path, tmp_path: Path) -> None:
    whole = task("classify", 48)
    half = replace(whole, dev=tuple(replace(one, texts=("the day",)) for one in whole.dev))  # every answer is the same
    found = study(base, half, tmp_path / "out", replace(QUICK, labels=16), Plan(2, restarts=1))
    row = found.results[0]
    assert found.floors == {16: 0.5}
    assert row.collapsed == 2
    for seed, one in enumerate(row.seeds):
        assert one.run == tmp_path / "out" / f"seed-{seed}-again-1"
        assert one.seed == seed
        first, again = (RunFolder(tmp_path / "out" / name) for name in (f"seed-{seed}", f"seed-{seed}-again-1"))
        assert again.passport()["seed"] == seed + AGAIN
        assert first.passport()["data"] == again.passport()["data"]  # the same examples
    learned = study(base, whole, tmp_path / "learned", replace(QUICK, epochs=8), Plan(2, restarts=1))
    assert learned.results[0].collapsed == 0
    assert not list((tmp_path / "learned").glob("*again*"))


def test_what_is_finished_is_not_done_again(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, plan = task("classify", 32), Plan(3)
    real, asked = protocol.finetune, []

    def until_the_third(
        model: Path, task: LabelledTask, out: Path, how: FinetuneSettings, hardware: object = None
    ) -> RunFolder:
        asked.append(how.seed)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return real(model, task, out, how)

    monkeypatch.setattr(protocol, "finetune", until_the_third)
    with pytest.raises(KeyboardInterrupt):
        study(base, whole, tmp_path / "out", QUICK, plan)
    monkeypatch.undo()
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("predictions.jsonl")}
    assert {path.parts[-2] for path in kept} == {"seed-0", "seed-1"}
    found = study(base, whole, tmp_path / "out", QUICK, plan)
    assert len(found.results[0].seeds) == 3
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    monkeypatch.setattr(RunLoop, "go", lambda self: pytest.fail("nothing is left to do"))
    assert study(base, whole, tmp_path / "out", QUICK, plan) == found


# --- what is kept -------------------------------------------------------------------------------------------------------


def models(where: Path) -> set[str]:
    return {str(path.parent.parent.relative_to(where)) for path in where.rglob("model/config.json")}


@pytest.mark.thorough
def test_a_study_keeps_answers_of_all_and_the_model_of_the_best(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, out = task("classify", 96), tmp_path / "out"
    plan = Plan(3, curve=(None, 16), compare=("scratch",), ensemble=True)
    found = study(base, whole, out, replace(QUICK, epochs=3), plan)
    runs = sorted(path.parent for path in out.rglob("recipe.toml"))
    assert len(runs) == 12
    for run in runs:
        assert {path.name for path in run.iterdir()} - {"model"} == {
            "recipe.toml",
            "passport.json",
            "metrics.jsonl",
            "predictions.jsonl",
        }
    best = max(
        found.find("pretrained")[0].seeds, key=lambda one: (one.dev, -one.seed)
    )  # all labels, of equals the first
    assert found.kept == best.run
    assert models(out) == {str(best.run.relative_to(out))}
    told = [(run, (run / "metrics.jsonl").read_bytes()) for run in runs]
    monkeypatch.setattr(RunLoop, "go", lambda self: pytest.fail("nothing is left to do"))
    assert study(base, whole, out, replace(QUICK, epochs=3), plan) == found
    assert models(out) == {str(best.run.relative_to(out))}
    assert [(run, (run / "metrics.jsonl").read_bytes()) for run in runs] == told


@pytest.mark.thorough
def test_never_more_models_than_two(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it runs: the best so far, and the one under way."""
    real, seen = protocol.finetune, []

    def watched(*given: Any) -> RunFolder:
        run = real(*given)
        seen.append(len(models(tmp_path / "out")))
        return run

    monkeypatch.setattr(protocol, "finetune", watched)
    study(base, task("classify", 32), tmp_path / "out", QUICK, Plan(4, compare=("scratch",)))
    assert len(seen) == 8
    assert max(seen) == 2


# --- seeds that fail ----------------------------------------------------------------------------------------------------


def failing(monkeypatch: pytest.MonkeyPatch, *seeds: int) -> None:
    """These take steps so wide that their loss is no number."""
    real = protocol.finetune

    def wide(model: Path, task: LabelledTask, out: Path, how: FinetuneSettings, hardware: object = None) -> RunFolder:
        return real(model, task, out, replace(how, learning_rate=1e30) if how.seed in seeds else how)

    monkeypatch.setattr(protocol, "finetune", wide)


def test_a_loss_that_is_no_number_is_a_collapse_and_not_the_end(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, plan = task("classify", 64), Plan(3, ensemble=True)
    how = replace(QUICK, epochs=8)
    failing(monkeypatch, 1)
    found = study(base, whole, tmp_path / "out", how, plan)
    row, nothing = found.results[0], found.results[-1]
    assert (row.collapsed, row.diverged) == (1, 1)
    assert (row.seeds[1].dev, row.seeds[1].test) == (found.floors[None], nothing.test)
    assert row.seeds[1].answers == nothing.seeds[0].answers
    assert not list((tmp_path / "out" / "seed-1").glob("checkpoints/*"))
    assert "seed-1" not in models(tmp_path / "out")
    assert found.find("ensemble")[0].seeds[0].answers == tuple(  # of the two that say something
        transfer_kind_of("classify").combined(lines)
        for lines in zip(*(read_predictions(one.run) for one in row.seeds[::2]))
    )
    monkeypatch.setattr(RunLoop, "go", lambda self: pytest.fail("it would fail again"))
    assert study(base, whole, tmp_path / "out", how, plan) == found


def test_a_seed_that_failed_begins_again(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, 0, 1, 1 + AGAIN)
    found = study(base, task("classify", 64), tmp_path / "out", replace(QUICK, epochs=8), Plan(2, restarts=1))
    saved, lost = found.results[0].seeds
    assert (saved.collapsed, saved.diverged, saved.run.name) == (True, True, "seed-0-again-1")
    assert saved.dev > found.floors[None] == lost.dev
    assert lost.run.name == "seed-1-again-1"


def test_when_every_seed_fails_the_table_says_so(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, 0, 1)
    found = study(base, task("classify", 64), tmp_path / "out", QUICK, Plan(2, ensemble=True))
    assert found.results[0].diverged == 2
    assert found.kept is None
    assert found.find("ensemble")[0].test == found.results[-1].test


@pytest.mark.parametrize("fault", [RunFailed("The disk is full."), Interrupted("stopped"), Fault("another")])
def test_other_failures_end_it(fault: Fault, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failed(*given: object) -> RunFolder:
        raise fault

    monkeypatch.setattr(protocol, "finetune", failed)
    with pytest.raises(type(fault)) as found:
        study(base, task("classify", 64), tmp_path / "out", QUICK, Plan(2))
    assert found.value is fault


# --- several contenders -------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_model_beside_its_own_copy_is_no_better(base: Path, tmp_path: Path) -> None:
    shutil.copytree(base, tmp_path / "copy")
    found = study(
        base,
        task("classify", 48),
        tmp_path / "out",
        QUICK,
        Plan(2, curve=(16, None), compare=(str(tmp_path / "copy"),)),
    )
    assert [row.name for row in found.results[:2]] == ["gpt2", "copy"]
    beside = [one for one in found.differences if one.minus == "copy"]
    assert [one.labels for one in beside] == [16, None]
    assert all(one.each == (0, 0) and one.over_examples == pytest.approx((0, 0)) for one in beside)
    assert (tmp_path / "out" / "labels-16" / "model-copy" / "seed-0" / "predictions.jsonl").is_file()


def test_all_layers_are_as_many_as_there_are(base: Path, tmp_path: Path) -> None:
    """Two of two transferred are the whole network; none of them is another."""
    found = study(base, task("classify", 48), tmp_path / "out", QUICK, Plan(2, layers=(0, 2, None)))
    assert [(row.name, row.layers) for row in found.results[:3]] == [
        ("pretrained", 2),
        ("0 layers", 0),
        ("2 layers", 2),
    ]
    weights = {
        place: [RunFolder(tmp_path / "out" / place / f"seed-{seed}").passport()["start"]["weights"] for seed in (0, 1)]
        for place in ("", "layers-0", "layers-2")
    }
    assert weights[""] == weights["layers-2"]
    assert not set(weights[""]) & set(weights["layers-0"])
    assert [one.each for one in found.differences if one.minus == "2 layers"] == [(0, 0)]


@pytest.mark.thorough
def test_from_exchanged_labels_nothing_is_learned(base: Path, tmp_path: Path) -> None:
    whole, how = task("classify", 96, 40, 200), replace(QUICK, epochs=8)
    found = study(
        base, whole, tmp_path / "out", replace(how, labels=64), Plan(3, compare=("shuffled-labels", "scratch"))
    )
    row = {one.name: one for one in found.results}
    assert row["pretrained"].test > 0.9
    assert row["shuffled-labels"].test == pytest.approx(0.5, abs=0.2)
    assert [one.minus for one in found.differences] == ["shuffled-labels", "scratch", "TF-IDF", "bag of features"]
    passports = [RunFolder(tmp_path / "out" / place / "seed-0").passport() for place in ("", "shuffled-labels")]
    assert passports[0]["start"] == passports[1]["start"]
    assert passports[0]["data"] != passports[1]["data"]


@pytest.mark.thorough
def test_with_few_labels_dev_is_small_for_everyone(base: Path, tmp_path: Path) -> None:
    whole = task("classify", 48, 700, 24)
    found = study(base, whole, tmp_path / "out", replace(QUICK, epochs=1), Plan(2, curve=(16, None), ensemble=True))
    sizes = {
        path.parent.relative_to(tmp_path / "out").parts[0]: len(read_predictions(path.parent, "dev"))
        for path in (tmp_path / "out").rglob("recipe.toml")
    }
    assert sizes == {"labels-16": 500, "labels-all": 700}
    assert set(found.floors) == {16, None}
    assert found.find("TF-IDF")[0].seeds[0].dev * 500 == pytest.approx(
        round(found.find("TF-IDF")[0].seeds[0].dev * 500)
    )


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "classify"])
def test_every_kind_can_be_studied(kind: str, base: Path, tmp_path: Path) -> None:
    plan = Plan(2, ensemble=transfer_kind_of(kind).combines)
    found = study(base, task(kind, 24, 9, 9), tmp_path / "out", replace(QUICK, epochs=1), plan)
    assert found.results[0].name == "pretrained"
    assert ("TF-IDF" in [row.name for row in found.results]) == (kind in ("pair", "similarity"))


def test_everything_wrong_is_said_before_anything_is_done(base: Path, tmp_path: Path) -> None:
    whole = task("tag", 24, 9, 9)
    plan = Plan(0, grid=True, curve=(5000,), restarts=-1, compare=("scrach",), ensemble=True)
    with pytest.raises(Fault) as found:
        study(base, whole, tmp_path / "out", replace(QUICK, labels=8), plan)
    for words in (
        "--seeds 0",
        "--set restarts=-1",
        "--grid",
        "a label curve",
        "Did you mean scratch?",
        "no ensemble",
        "5,000",
    ):
        assert words in str(found.value), words
    assert not (tmp_path / "out").exists()
    with pytest.raises(Fault, match="that is in the table already"):
        study(base, whole, tmp_path / "out", QUICK, Plan(compare=("pretrained",)))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "recipe.toml").touch()
    with pytest.raises(Fault, match="is itself a run"):
        study(base, whole, tmp_path / "run", QUICK, Plan())


def test_the_median_is_in_the_middle_on_dev() -> None:
    row = Result("x", None, tuple(SeedResult(seed, dev, 0.0, ()) for seed, dev in enumerate([0.9, 0.2, 0.5])))
    assert row.median.seed == 2


# --- word vectors -------------------------------------------------------------------------------------------------------


@pytest.fixture
def vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table that has good and bad words on two sides."""
    monkeypatch.setattr(vector_classifier, "WEIGHTS", (1.0,))
    monkeypatch.setattr(vector_classifier, "STRENGTHS", (1.0,))
    words = Words().train(iter([" ".join((*GOOD, *BAD, *PLAIN))]))
    table = VectorTable(words.vocabulary(), 4)
    table.begin(0)
    for id in range(len(words)):
        piece = words.pieces([id])[0]
        table.vectors[id, 0] = (piece in GOOD) - float(piece in BAD)
    recipe = loader.load("word2vec", "", ["network.width=4"])
    hugging_face.write(tmp_path / "w2v" / "model", recipe, table, words)
    return tmp_path / "w2v"


@pytest.mark.thorough
def test_word_vectors_are_compared_like_networks(vectors: Path, base: Path, tmp_path: Path) -> None:
    whole = task("classify", train=24, dev=16, test=32)
    plan = Plan(seeds=2, compare=("shuffled-labels", str(base)))
    found = study(vectors, whole, tmp_path / "out", QUICK, plan)
    (mine,), (shuffled,), (network,) = (found.find(name) for name in ("w2v", "shuffled-labels", base.name))
    assert (mine.rate, mine.batch) == (None, None)
    assert (network.rate, network.batch) == (QUICK.learning_rate, QUICK.batch_size)
    assert mine.test > 0.9
    assert shuffled.test < mine.test - 0.2  # its control
    assert {one.minus for one in found.differences} >= {"shuffled-labels", base.name, "TF-IDF"}
    assert found.kept is not None
    assert is_classifier(found.kept)
    (tmp_path / "out" / "seed-1" / "passport.json").unlink()  # as if it had been killed while it was written
    kept = (tmp_path / "out" / "seed-0" / "passport.json").stat().st_mtime_ns
    again = study(vectors, whole, tmp_path / "out", QUICK, plan)
    assert [row.test for row in again.results] == [row.test for row in found.results]
    assert (tmp_path / "out" / "seed-0" / "passport.json").stat().st_mtime_ns == kept
    beside = study(base, whole, tmp_path / "other", QUICK, Plan(seeds=2, compare=(str(vectors),)))
    assert beside.find("w2v")[0].tests == mine.tests


def test_what_a_table_of_vectors_cannot_be_asked_in_a_study(vectors: Path, tmp_path: Path) -> None:
    for plan, said in (
        (Plan(compare=("scratch",)), "init scratch"),
        (Plan(layers=(0, None)), "--layers"),
        (Plan(vary=("objective.read=place,mean",)), "--vary objective.read=place,mean"),
    ):
        with pytest.raises(Fault, match="is a table of word vectors") as found:
            study(vectors, task("classify"), tmp_path / "out", QUICK, plan)
        assert said in str(found.value)
    with pytest.raises(Fault, match="learns to label single texts"):
        study(vectors, task("pair"), tmp_path / "out", QUICK, Plan(seeds=2))
