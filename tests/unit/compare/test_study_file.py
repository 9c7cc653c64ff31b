"""A study written as a file or as options: one thing, and everything wrong with it is said at once."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from foreword.assembly import catalogue, loader
from foreword.basics.messages import Fault
from foreword.compare.study_file import _listed, label_counts, layer_counts, learning_rates, read_study, training_runs
from tests.labelled import task


def test_a_file_and_options_are_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'model = "runs/gpt2"\ntask = "mrpc"\nlabels = [16, "all"]\nlearning_rate = 1e-3\ncompare = ["scratch"]\n'
        '[vary]\nobjective.read = ["first", "mean"]\n[set]\n"training.batch_size" = 8\n',
        encoding="utf-8",
    )
    spec = read_study(str(file), {"seeds": 2, "labels": "64"})
    assert (spec.seeds, spec.labels, spec.learning_rate, spec.compare) == (2, ("64",), ("0.001",), ("scratch",))
    assert spec.varied() == ["objective.read=first,mean"]
    assert spec.settings() == ["training.batch_size=8"]
    same = read_study(str(tmp_path), {"task": "mrpc", "labels": "16,all", "vary": {"objective.read": "first,mean"}})
    assert (same.model, same.labels, same.varied()) == (str(tmp_path), ("16", "all"), ["objective.read=first,mean"])


def test_a_recipe_is_trained(tmp_path: Path) -> None:
    spec = read_study(
        "gpt2",
        {
            "data": "text",
            "size": "laptop",
            "seeds": 2,
            "budget": "5",
            "out": str(tmp_path),
            "vary": {"network.layers": "1,2"},
        },
    )
    jobs = training_runs(spec)
    assert [job.folder.name for job in jobs] == [f"layers-{n}_seed-{seed}" for n in (1, 2) for seed in (0, 1)]
    assert {job.recipe.training.budget for job in jobs} == {"5"}
    recipe = tmp_path / "mine.toml"
    recipe.write_text('name = "mine"\nextends = "gpt2"\n', encoding="utf-8")
    assert read_study(str(recipe), {"data": "text"}).recipe == (str(recipe),), "a recipe's file is no study"


def test_several_recipes_stand_with_their_sizes(tmp_path: Path) -> None:
    spec = read_study("bigram,nplm:laptop", {"data": "text", "seeds": 2, "budget": "5", "out": str(tmp_path)})
    assert [job.folder.name for job in training_runs(spec)] == ["bigram_seed-0", "nplm_seed-0", "nplm_seed-1"]
    with pytest.raises(Fault, match="a size stands behind each"):
        read_study("bigram,nplm", {"data": "text", "size": "laptop"})


def test_studies_that_come_with_foreword(tmp_path: Path) -> None:
    ladder = read_study("ladder", {"data": "text", "out": str(tmp_path), "seeds": 1})
    assert [job.arm for job in training_runs(ladder)][::6] == ["kneser-ney", "gpt2"]
    assert {job.recipe.tokenizer.kind for job in training_runs(ladder)} == {"word"}
    in_bytes = read_study("ladder", {"data": "text", "out": str(tmp_path), "set": {"tokenizer": '{ kind = "byte" }'}})
    assert {job.recipe.tokenizer.kind for job in training_runs(in_bytes)} == {"byte"}
    dai_le = read_study("dai-le", {"task": "reviews.csv"})
    assert (dai_le.task, dai_le.model, dai_le.settings()) == ("reviews.csv", "", ["objective.read=mean"])
    name, settings = dai_le.begun()["language-model"]
    assert loader.load(*name.split(":"), settings).tokenizer.kind == "word"
    with pytest.raises(Fault, match="either a model .or starts. to fine-tune or a recipe .or arms."):
        read_study("dai-le", {"model": "runs/x"})


@pytest.mark.parametrize("name", sorted(path.stem for path in catalogue.STUDIES.glob("*.toml")))
def test_every_recipe_of_a_study_that_comes_with_foreword_is_right(name: str) -> None:
    about, command, *_ = (catalogue.STUDIES / f"{name}.toml").read_text(encoding="utf-8").split("\n")
    assert about.startswith("# ")
    assert command.startswith(f"# foreword study {name} --data ")
    spec = read_study(name, {} if "GLUE_FOLDER" in command else {"data": "text"})
    begun = [loader.load(*word.partition(":")[::2], settings) for word, settings in spec.begun().values()]
    recipes = begun or [job.recipe for job in training_runs(spec)[:: spec.seeds]]
    assert len({repr(recipe) for recipe in recipes}) == len(recipes)


def test_arms_are_recipes_with_settings_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'data = "text"\nseeds = 2\nbudget = "9"\n[set]\n"training.clip" = 0.5\n[arms.a]\nrecipe = "gpt2:laptop"\n[arms.b]\n'
        'recipe = "gpt2:laptop"\nbudget = "7"\nset = { training = { clip = 2.0 } }\n',
        encoding="utf-8",
    )
    jobs = training_runs(read_study(str(file), {"out": str(tmp_path / "out")}))
    assert [job.folder.name for job in jobs] == ["a_seed-0", "a_seed-1", "b_seed-0", "b_seed-1"]
    assert [(job.recipe.training.budget, job.recipe.training.clip) for job in jobs[1:3]] == [("9", 0.5), ("7", 2.0)]
    for wrong, options in (
        ("either a model", {"model": "runs/x"}),
        ("a size stands behind each", {"vary": {"training.clip": "1,2"}}),
        ("this is for fine-tuning only", {"labels": "16"}),
    ):
        with pytest.raises(Fault, match=wrong):
            read_study(str(file), options)
    with pytest.raises(Fault, match="the name of a folder too"):
        read_study(str(file), {"arms": {"a/b": {"recipe": "gpt2"}}})


def test_everything_wrong_is_said_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('recipe = "gpt2"\nseeds = 0\nlables = [16]\n', encoding="utf-8")
    with pytest.raises(Fault) as found:
        read_study(str(file), {"restarts": "many"})
    for words in (f"{file}:2  seeds", f"{file}:3  lables", "Did you mean labels?", "--restarts"):
        assert words in str(found.value), words
    with pytest.raises(Fault, match="this is for fine-tuning only"):
        read_study("gpt2", {"data": "text", "ensemble": True})
    with pytest.raises(Fault, match="a recipe is trained on data, and none is given"):
        read_study("gpt2", {})
    with pytest.raises(Fault, match="--grid tries its own batch sizes"):
        read_study(str(tmp_path), {"task": "mrpc", "grid": True, "batch_size": 8})


@pytest.mark.parametrize("words", [["much"], ["1e-3;3e-3"], ["0"], ["-1e-3"], ["nan"], ["1e-3", "inf"]])
def test_rates_are_numbers_above_nothing(words: list[str]) -> None:
    with pytest.raises(Fault, match="3e-4,1e-3,3e-3"):
        learning_rates(words)
    assert learning_rates(["1e-3", "3e-4", "1e-3"]) == (1e-3, 3e-4)


def test_a_curve_is_numbers_percents_and_all() -> None:
    whole = task("classify", 1000)
    assert label_counts(_listed("16, 64,all,16"), whole) == (16, 64, None)
    assert label_counts(_listed("0.2%,1%,12.5%,100%"), whole) == (2, 10, 125, None)
    assert label_counts(_listed("10,1%,99.99%"), whole) == (
        10,
        None,
    )  # a hundredth is 10; a share of all but nothing is all
    assert label_counts(_listed("10%"), task("rank", 300)) == (10,)  # queries, not candidates
    for wrong in ("16;64", "0", "some", "-3", "0%", "101%", "1.5", "%", "1 %", "nan", "1e3"):
        with pytest.raises(Fault, match="--labels"):
            label_counts(_listed(wrong), whole)


@pytest.mark.parametrize("examples", [150, 300, 1000, 6000])
def test_a_share_below_the_number_of_classes_says_which_is_enough(examples: int) -> None:
    whole = task("classify", examples)
    with pytest.raises(Fault, match="has 2 classes") as fault:
        label_counts(_listed("0.01%"), whole)
    least = fault.value.do.split()[-1].rstrip("%.")
    assert label_counts(_listed(f"{least}%"), whole)[0] == 2
    lower = math.floor(float(least) * 100 - 1) / 100
    assert round(lower / 100 * examples) < 2


def test_layers_are_numbers_and_all() -> None:
    assert layer_counts(_listed("2")) == (2,)
    assert layer_counts(_listed("0, 2,all,0")) == (0, 2, None)
    for wrong in ("-1", "2.5", "some"):
        with pytest.raises(Fault, match="--layers"):
            layer_counts(_listed(wrong))
