"""Claims of papers: each system has one, each study of one can be begun, and a verdict is what the results say and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foreword.assembly import catalogue, loader
from foreword.basics.messages import Fault
from foreword.compare import claims
from foreword.compare.claims import INCONCLUSIVE, NOT_REPLICATED, NOT_RUN, NOT_TESTABLE, REPLICATED, Claim, verdict
from foreword.compare.study_file import read_study, training_runs

CLAIM = Claim(system="gpt2", says="a beats b", better="a", than="b")
EVERY = sorted((catalogue.STUDIES / "claims").glob("*.toml"))


def test_every_system_has_a_claim() -> None:
    told = {claims.read_claim(path).system for path in EVERY}
    assert told == set(catalogue.built_in())


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_the_study_of_a_claim_can_be_begun_and_has_the_rows_it_is_judged_by(path: Path) -> None:
    claim = claims.read_claim(path)
    assert claim is not None
    subject = f"claims/{path.stem}"
    if claim.untestable:
        with pytest.raises(Fault, match="cannot be tried here"):
            read_study(subject, {"data": "text"})
        return
    spec = read_study(subject, {"data": "text"})
    if spec.recipe:
        rows = {"  ".join(filter(None, [job.arm, *job.values])) for job in training_runs(spec)}
        assert {claim.better, claim.than} == rows
        return
    for word, settings in spec.begun().values():
        name, _, size = word.partition(":")
        loader.load(name, size, settings)
    rows = set(spec.starts) if len(spec.starts) > 1 else {"pretrained", "scratch"}
    assert {claim.better, claim.than} == rows


def written(folder: Path, **differs: object) -> Path:
    one = {"model": "b", "minus": "a", "difference": 0.2, "over_seeds": [0.1, 0.3], "over_examples": [0.15, 0.25]}
    path = folder / "study.json"
    path.write_text(json.dumps({"apart": [{**one, "lower_is_better": True, "unit": "bits per byte", **differs}]}))
    return path


@pytest.mark.parametrize(
    ("differs", "status", "ours"),
    [
        ({}, REPLICATED, "+0.2000 bits per byte"),  # b costs more than a, and lower is better
        ({"lower_is_better": False}, NOT_REPLICATED, "-0.2000"),  # a score: b is above
        ({"model": "a", "minus": "b"}, NOT_REPLICATED, "-0.2000"),
        ({"over_examples": [-0.05, 0.45]}, INCONCLUSIVE, "-0.0500 to +0.4500 over examples"),
        ({"over_seeds": [-0.1, 0.5]}, INCONCLUSIVE, "-0.1000 to +0.5000 over seeds"),
        ({"over_seeds": [None, None]}, REPLICATED, "+0.1500 to +0.2500 over examples"),  # counts have no seeds
        ({"over_seeds": [None, None], "over_examples": [None, None]}, INCONCLUSIVE, "+0.2000"),
    ],
)
def test_a_verdict_is_what_the_intervals_say(differs: dict, status: str, ours: str, tmp_path: Path) -> None:
    found = verdict(CLAIM, "claims/x", written(tmp_path, **differs))
    assert found.status == status
    assert ours in found.ours


def test_without_results_nothing_is_said(tmp_path: Path) -> None:
    found = verdict(CLAIM, "claims/x", tmp_path / "study.json")
    assert (found.status, found.ours) == (NOT_RUN, "")
    told = {one.status for one in claims.verdicts(tmp_path)}
    assert told == {NOT_RUN, NOT_TESTABLE}


def test_results_of_another_study_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Fault, match="and the study compared: c, a") as found:
        verdict(CLAIM, "claims/x", written(tmp_path, model="c"))
    assert str(tmp_path) in str(found.value)


def test_a_claim_says_how_it_is_judged(tmp_path: Path) -> None:
    for more, said in (("", "either says which row"), ('better = "a"', "given together")):
        (tmp_path / "x.toml").write_text(f'[claim]\nsystem = "gpt2"\nsays = "x"\n{more}\n')
        with pytest.raises(Fault, match=said):
            claims.read_claim(tmp_path / "x.toml")
