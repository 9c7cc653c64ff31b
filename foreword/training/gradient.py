"""Learning by gradient: one step of a network, in as many parts as the memory needs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal

import torch
from pydantic import SerializeAsAny
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

from foreword.basics.messages import Diverged, Fault
from foreword.basics.progress import say
from foreword.basics.registry import Registry
from foreword.basics.seeds import number_of
from foreword.batches.row import Row
from foreword.networks.base import Model, State
from foreword.objectives.base import Batch, Objective
from foreword.parts.block import layers
from foreword.tokens.tokenizer import Tokenizer
from foreword.training import OPTIMIZERS, SCHEDULES
from foreword.training.compiling import Compiling
from foreword.training.hardware import Hardware
from foreword.training.learner import StepReport, TrainingSpec
from foreword.training.memory import free_memory, give_back_memory, keep_memory, largest_part
from foreword.training.optimizers import OptimizerSpec
from foreword.training.ranks import Ranks
from foreword.training.schedules import Ramp, Schedule

LARGE = 50_000_000  # parameters from which memory is worth more than the time it takes to fetch it again


class GradientTraining(TrainingSpec):
    kind: Literal["gradient"] = "gradient"
    accumulates: ClassVar[bool] = True
    chosen: ClassVar[Mapping[str, Registry]] = {"optimizer": OPTIMIZERS, "schedule": SCHEDULES}
    retired: ClassVar[Mapping[str, object]] = {"noise": False}
    optimizer: SerializeAsAny[OptimizerSpec]
    schedule: SerializeAsAny[Schedule]
    batch_size: int = 32  # rows per step, of all processes together
    micro_batch: int | None = None  # rows per pass of the network; the rest is accumulated
    ramp: Ramp | None = None  # the batch begins smaller and grows; full from the start by default
    clip: float = 1.0  # largest length of the gradient; 0: no limit
    recompute: bool = False  # blocks keep only what enters them: a third more work, far less memory

    def faults(self) -> list[tuple[str, str]]:
        return super().faults() + (self.ramp.wrong() if self.ramp else [])

    def learner(
        self, model: Model, objective: Objective, tokenizer: Tokenizer, hardware: Hardware | None = None
    ) -> GradientLearner:
        return GradientLearner(self, model, objective, tokenizer, hardware)


class GradientLearner:
    def __init__(
        self,
        spec: GradientTraining,
        model: Model,
        objective: Objective,
        tokenizer: Tokenizer,
        hardware: Hardware | None = None,
    ):
        self.hardware = hardware or Hardware()
        (give_back_memory if model.parameter_count() > LARGE else keep_memory)()
        self.spec, self.model, self.objective, self.tokenizer = (
            spec,
            model.to(self.hardware.device),
            objective,
            tokenizer,
        )
        for block in layers(model):
            block.recompute = spec.recompute
        self.ranks = Ranks()
        self.compiling = Compiling(model, self.hardware.compile, self.ranks)
        self.share: int | None = None  # rows in one pass of the network, once it is known what fits
        self.rows = 0  # in the batch for which that is known
        self.scaler = torch.amp.GradScaler(
            self.hardware.device.split(":")[0], enabled=self.hardware.precision == "float16"
        )
        self.parameters = list(model.parameters())
        self.optimizers = spec.optimizer.build(model)
        self.groups = [(group, group["lr"]) for each in self.optimizers for group in each.param_groups]
        self.states: list[State] = []
        self.first_loss: float | None = None

    def collate(self, rows: list[Row]) -> Batch:
        return self.objective.collate(rows, self.tokenizer)

    def step(self, batch: Batch, step: int, spent: float, tokens: int = 0) -> StepReport:
        if self.share is None or (self.spec.ramp and self.rows != batch.size):
            self.share, self.rows = self._what_fits(batch), batch.size
        self.compiling.before(spent)
        self._seed(step)
        if not self.model.training:
            self.model.train()
        guesses = self.ranks.total(batch.guesses)
        sums = self._gradients(batch.to(self.hardware.device), guesses, self.share, step)
        total = sums.pop("")
        for optimizer in self.optimizers:
            self.scaler.unscale_(optimizer)
        norm = self._clip()
        factor = self.spec.schedule.factor(step, spent, tokens)
        rate = self.spec.optimizer.learning_rate * factor
        # in float16 a gradient may overflow: its step is left out and the scale halved
        self._check(total, 0.0 if self.scaler.is_enabled() else norm, step, rate)
        for group, peak in self.groups:
            group["lr"] = peak * factor
        for optimizer in self.optimizers:
            self.scaler.step(optimizer)
            optimizer.zero_grad(set_to_none=True)
        self.scaler.update()
        self.compiling.after(batch.tokens)
        each = {f"nll.{name}": sums[name] / max(guesses[name], 1) for name in sums}
        return StepReport(
            batch.tokens,
            {"loss": total, **each, "gradient": norm, "learning_rate": rate, "batch_tokens": float(batch.tokens)},
        )

    def _gradients(self, batch: Batch, guesses: dict[str, int], share: int, step: int) -> dict[str, float]:
        """Pass the batch through, `share` rows at a time. What each head's guesses cost; under "", the whole loss.

        `guesses` gains those that only the forward pass knows.
        """
        parts = [batch.rows(start, start + share) for start in range(0, batch.size, share)]
        states = self.states if batch.continues and len(self.states) == len(parts) else [None] * len(parts)
        if self.objective.counts_late and (len(parts) > 1 or self.ranks.world > 1):
            guesses |= self._count(parts, states, step)
        self.states, sums = [], []
        late: dict[str, int] = {}
        for number, (part, state) in enumerate(zip(parts, states)):
            if self.objective.counts_late and number:
                self._seed(step, number)
            with self.hardware.autocast():
                loss = self.objective.loss(self.model, part, state)
            self.states.append(None if batch.continues is None else loss.state)
            found = loss.guesses()
            late = {name: late.get(name, 0) + count for name, count in found.items()}
            # charges are sums; dividing by the guesses of the whole step makes parts of any size add up exactly
            counts = {**found, **guesses}
            owed = [charge.weight * charge.total / max(counts[name], 1) for name, charge in loss.charges.items()]
            value = torch.stack(owed + [cost * part.size / batch.size for cost in loss.costs.values()]).sum()
            self.scaler.scale(value).backward()
            sums.append(torch.stack([value.detach(), *(charge.total.detach() for charge in loss.charges.values())]))
        guesses |= self.ranks.total(late)
        return dict(zip(["", *loss.charges], torch.stack(sums).double().sum(0).tolist()))

    @torch.no_grad()
    def _count(self, parts: list[Batch], states: list[State], step: int) -> dict[str, int]:
        """Guesses that only a forward pass knows, of all parts together: each passes with the chance that it will have again."""
        found: dict[str, int] = {}
        for number, (part, state) in enumerate(zip(parts, states)):
            self._seed(step, number)
            with self.hardware.autocast():
                counted = self.objective.loss(self.model, part, state).guesses()
            found = {name: found.get(name, 0) + count for name, count in counted.items()}
        self._seed(step, 0)
        return self.ranks.total(found)

    def _seed(self, step: int, part: int = 0) -> None:
        """All chance in step n comes from (seed, n), and from the part where each must be drawn twice."""
        self.hardware.seed(number_of("step", self.spec.seed, step, *([part] if part else [])))

    def _clip(self) -> float:
        """The length of the gradient, which is then at most the recipe's limit. A shorter one is left as it is, and unread.

        A fused optimizer divides while it reads the gradient, in float32; for the others it is done here.
        """
        norm = self.ranks.norm([p.grad for p in self.parameters if p.grad is not None])
        over = norm / self.spec.clip if self.spec.clip and not float(norm) < self.spec.clip else None
        for optimizer in self.optimizers:
            itself = optimizer.defaults.get("fused") and norm.dtype == torch.float32 and not self.scaler.is_enabled()
            optimizer.grad_scale = over if itself else None  # type: ignore[attr-defined]
            if over is not None and not itself:
                every = (parameter.grad for group in optimizer.param_groups for parameter in group["params"])
                torch._foreach_div_([slope for slope in every if slope is not None], over)
        return float(norm)

    def _what_fits(self, batch: Batch) -> int:
        """Rows in one pass: all of them if the memory is large enough."""
        wanted = min(self.spec.micro_batch or batch.size, batch.size)
        fit = self.ranks.least(largest_part(self, batch, free_memory(self.hardware.device)))
        if wanted <= fit:
            return wanted
        least = "training.recompute=true or a smaller network.context would need less."
        if fit < 1:
            raise Fault(
                f"not even one row of {batch.inputs.ids.size(1):,} tokens fits the memory of this machine.",
                f"A smaller network is needed; {least}",
            )
        if not self.hardware.auto_batch:
            raise Fault(
                f"a batch of {wanted:,} rows does not fit the memory of this machine; {fit:,} rows do.",
                f"--auto-batch takes it in parts of {fit:,}, which learns the same; or "
                f"--set training.batch_size={fit}. {least.capitalize()}",
            )
        parts = math.ceil(wanted / fit)
        say(
            f"a batch of {wanted:,} rows does not fit the memory: it is taken in {parts} parts of {math.ceil(wanted / parts):,}."
        )
        return math.ceil(wanted / parts)

    def _check(self, loss: float, norm: float, step: int, rate: float) -> None:
        if self.first_loss is None:
            self.first_loss = loss
        if math.isfinite(loss) and math.isfinite(norm) and loss < 20 * max(self.first_loss, 1.0):
            return
        sizes = {name: float(p.grad.norm()) for name, p in self.model.named_parameters() if p.grad is not None}
        worst = max(sizes, key=lambda name: math.inf if not math.isfinite(sizes[name]) else sizes[name])
        what = f"{loss:.3g}" if math.isfinite(loss) else "not a number"
        if math.isfinite(loss) and not math.isfinite(norm):
            what = f"{loss:.3g}, but its gradient is not a number"
        raise Diverged(
            f"step {step + 1:,}: the loss is {what}.",
            f"Largest gradient: {worst} ({sizes[worst]:.1e}). Usual causes: learning rate too high "
            f"({rate:.1e}), too short a warm-up ({self.spec.schedule.warmup}), float16.",
        )

    def finish(self, held_out: Iterable[Batch]) -> None:
        self.states = []

    @torch.no_grad()
    @torch.compiler.set_stance("force_eager")  # a few batches now and then do not repay compiling
    def measure(self, batches: Iterable[Batch]) -> dict[str, float]:
        self.model.eval()
        self.hardware.seed(number_of("measure", self.spec.seed))  # for objectives that draw
        totals: dict[str, float] = {}
        counts: dict[str, int] = {}
        state = None
        for batch in batches:
            with self.hardware.autocast():
                loss = self.objective.loss(
                    self.model, batch.to(self.hardware.device), state if batch.continues else None
                )
            state = loss.state
            for name, count in {**batch.guesses, **loss.guesses()}.items():
                totals[name] = totals.get(name, 0.0) + float(loss.charges[name].total)
                counts[name] = counts.get(name, 0) + count
        return {f"nll.{name}": totals[name] / max(counts[name], 1) for name in totals}

    def save(self) -> dict[str, Tensor]:
        saved = {f"model/{name}": tensor for name, tensor in self.model.weights().items()}
        names = {id(parameter): name for name, parameter in self.model.named_parameters()}
        for optimizer in self.optimizers:
            for parameter, memory in optimizer.state.items():
                for key, value in memory.items():
                    saved[f"optimizer/{names[id(parameter)]}/{key}"] = torch.as_tensor(value)
        leaves, _ = tree_flatten(self.states)
        saved |= {f"state/{i}": leaf for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)}
        if self.first_loss is not None:
            saved["first_loss"] = torch.tensor(self.first_loss, dtype=torch.float64)
        if self.scaler.is_enabled():
            saved["scale"] = torch.tensor(self.scaler.get_scale())
        return {name: tensor.detach().cpu().contiguous().clone() for name, tensor in saved.items()}

    def restore(self, saved: dict[str, Tensor]) -> None:
        with torch.no_grad():
            for name, tensor in self.model.weights().items():
                tensor.copy_(saved[f"model/{name}"])
        names = {id(parameter): name for name, parameter in self.model.named_parameters()}
        for optimizer, parameter in (
            (each, p) for each in self.optimizers for g in each.param_groups for p in g["params"]
        ):
            start = f"optimizer/{names[id(parameter)]}/"
            found = {key.removeprefix(start): value for key, value in saved.items() if key.startswith(start)}
            if found:  # a step count stays where it was saved, on the CPU; everything else stands by its parameter
                optimizer.state[parameter] = {
                    key: value.clone() if value.dim() == 0 else value.to(parameter.device, copy=True)
                    for key, value in found.items()
                }
        if "first_loss" in saved:
            self.first_loss = float(saved["first_loss"])
        if "scale" in saved and self.scaler.is_enabled():
            self.scaler.load_state_dict({**self.scaler.state_dict(), "scale": float(saved["scale"])})
        leaves = [
            saved[f"state/{i}"].to(self.hardware.device)
            for i in range(sum(name.startswith("state/") for name in saved))
        ]
        if leaves:
            self.states = self._as_states(leaves)

    def _as_states(self, leaves: list[Tensor]) -> list[State]:
        """Leaves back in the shape the network gives its state: found by running it once on one token."""
        from foreword.networks.base import Inputs

        one = Inputs(torch.zeros(1, 1, dtype=torch.long, device=self.hardware.device))
        with torch.no_grad():
            shape = tree_flatten(self.model.network(one).state)[1]
        each = shape.num_leaves
        return [tree_unflatten(leaves[i : i + each], shape) for i in range(0, len(leaves), each)]
