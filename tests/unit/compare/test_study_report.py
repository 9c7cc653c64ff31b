"""The page of a study: its table holds the figures, its words say what they are worth, test of what was not chosen is not shown."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from foreword.compare import study_report
from foreword.compare.significance import Difference, Result, SeedResult, Significance
from foreword.compare.study import Study
from tests.labelled import task


def made(kind: str = "classify", seeds: int = 3) -> Study:
    whole = task(kind, 64, 8, 8)
    right = tuple(one.references[0] if kind == "span" else one.label for one in whole.test)
    significance = Significance(whole)

    def row(name: str, labels: int | None, tests: list[float], chosen: bool = True, tuned: bool = True) -> Result:
        tries = tuple(
            SeedResult(seed, 0.5 + seed / 100, test, right, seed == 1, 10, Path(f"seed-{seed}") if tuned else None)
            for seed, test in enumerate(tests[:seeds])
        )
        done = Result(name, labels, tries, 1e-3 if tuned else None, 16 if tuned else None, chosen)
        return significance.bounded(done) if chosen else done

    rows = (
        row("pretrained", 16, [0.123, 0.124, 0.125], chosen=False),
        row("pretrained", 16, [0.7, 0.8, 0.9]),
        row("TF-IDF", 16, [0.6, 0.6, 0.6], tuned=False),
        row("pretrained", None, [0.8, 0.8, 0.95]),
        row("TF-IDF", None, [0.85], tuned=False),
        row("majority", None, [0.5], tuned=False),
    )
    apart = (
        Difference(16, "pretrained", "scratch", (0.1, 0.11, 0.12)[:seeds], (0.05, 0.2)),
        Difference(16, "pretrained", "TF-IDF", (-0.1, 0.2, 0.3)[:seeds], (-0.2, 0.3)),
        Difference(None, "pretrained", "TF-IDF", (-0.3, -0.31, -0.32)[:seeds], (-0.5, 0.1)),
    )
    return Study(whole, rows, apart, {16: 0.5, None: 0.5})


def test_the_table_holds_the_figures_and_hides_what_was_not_chosen() -> None:
    rows = [tuple(record.values()) for record in study_report.records(made())]
    assert rows[0][5:] == ("51.0", "-", "-", "-", "-", "-", "-", "1 of 3")
    assert rows[1][:11] == (
        "pretrained",
        "16",
        "0.001",
        "16",
        "3",
        "51.0",
        "80.0",
        "10.0",
        "70.0",
        "90.0",
        "55.2 to 100.0",
    )
    assert rows[2][0] == "TF-IDF"
    assert rows[2][-1] == "-"
    found = study_report.values(made())["rows"][0]
    assert "test" not in found
    assert all("test" not in seed for seed in found["seeds"])


def test_words_say_what_can_be_trusted() -> None:
    said = study_report.words(made())
    assert said[0] == (
        "With 16 labels pretrained gets 80.0 on test (55.2 to 100.0 over seeds); TF-IDF 60.0, majority 50.0. "
        "1 of 3 seeds collapsed."
    )
    assert said[2:] == [
        "With 16 labels pretrained is 11.0 above scratch: significant over seeds and over examples.",
        "With 16 labels pretrained is 13.3 above TF-IDF: it may be chance.",
        "With all labels pretrained is 31.0 below TF-IDF: significant over seeds but not over examples.",
    ]
    assert study_report.words(made(seeds=1))[2].endswith("one seed is too few to tell.")
    assert any("fewer than 100 steps" in note for note in study_report.notes(made()))


def test_the_page_says_how_many_of_dev_chose_and_which_seeds_diverged() -> None:
    study = made()
    whole = replace(study.task, dev=study.task.dev * 100)
    lost = replace(
        study.results[1], seeds=tuple(replace(one, diverged=one.seed == 1) for one in study.results[1].seeds)
    )
    study = replace(
        study,
        task=whole,
        results=(study.results[0], lost, *study.results[2:]),
        floors={16: 0.5, None: 0.25},
        kept=Path("seed-2"),
    )
    assert study_report.records(study)[1]["collapsed"] == "1 of 3 (1 diverged)"
    said = study_report.notes(study)
    assert (
        "Dev has 500 (with 16 labels), 800 (with all labels) examples, labels that were used too, and test 8." in said
    )
    assert any("not above 50.0 (with 16 labels), 25.0 (with all labels) on dev" in note for note in said)
    assert any("diverged" in note for note in said)
    assert study_report.words(study)[-1] == "The best run on dev is seed-2: only its model was kept."
    found = study_report.values(study)
    assert found["by_labels"] == [{"labels": 16, "dev": 500, "floor": 0.5}, {"labels": None, "dev": 800, "floor": 0.25}]
    assert found["kept"] == "seed-2"


def test_layers_are_drawn_where_they_were_asked() -> None:
    study = made()
    assert study_report.layers_curve(study) is None
    layered = tuple(replace(row, layers=number) for number, row in zip((1, 2, None, 2), study.results[:4]))
    drawn = study_report.layers_curve(replace(study, results=(*layered, *study.results[4:]))).svg()
    assert "layers transferred" in drawn


def test_with_one_number_of_labels_all_rows_stand_side_by_side() -> None:
    study = made()
    assert study_report.side_by_side(study) is None, "the curve shows several numbers of labels"
    alone = replace(study, results=(*study.results[:3], study.results[-1]), floors={16: 0.5})
    drawn = study_report.side_by_side(alone).svg()
    assert study_report.label_curve(alone) is None
    assert [name in drawn for name in ("pretrained", "TF-IDF", "majority", "accuracy on test")] == [True] * 4
    assert drawn.count(">pretrained<") == 1, "what was not chosen is not shown"


@pytest.mark.parametrize("kind", ["classify", "similarity", "rank", "tag", "span", "choice"])
def test_the_page_stands_alone(kind: str, tmp_path: Path) -> None:
    study_report.report(made(kind), tmp_path, "<model>").save(tmp_path, "study.json")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "&lt;model&gt; on toy" in page
    assert page.count("<svg") == 2
    assert not re.search(r"(?:src|href)=[\"']?http", page)
    assert "12.3" not in re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)
    assert json.loads((tmp_path / "study.json").read_text())["metric"] == made(kind).metric
