"""What a system's paper claims, set beside what a study of it found here.

A study file may begin with a section [claim]: what is said, with the paper's own figure, and which row of the study's table
should be better than which. The verdict is read from what the study wrote, and never from anywhere else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from foreword.assembly import catalogue
from foreword.basics import toml
from foreword.basics.files import JsonObject, read_json
from foreword.basics.messages import Fault
from foreword.basics.spec import Spec

REPLICATED, NOT_REPLICATED, INCONCLUSIVE = "replicated", "not replicated", "inconclusive"
NOT_RUN, NOT_TESTABLE = "not run yet", "not testable here"


class Claim(Spec):
    """What is claimed, and by which two rows of the study it is judged."""

    system: str  # the recipe
    says: str
    figure: str = ""  # the paper's own
    better: str = ""  # a row of the table, as the study names it
    than: str = ""
    untestable: str = ""  # why it cannot be tried here

    def faults(self) -> list[tuple[str, str]]:
        found = []
        if bool(self.untestable) == bool(self.better):
            found.append(("better", "a claim either says which row should be better, or why it is untestable."))
        if bool(self.better) != bool(self.than):
            found.append(("than", "better and than are given together."))
        return found


@dataclass(frozen=True)
class Verdict:
    """A claim and what came of it."""

    claim: Claim
    study: str  # as `foreword study` takes it
    status: str
    ours: str = ""  # the difference with its intervals


def read_claim(path: Path) -> Claim | None:
    """The claim of a study file, if it has one."""
    section = toml.read(path)[0].get("claim")
    claim = Claim(**section) if section else None
    if claim and (wrong := claim.faults()):
        raise Fault(wrong[0][1], where=str(path))
    return claim


def refuse_untestable(subject: str, path: Path) -> None:
    claim = read_claim(path)
    if claim and claim.untestable:
        raise Fault(f"{subject} cannot be tried here: {claim.untestable}")


def verdict(claim: Claim, study: str, results: Path) -> Verdict:
    """`results`: what the study wrote, if it was run."""
    if claim.untestable:
        return Verdict(claim, study, NOT_TESTABLE)
    if not results.is_file():
        return Verdict(claim, study, NOT_RUN)
    one, sign = _difference(read_json(results), claim, results)
    mean, bounds = sign * one["difference"], [_signed(one[name], sign) for name in ("over_seeds", "over_examples")]
    known = [both for both in bounds if both]
    status = INCONCLUSIVE
    if known and all(low > 0 for low, _ in known):
        status = REPLICATED
    elif known and all(high < 0 for _, high in known):
        status = NOT_REPLICATED
    said = [
        f"{_shown(low)} to {_shown(high)} over {of}"
        for both, of in zip(bounds, ("seeds", one.get("examples", "examples")))
        if both
        for low, high in [both]
    ]
    unit = f" {one['unit']}" if one.get("unit") else ""
    return Verdict(claim, study, status, f"{_shown(mean)}{unit}" + (f" ({'; '.join(said)})" if said else ""))


def _difference(found: JsonObject, claim: Claim, results: Path) -> tuple[JsonObject, int]:
    """The difference between the claim's two rows, and the sign by which the better one is above."""
    differences = found.get("apart", ())
    for one in differences:
        lower = -1 if one.get("lower_is_better") else 1
        if (one["model"], one["minus"]) == (claim.better, claim.than):
            return one, lower
        if (one["model"], one["minus"]) == (claim.than, claim.better):
            return one, -lower
    rows = ", ".join(dict.fromkeys(name for one in differences for name in (one["model"], one["minus"])))
    raise Fault(
        f"the claim is that {claim.better!r} is better than {claim.than!r}, and the study compared: {rows or 'nothing'}.",
        "Name two of its rows, or run the study again.",
        where=str(results),
    )


def _signed(bounds: Sequence[float | None] | None, sign: int) -> tuple[float, float] | None:
    if not bounds or any(one is None or not math.isfinite(one) for one in bounds):
        return None
    low, high = sorted(sign * float(one) for one in bounds if one is not None)
    return low, high


def _shown(number: float) -> str:
    return f"{number:+.4f}"


def verdicts(results: Path) -> list[Verdict]:
    """Every claim that comes with Foreword. `results`: the folder of what studies wrote, NAME.json for claims/NAME."""
    found = []
    for path in sorted((catalogue.STUDIES / "claims").glob("*.toml")):
        claim = read_claim(path)
        if claim is None:
            raise Fault("a study among the claims needs a section [claim].", where=str(path))
        found.append(verdict(claim, f"claims/{path.stem}", results / f"{path.stem}.json"))
    order = {name: number for number, name in enumerate(catalogue.built_in())}
    return sorted(found, key=lambda one: (order.get(one.claim.system, len(order)), one.study))
