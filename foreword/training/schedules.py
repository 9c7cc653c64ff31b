"""How the learning rate moves: a warm-up, then a way down. A schedule gives a factor between 0 and 1."""

from __future__ import annotations

import math
from typing import Literal

from foreword.basics.budget import Budget
from foreword.basics.messages import Fault
from foreword.basics.numbers import NotNegative, Share, Whole
from foreword.basics.spec import Spec
from foreword.batches.stream import Growth


class Schedule(Spec):
    """A factor for every moment of a run: up while it warms up, down after, level at the floor to the end."""

    warmup: Whole | NotNegative | str = 0  # steps, a share of the budget (0.01) or tokens ("375Mtok")
    floor: Share = 0.0  # where the way down ends
    until: float | str = 1.0  # when: a share of the budget, or tokens; it stays there

    def faults(self) -> list[tuple[str, str]]:
        found = [
            (name, wrong)
            for name in ("warmup", "until")
            if isinstance(value := getattr(self, name), str) and (wrong := not_tokens(name, value))
        ]
        if not isinstance(self.until, str) and not 0 < self.until <= 1:
            found.append(("until", f"until must lie between 0 and 1, or be in tokens (it says {self.until})."))
        return found

    def factor(self, step: int, spent: float, tokens: int = 0) -> float:
        """`step` counts from 0; `spent` is how much of the budget was used before it, `tokens` how many were read."""
        share = self._warmup_share(step, spent, tokens)
        if share > 0 and (done := self._warmed(step, spent, tokens)) is not None:
            return min(1.0, max(done, 1e-3))
        end = self.until if not isinstance(self.until, str) else _tokens_share(self.until, spent, tokens)
        left = (spent - share) / max(end - share, 1e-9)
        return self.floor + (1.0 - self.floor) * self.decayed(step, min(max(left, 0.0), 1.0))

    def _warmed(self, step: int, spent: float, tokens: int) -> float | None:
        """How much of the warm-up is done; nothing once it is over."""
        if isinstance(self.warmup, int):
            return (step + 1) / self.warmup if step < self.warmup else None
        if isinstance(self.warmup, str):
            return tokens / amount if tokens < (amount := Budget.parse(self.warmup).amount) else None
        return spent / self.warmup if spent < self.warmup else None

    def _warmup_share(self, step: int, spent: float, tokens: int) -> float:
        """The warm-up as a share of the budget; counted steps and tokens are converted at the pace so far."""
        if isinstance(self.warmup, str):
            return min(0.99, _tokens_share(self.warmup, spent, tokens))
        if not isinstance(self.warmup, int):
            return self.warmup
        return min(0.99, self.warmup * spent / step) if step else float(self.warmup > 0) * 1e-9

    def decayed(self, step: int, done: float) -> float:
        raise TypeError(f"{type(self).__name__} has no way down.")


class Constant(Schedule):
    kind: Literal["constant"] = "constant"

    def decayed(self, step: int, done: float) -> float:
        return 1.0


class Linear(Schedule):
    kind: Literal["linear"] = "linear"

    def decayed(self, step: int, done: float) -> float:
        return 1.0 - done


class Halving(Constant):
    """Full until held-out text gets no significantly likelier; then half as much after each evaluation, until that happens
    again, which ends the training (Mikolov et al. 2010, section 2). The run does the judging: it has the evaluations."""

    kind: Literal["halving"] = "halving"  # type: ignore[assignment]
    significant: float = 1.003  # by which the nats of held-out text must shrink (the authors' code)

    def faults(self) -> list[tuple[str, str]]:
        wrong = [] if self.significant >= 1 else [("significant", f"must be at least 1 (it says {self.significant}).")]
        return super().faults() + wrong


class Cosine(Schedule):
    kind: Literal["cosine"] = "cosine"

    def decayed(self, step: int, done: float) -> float:
        return 0.5 * (1.0 + math.cos(math.pi * done))


class WarmDown(Schedule):
    """Level, then down in a straight line over the last `share` of the budget (Hägele et al. 2024)."""

    kind: Literal["warm_down"] = "warm_down"
    share: Share = 0.7

    def faults(self) -> list[tuple[str, str]]:
        wrong = [] if 0 < self.share <= 1 else [("share", f"share must lie between 0 and 1 (it says {self.share}).")]
        return super().faults() + wrong

    def decayed(self, step: int, done: float) -> float:
        return min(1.0, (1.0 - done) / self.share)


class InverseRoot(Schedule):
    """Falls with the root of the step (Vaswani et al. 2017, eq. 3); the warm-up must be counted in steps."""

    kind: Literal["inverse_root"] = "inverse_root"
    level: bool = False  # full from the first step to the end of the warm-up (Raffel et al. 2019, 3.1.2)

    def factor(self, step: int, spent: float, tokens: int = 0) -> float:
        return 1.0 if self.level and step < float(self.warmup) else super().factor(step, spent, tokens)

    def faults(self) -> list[tuple[str, str]]:
        if isinstance(self.warmup, int) and self.warmup > 0:
            return super().faults()
        return [("warmup", "inverse_root needs a warm-up in whole steps, at least 1.")]

    def decayed(self, step: int, done: float) -> float:
        warmup = float(self.warmup)
        return math.sqrt(warmup / max(step + 1, warmup))


class Inverse(Schedule):
    """1 / (1 + decay * step): the rate of Bengio et al. 2003, section 3.2."""

    kind: Literal["inverse"] = "inverse"
    decay: NotNegative

    def decayed(self, step: int, done: float) -> float:
        return 1.0 / (1.0 + self.decay * step)


class Ramp(Spec):
    """The batch grows in a straight line with the tokens read (Brown et al. 2020, appendix B: from 32k tokens, over 4 to 12
    billion). Tokens are rows times the length of a row.
    """

    start: Whole  # rows of the first batch; a batch_size that is no larger does not grow
    over: str  # tokens after which the batch is full: "4Gtok"

    def wrong(self) -> list[tuple[str, str]]:
        found = [("ramp.over", said)] if (said := not_tokens("ramp.over", self.over)) else []
        if self.start < 1:
            found.append(("ramp.start", f"a ramp starts with at least 1 row (it says {self.start})."))
        return found

    def growth(self, batch_size: int, length: int) -> Growth:
        return Growth(min(self.start, batch_size), batch_size, math.ceil(Budget.parse(self.over).amount / length))


def not_tokens(name: str, written: str) -> str:
    """What is wrong with an amount of tokens, if anything is."""
    try:
        unit = Budget.parse(written).unit
    except Fault:
        unit = ""
    return "" if unit == "tokens" else f'{name} is written in tokens, like "375Mtok" (it says {written!r}).'


def _tokens_share(written: str, spent: float, tokens: int) -> float:
    """Tokens as a share of the budget, at the pace so far."""
    return Budget.parse(written).amount * spent / tokens if tokens else 1e-9
