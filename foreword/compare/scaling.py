"""Loss as a power law of size (Kaplan et al. 2020; Hoffmann et al. 2022, section 3.3): L = floor + (scale / N) ** exponent.

Fitted in log space with Huber's loss, so that one odd run does not bend it; the interval is from drawing seeds anew. The largest
size is predicted from the others before it is trained, and where it lands says whether the trend holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from foreword.assembly.build import shape_of
from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault
from foreword.basics.packages import needed
from foreword.basics.progress import say
from foreword.basics.seeds import chance, number_of
from foreword.compare.training_study import Trained, TrainingJob, measure_of, training_study
from foreword.report import Report, Section, Table
from foreword.tokens.store import TokenStore
from foreword.training.hardware import Hardware

HUBER = 1e-3  # in log loss, as Hoffmann et al.
DRAWS = 200  # of the bootstrap
WITHIN = 0.03  # of its loss the next size has to be, whatever the interval says: two seeds may agree by chance
LEAST = 4  # sizes that a law is fitted to
EXPONENTS, FLOORS = (
    (0.05, 0.15, 0.4, 1.0),
    (0.0, 0.5, 0.9),
)  # where the search begins; floors as shares of the lowest loss


@dataclass(frozen=True)
class PowerLaw:
    """Loss by size."""

    floor: float
    scale: float
    exponent: float

    def __call__(self, size: float | np.ndarray) -> np.ndarray:
        return np.asarray(self.floor + (self.scale / np.asarray(size, float)) ** self.exponent)


@dataclass(frozen=True)
class Size:
    """A size and its loss, seed by seed."""

    name: str
    size: float  # parameters, tokens or operations
    losses: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.losses))


@dataclass(frozen=True)
class Forecast:
    """What the smaller sizes say about the next one."""

    law: PowerLaw
    next: str
    predicted: float
    interval: tuple[float, float]
    measured: float | None = None  # None: it is not trained yet

    @property
    def off(self) -> float | None:
        """By what share it is above what was predicted."""
        return None if self.measured is None else self.measured / self.predicted - 1

    @property
    def broken(self) -> bool | None:
        """Outside of the interval, and by more than what is noise."""
        if self.measured is None or self.off is None:
            return None
        low, high = self.interval
        return not low <= self.measured <= high and abs(self.off) > WITHIN


def fit(sizes: Sequence[float], losses: Sequence[float]) -> PowerLaw:
    """The law that is nearest in log space."""
    minimize = needed("scipy.optimize", "transfer", "fitting a power law needs").minimize
    log_size, log_loss = np.log(np.asarray(sizes, float)), np.log(np.asarray(losses, float))
    middle, lowest = float(log_size.mean()), float(min(losses))

    def law(given: np.ndarray) -> PowerLaw:
        """Of unbounded numbers, what a law may have: a floor below every loss, an exponent above 0."""
        floor = lowest / (1 + np.exp(-np.clip(given[0], -30, 30)))
        exponent = float(np.exp(np.clip(given[2], -6, 2)))
        return PowerLaw(float(floor), float(np.exp(middle + given[1] / exponent)), exponent)

    def cost(given: np.ndarray) -> float:
        apart = np.abs(np.log(np.maximum(law(given)(np.exp(log_size)), 1e-12)) - log_loss)
        return float(np.where(apart < HUBER, apart**2 / 2, HUBER * (apart - HUBER / 2)).sum() / HUBER**2)

    found = []
    for exponent in EXPONENTS:
        for share in FLOORS:
            begin = np.log(share / (1 - share)) if share else -8.0
            above = max(float(np.mean(losses)) - share * lowest, 1e-9)
            first = np.array([begin, np.log(above), np.log(exponent)])
            found.append(
                minimize(cost, first, method="Nelder-Mead", options={"maxiter": 600, "xatol": 1e-5, "fatol": 1e-7})
            )
    return law(min(found, key=lambda one: one.fun).x)


def forecast(smaller: Sequence[Size], size: float, name: str = "", measured: float | None = None) -> Forecast:
    """What a size of so many would cost, fitted on the smaller ones; seeds are drawn anew for the interval."""
    law = fit([one.size for one in smaller], [one.mean for one in smaller])
    draw, found = chance(number_of("scaling")), []
    for _ in range(DRAWS if any(len(one.losses) > 1 for one in smaller) else 0):
        losses = [float(np.mean(draw.choice(one.losses, len(one.losses)))) for one in smaller]
        found.append(float(fit([one.size for one in smaller], losses)(size)))
    low, high = np.percentile(found, (2.5, 97.5)) if found else (float(law(size)), float(law(size)))
    return Forecast(law, name, float(law(size)), (float(low), float(high)), measured)


def page(sizes: Sequence[Size], found: Forecast, unit: str, of: str = "parameters") -> Report:
    """The sizes, the law, and whether it held."""
    law = found.law
    rows = [("", of, "test", "fitted", "off")]
    for one in sizes:
        fitted = float(law(one.size))
        rows.append(
            (one.name, f"{one.size:,.0f}", f"{one.mean:.4f}", f"{fitted:.4f}", f"{100 * (one.mean / fitted - 1):+.1f}%")
        )
    said = f"L = {law.floor:.4f} + ({law.scale:,.4g} / N) ^ {law.exponent:.3f}, fitted on the {len(sizes) - 1} smaller sizes"
    low, high = found.interval
    lead = [
        f"Predicted for {found.next} before it was trained: {found.predicted:.4f} ({low:.4f} to {high:.4f}) {unit}."
    ]
    if found.measured is not None and found.off is not None:
        held = "the trend is broken there" if found.broken else "the trend holds"
        lead.append(f"Measured: {found.measured:.4f}, {100 * found.off:+.1f}%: {held}.")
    values: JsonObject = {
        "law": {"floor": law.floor, "scale": law.scale, "exponent": law.exponent},
        "sizes": [{"name": one.name, of: one.size, "losses": list(one.losses)} for one in sizes],
        "next": {"name": found.next, "predicted": found.predicted, "interval": list(found.interval)}
        | {"measured": found.measured, "broken": found.broken},
    }
    return Report("Scaling", lead, [Section("Sizes", Table(rows, left=(0,), caption=f"{unit}; {said}"))], values)


# --- trained ----------------------------------------------------------------------------------------------------------


def scaling_study(
    jobs: Sequence[TrainingJob],
    predicted: str,
    data: Path,
    parallel: int | None = None,
    hardware: Hardware | None = None,
    cluster: str = "",
) -> Report:
    """Train the arms but one, say where that one should land, and train it."""
    vocabulary = TokenStore.open(data, "train").tokenizer.vocabulary()
    sizes = {job.arm: float(shape_of(job.recipe, vocabulary).parameter_count()) for job in jobs}
    smaller = [job for job in jobs if job.arm != predicted]
    check_sizes({name: size for name, size in sizes.items() if name != predicted}, sizes[predicted], predicted)
    known = sized(training_study(smaller, data, parallel, hardware, cluster), sizes)
    unit, before = measure_of(jobs, data).unit, forecast(known, sizes[predicted], predicted)
    low, high = before.interval
    say(f"{predicted} should cost {before.predicted:.4f} ({low:.4f} to {high:.4f}) {unit}; now it is trained.")
    every = sized(training_study(jobs, data, parallel, hardware, cluster), sizes)
    return page(every, replace(before, measured=every[-1].mean), unit)


def check_sizes(smaller: Mapping[str, float], largest: float, predicted: str) -> None:
    if len(smaller) < LEAST:
        raise Fault(
            f"a law of three numbers is fitted to {LEAST} sizes or more, and there are {len(smaller)} beside {predicted}."
        )
    if largest <= max(smaller.values()):
        raise Fault(
            f"{predicted} is not the largest: it has {largest:,.0f} parameters, and another {max(smaller.values()):,.0f}.",
            "What is predicted lies beyond what was seen: name the largest.",
        )


def sized(found: Sequence[Trained], sizes: Mapping[str, float]) -> list[Size]:
    """The smallest first."""
    return sorted((Size(one.arm, sizes[one.arm], one.seeds) for one in found), key=lambda one: one.size)
