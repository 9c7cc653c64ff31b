"""What a study tries: numbers of labels and layers as written, contenders each with a name and a folder of its own."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest

from foreword.basics.messages import Fault
from foreword.compare.contenders import CONTROLS, Plan, contenders, curve_of, layers_of
from foreword.transfer.finetune import Tuning
from tests.labelled import folder, task


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder("gpt2", tmp_path_factory.mktemp("base") / "gpt2")


def test_a_curve_is_numbers_percents_and_all() -> None:
    whole = task("classify", 1000)
    assert curve_of("16, 64,all,16", whole) == (16, 64, None)
    assert curve_of("0.2%,1%,12.5%,100%", whole) == (2, 10, 125, None)
    assert curve_of("10,1%,99.99%", whole) == (10, None)                   # a hundredth is 10; a share of all but nothing is all
    assert curve_of("10%", task("rank", 300)) == (10,)                     # queries, not candidates
    for wrong in ("", "16;64", "0", "some", "-3", "0%", "101%", "1.5", "%", "1 %", "nan", "1e3"):
        with pytest.raises(Fault, match="--curve"):
            curve_of(wrong, whole)


@pytest.mark.parametrize("examples", [150, 300, 1000, 6000])
def test_a_share_below_the_number_of_classes_says_which_is_enough(examples: int) -> None:
    whole = task("classify", examples)
    with pytest.raises(Fault, match="has 2 classes") as fault:
        curve_of("0.01%", whole)
    least = fault.value.do.split()[-1].rstrip("%.")
    assert curve_of(f"{least}%", whole)[0] == 2
    lower = math.floor(float(least) * 100 - 1) / 100
    assert round(lower / 100 * examples) < 2


def test_layers_are_numbers_and_all() -> None:
    assert layers_of("2") == (2,)
    assert layers_of("0, 2,all,0") == (0, 2, None)
    for wrong in ("", ",", "-1", "2.5", "some"):
        with pytest.raises(Fault, match="--layers"):
            layers_of(wrong)


def test_every_contender_has_its_own_name_and_folder(base: Path, tmp_path: Path) -> None:
    """All that differs from the first is what its name says."""
    other, same_name = tmp_path / "bert", tmp_path / "elsewhere" / "gpt2"
    for path in (other, same_name):
        shutil.copytree(base, path)
    whole, how = task("classify"), Tuning(epochs=7)
    first, *rivals = contenders(base, whole, how, Plan(compare=("scratch", "shuffled-labels", str(other)), layers=(None, 0, 1)))
    assert (first.name, first.place, first.layers, first.how) == ("gpt2", "", 2, how)
    assert [(one.name, one.place) for one in rivals] == [
        ("0 layers", "layers-0"), ("1 layer", "layers-1"), ("scratch", "scratch"), ("shuffled-labels", "shuffled-labels"),
        ("bert", "model-bert")]
    assert [one.how.layers for one in rivals] == [0, 1, None, None, None]
    assert [one.layers for one in rivals] == [0, 1, None, None, None]
    assert [one.how.init for one in rivals] == ["pretrained", "pretrained", "scratch", "pretrained", "pretrained"]
    assert [one.exchanged for one in rivals] == [False, False, False, True, False]
    assert [one.model for one in rivals] == [base] * 4 + [other]
    both = contenders(base, whole, how, Plan(compare=(str(same_name),)))
    assert len({one.name for one in both}) == 2
    assert contenders(base, whole, how, Plan(compare=("scratch",)))[0].name == "pretrained"
    assert contenders(base, whole, Tuning(layers=1), Plan())[0].how.layers == 1


def test_what_cannot_be_compared_is_said_before(base: Path, tmp_path: Path) -> None:
    def refused(plan: Plan, kind: str = "classify", how: Tuning | None = None) -> str:
        with pytest.raises(Fault) as fault:
            plan.check(base, task(kind, 24, 9, 9), how or Tuning(), tmp_path / "out")
        return str(fault.value)

    said = refused(Plan(compare=("scrach", "scratch", "scratch", "runs/none", str(base), "pretrained")))
    for words in ("--compare scrach: it must be one of", "Did you mean scratch?", "--compare scratch: that is in the table already",
                  "--compare runs/none: it must be", f"--compare {base}: that is in", "--compare pretrained: that is in"):
        assert words in said, words
    (tmp_path / "empty").mkdir()
    assert "empty" in refused(Plan(compare=(str(tmp_path / "empty"),)))
    assert "--layers 3: " in refused(Plan(layers=(3, None)))
    assert "no example can have another's label" in refused(Plan(compare=("shuffled-labels",)), "span")
    assert set(CONTROLS) == {"pretrained", "scratch", "shuffled", "shuffled-labels"}
