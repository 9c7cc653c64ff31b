"""How long to train: steps (`500`), tokens (`2Mtok`), epochs (`3epochs`), wall clock (`90s`), work of cores (`10core-m`)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from foreword.basics.messages import Fault

MOST = 1e18  # of steps, tokens or seconds: thirty billion years
_SCALE = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9}
_CLOCK = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_FORM = re.compile(
    r"^\s*([0-9][0-9_,]*\.?[0-9]*(?:e[0-9]+)?)\s*([kKMGB]?)\s*(steps?|tok(?:ens?)?|epochs?|(?:core-)?(?:s|min|m|h|d))?\s*$"
)


@dataclass(frozen=True)
class Budget:
    """An amount and what it counts: "steps", "tokens", "epochs" or "seconds"."""

    amount: float
    unit: str
    written: str
    cores: bool = False  # seconds of work, of all cores together: what else the machine does takes nothing from it

    @staticmethod
    def parse(text: str | int) -> Budget:
        match = _FORM.match(str(text))
        if not match:
            raise Fault(
                f"{text!r} is not a budget.",
                "Say steps (500), tokens (2Mtok), epochs (3epochs), wall clock (90s, 10m, 2h) or work of cores (10core-m).",
            )
        number, scale, word = match.groups()
        amount = float(number.replace(",", "").replace("_", "")) * _SCALE[scale]
        if amount <= 0:
            raise Fault(f"{text!r} is not a budget: it must be more than nothing.")
        if amount > MOST:
            raise Fault(f"{str(text)[:40]!r} is not a budget: nobody has that much time.", f"At most {MOST:.0e}.")
        if (clock := (word or "").removeprefix("core-")) in _CLOCK:
            return Budget(amount * _CLOCK[clock], "seconds", str(text), clock != word)
        unit = "tokens" if word and word.startswith("tok") else "epochs" if word and word.startswith("e") else "steps"
        return Budget(amount, unit, str(text))

    def spent(self, steps: int, tokens: int, epochs: float, seconds: float) -> float:
        """How much of it is used, 0 to 1."""
        return {"steps": steps, "tokens": tokens, "epochs": epochs, "seconds": seconds}[self.unit] / self.amount


def byte_size(text: str) -> int:
    """ "512MB", "1GB", "1.5 GB" as a number of bytes."""
    match = re.match(r"^\s*([0-9]+\.?[0-9]*)\s*([kKMGT])B?\s*$", str(text))
    if not match or not float(match[1]):
        raise Fault(f"{text!r} is not an amount of memory: say 512MB or 1GB.")
    return int(float(match[1]) * {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[match[2]])
