"""Power laws of size: found again where they were planted, with an interval that holds what it should, and kinks that are told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.compare import scaling
from foreword.compare.scaling import Forecast, PowerLaw, Size, check_sizes, fit, forecast, page
from foreword.compare.study_file import read_study, training_runs

LAW = PowerLaw(1.2, 2000.0, 0.25)
SIZES = [2e4, 4e4, 8e4, 16e4, 32e4]


def measured(seed: int, noise: float = 0.002, seeds: int = 3) -> list[Size]:
    """Runs of five sizes that follow the law, each seed with noise of its own."""
    draw = np.random.default_rng(seed)
    losses = [float(LAW(size)) * (1 + noise * draw.normal(size=seeds)) for size in SIZES]
    return [Size(f"{size:.0f}", size, tuple(one.tolist())) for size, one in zip(SIZES, losses)]


def predicted(every: list[Size], factor: float = 1.0) -> Forecast:
    *smaller, largest = every
    return forecast(smaller, largest.size, largest.name, largest.mean * factor)


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds instead of minutes: fewer draws, and the search begins in fewer places."""
    monkeypatch.setattr(scaling, "DRAWS", 20)
    monkeypatch.setattr(scaling, "EXPONENTS", (0.15, 0.6))
    monkeypatch.setattr(scaling, "FLOORS", (0.0, 0.7))


def test_a_law_without_noise_is_found_again() -> None:
    found = fit(SIZES[:4], LAW(np.array(SIZES[:4])))
    assert (found.floor, found.exponent) == pytest.approx((LAW.floor, LAW.exponent), rel=0.01)
    assert float(found(SIZES[4])) == pytest.approx(float(LAW(SIZES[4])), rel=1e-4)


def test_one_odd_run_bends_it_little() -> None:
    """Huber's loss: of seven sizes one is off by a tenth."""
    sizes = np.geomspace(1e4, 1e6, 7)
    losses = LAW(sizes)
    losses[3] *= 1.1
    assert float(fit(sizes, losses)(4e6)) == pytest.approx(float(LAW(4e6)), rel=0.02)


@pytest.mark.thorough
def test_the_fifth_size_is_within_three_per_cent_and_a_kink_is_told() -> None:
    off, alarms, missed = [], 0, 0
    for seed in range(4):
        every = measured(seed)
        found = predicted(every)
        assert found.off is not None
        off.append(abs(found.off))
        alarms += bool(found.broken)
        missed += not predicted(every, 1.12).broken  # a planted kink: the largest is worse than the law says
    assert max(off) < 0.03
    assert alarms == 0  # the control
    assert missed == 0


def test_without_seeds_there_is_a_point_and_before_it_is_trained_no_verdict() -> None:
    found = forecast([Size(str(size), size, (float(LAW(size)),)) for size in SIZES[:4]], SIZES[4], "next")
    assert found.interval == (found.predicted, found.predicted)
    assert found.broken is None
    assert found.off is None


def test_the_page_says_what_was_predicted_and_whether_it_held() -> None:
    every, low = measured(0), float(LAW(SIZES[4]))
    for factor, said in ((1.0, "the trend holds"), (1.12, "the trend is broken there")):
        found = Forecast(LAW, "next", low, (0.99 * low, 1.01 * low), factor * low)
        told = page(every, found, "bits per byte")
        assert said in told.lead[1]
        assert told.data()["next"]["broken"] is (factor > 1)
        assert told.data()["law"]["exponent"] == LAW.exponent


def test_what_cannot_be_predicted_is_said(tmp_path: Path) -> None:
    with pytest.raises(Fault, match="4 sizes or more, and there are 3"):
        check_sizes({"a": 1.0, "b": 2.0, "c": 3.0}, 4.0, "d")
    with pytest.raises(Fault, match="d is not the largest"):
        check_sizes({"a": 1.0, "b": 2.0, "c": 3.0, "e": 5.0}, 4.0, "d")
    (tmp_path / "x.toml").write_text(
        'scaling = "z"\ndata = "text"\n[arms.a]\nrecipe = "gpt2:laptop"\n[arms.b]\nrecipe = "gpt2:laptop"\n'
    )
    with pytest.raises(Fault, match="'z' is none of the arms: a, b"):
        read_study(str(tmp_path / "x.toml"), {})


def test_the_study_that_comes_with_foreword_has_five_sizes() -> None:
    spec = read_study("scaling", {"data": "text"})
    jobs = training_runs(spec)
    assert len({job.arm for job in jobs}) == 5
    assert spec.scaling == max(jobs, key=lambda job: job.recipe.network.width).arm
