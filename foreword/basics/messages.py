"""How Foreword speaks when something is wrong: where, what, and what to do, all faults at once."""

from __future__ import annotations

import copyreg
import difflib
from collections.abc import Iterable


class Fault(Exception):
    """Something the user gave cannot be used. Shown without a traceback; the program ends with code 2."""

    code = 2

    def __init__(self, what: str, do: str = "", where: str = ""):
        self.where, self.what, self.do = where, what, do
        super().__init__(str(self))

    def __reduce__(self) -> tuple[object, ...]:  # it comes back whole from another process
        return copyreg.__newobj__, (type(self),), self.__dict__  # type: ignore[attr-defined]

    def __str__(self) -> str:
        lines = [self.where, f"    {self.what}"] if self.where else [self.what]
        if self.do:
            lines.append(f"    {self.do}")
        return "\n".join(lines)


class Faults(Fault):
    """Several faults found in one look."""

    def __init__(self, faults: Iterable[Fault]):
        self.faults = list(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))


class RunFailed(Fault):
    """The input was fine and the work still failed (a loss that is not a number, a full disk): code 1."""

    code = 1


class Diverged(RunFailed):
    """The loss of a training is no number, or far above where it began: the same settings would do it again."""


class Interrupted(Fault):
    """The user asked to stop, and everything was saved first: code 130."""

    code = 130


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """' Did you mean X?' or nothing, ready to be appended to a sentence."""
    near = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f" Did you mean {near[0]}?" if near else ""


def thousands(number: float) -> str:
    """12345 -> '12,345'; 12_345_678 -> '12.3M': numbers a person reads at a glance."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if abs(number) >= size:
            return f"{number / size:.1f}{letter}"
    return f"{number:,.0f}"


def duration(seconds: float) -> str:
    """3725 -> '1h02m'; 95 -> '1m35s'; 7.2 -> '7s'."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 60}m{whole % 60:02d}s" if whole >= 60 else f"{whole}s"
