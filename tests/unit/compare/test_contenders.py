"""What a study tries: contenders, each with a name and a folder of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from foreword.basics.messages import Fault
from foreword.compare.contenders import CONTROLS, Plan, contenders
from foreword.transfer.tuning import FinetuneSettings
from tests.labelled import folder, task


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder("gpt2", tmp_path_factory.mktemp("base") / "gpt2")


def test_every_contender_has_its_own_name_and_folder(base: Path, tmp_path: Path) -> None:
    """All that differs from the first is what its name says."""
    other, same_name = tmp_path / "bert", tmp_path / "elsewhere" / "gpt2"
    for path in (other, same_name):
        shutil.copytree(base, path)
    whole, how = task("classify"), FinetuneSettings(epochs=7)
    first, *rivals = contenders(
        base, whole, how, Plan(compare=("scratch", "shuffled-labels", str(other)), layers=(None, 0, 1))
    )
    assert (first.name, first.place, first.layers, first.how) == ("gpt2", "", 2, how)
    assert [(one.name, one.place) for one in rivals] == [
        ("0 layers", "layers-0"),
        ("1 layer", "layers-1"),
        ("scratch", "scratch"),
        ("shuffled-labels", "shuffled-labels"),
        ("bert", "model-bert"),
    ]
    assert [one.how.layers for one in rivals] == [0, 1, None, None, None]
    assert [one.layers for one in rivals] == [0, 1, None, None, None]
    assert [one.how.init for one in rivals] == ["pretrained", "pretrained", "scratch", "pretrained", "pretrained"]
    assert [one.shuffled_labels for one in rivals] == [False, False, False, True, False]
    assert [one.model for one in rivals] == [base] * 4 + [other]
    both = contenders(base, whole, how, Plan(compare=(str(same_name),)))
    assert len({one.name for one in both}) == 2
    assert contenders(base, whole, how, Plan(compare=("scratch",)))[0].name == "pretrained"
    assert contenders(base, whole, FinetuneSettings(layers=1), Plan())[0].how.layers == 1


def test_every_combination_of_varied_settings_is_a_contender(base: Path) -> None:
    how = FinetuneSettings(settings=("training.clip=1.0",))
    first, second = contenders(base, task("classify"), how, Plan(vary=("objective.read=place,mean",)))
    assert (first.name, first.place, first.how.settings) == (
        "objective.read=place",
        "",
        ("training.clip=1.0", "objective.read=place"),
    )
    assert (second.name, second.place) == ("objective.read=mean", "read-mean")
    assert second.how.settings == ("training.clip=1.0", "objective.read=mean")


def test_what_cannot_be_compared_is_said_before(base: Path, tmp_path: Path) -> None:
    def refused(plan: Plan, kind: str = "classify", how: FinetuneSettings | None = None) -> str:
        with pytest.raises(Fault) as fault:
            plan.check(base, task(kind, 24, 9, 9), how or FinetuneSettings(), tmp_path / "out")
        return str(fault.value)

    said = refused(Plan(compare=("scrach", "scratch", "scratch", "runs/none", str(base), "pretrained")))
    for words in (
        "--compare scrach: it must be one of",
        "Did you mean scratch?",
        "--compare scratch: that is in the table already",
        "--compare runs/none: it must be",
        f"--compare {base}: that is in",
        "--compare pretrained: that is in",
    ):
        assert words in said, words
    (tmp_path / "empty").mkdir()
    assert "empty" in refused(Plan(compare=(str(tmp_path / "empty"),)))
    assert "--layers 3: " in refused(Plan(layers=(3, None)))
    assert "no example can have another's label" in refused(Plan(compare=("shuffled-labels",)), "span")
    assert set(CONTROLS) == {"pretrained", "scratch", "shuffled", "shuffled-labels"}
