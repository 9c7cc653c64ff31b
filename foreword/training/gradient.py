"""Learning by gradient: one step of a network, in as many parts as the memory needs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal

import torch
from pydantic import SerializeAsAny
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from foreword.basics.allocation import give_back_memory, keep_memory
from foreword.basics.budget import Budget
from foreword.basics.messages import Diverged, Fault
from foreword.basics.numbers import NotNegative, Size
from foreword.basics.progress import say
from foreword.basics.registry import Registry
from foreword.basics.seeds import number_of
from foreword.batches.phases import Phase
from foreword.batches.row import Row
from foreword.networks.base import Model, State
from foreword.objectives.base import Batch, Loss, Objective
from foreword.parts.block import layers
from foreword.parts.ngrams import numbers_by_rows, row_tables
from foreword.tokens.tokenizer import Tokenizer
from foreword.training import OPTIMIZERS, SCHEDULES
from foreword.training.compiling import Compiling
from foreword.training.hardware import Hardware
from foreword.training.learner import StepReport, TrainingSpec
from foreword.training.memory import free_memory, largest_part
from foreword.training.optimizers import OptimizerSpec, RowAdagrad, optimizers_for
from foreword.training.ranks import local, share, whole
from foreword.training.schedules import Ramp, Schedule

ROWS, TOKENS = " rows", " tokens"  # counted with the guesses, under names that no head has
LARGE = 50_000_000  # parameters from which memory is worth more than the time it takes to fetch it again


class GradientTraining(TrainingSpec):
    kind: Literal["gradient"] = "gradient"
    accumulates: ClassVar[bool] = True
    chosen: ClassVar[Mapping[str, Registry]] = {"optimizer": OPTIMIZERS, "schedule": SCHEDULES}
    retired: ClassVar[Mapping[str, object]] = {"noise": False}
    optimizer: SerializeAsAny[OptimizerSpec]
    schedule: SerializeAsAny[Schedule]
    batch_size: Size = 32  # rows per step, of all processes together
    micro_batch: Size | None = None  # rows per pass of the network; the rest is accumulated
    phases: list[Phase] = []  # first steps with shorter rows; none by default
    ramp: Ramp | None = None  # the batch begins smaller and grows; full from the start by default
    clip: NotNegative = 1.0  # largest length of the gradient; 0: no limit
    unfreeze: float = (
        0.0  # a share of the budget after which each next layer begins to learn, from above (Howard & Ruder 2018)
    )
    freeze_tokens: bool = False  # the token table stays as it begins, and with it a head that shares it
    recompute: bool = False  # blocks keep only what enters them: a third more work, far less memory

    def faults(self) -> list[tuple[str, str]]:
        found = super().faults() + (self.ramp.wrong() if self.ramp else [])
        if not 0 <= self.unfreeze < 1:
            found.append(("unfreeze", f"unfreeze must be from 0 to below 1 (it says {self.unfreeze})."))
        if self.phases and self.ramp:
            found.append(("phases", "a batch that grows (ramp) has rows of one length: phases cannot be had with it."))
        counted = not found and Budget.parse(self.budget).unit == "steps"
        for number, phase in enumerate(self.phases):
            if not counted and not isinstance(phase.until, int):
                found.append(
                    (
                        f"phases.{number}.until",
                        f"a phase that ends at a share of the budget ({phase.until:g}) needs a budget in steps, not "
                        f"{self.budget!r}: give the step at which it ends, or no phases: --set training.phases=[].",
                    )
                )
            if phase.length < 1 or (phase.batch_size or 1) < 1:
                found.append((f"phases.{number}", "a phase has batches of at least 1 row of at least 1 position."))
        if counted and sorted(ends := self.phase_ends()) != ends:
            found.append(("phases", f"each phase must end after the one before (they end at {ends})."))
        return found

    def phase_ends(self) -> list[int]:
        """The step after each phase."""
        budget = Budget.parse(self.budget)
        return [phase.end(budget.amount if budget.unit == "steps" else 0) for phase in self.phases]

    def batch_sizes(self) -> dict[str, int]:
        first = {"ramp.start": min(self.ramp.start, self.batch_size)} if self.ramp else {}
        phases = {f"phases.{n}.batch_size": phase.batch_size for n, phase in enumerate(self.phases) if phase.batch_size}
        return {"batch_size": self.batch_size, **first, **phases}

    def learner(
        self, model: Model, objective: Objective, tokenizer: Tokenizer, hardware: Hardware | None = None
    ) -> GradientLearner:
        return GradientLearner(self, model, objective, tokenizer, hardware)


class Passes(nn.Module):
    """A pass of the model and what its guesses cost, as one module: what watches modules at work (DDP, FSDP) sees all of it."""

    def __init__(self, model: Model, objective: Objective):
        super().__init__()
        self.model, self.objective = model, objective

    def forward(self, batch: Batch, state: State = None) -> Loss:
        return self.objective.loss(self.model, batch, state)


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
        dense = model.parameter_count() - numbers_by_rows(model)
        (give_back_memory if dense > LARGE else keep_memory)()
        self.spec, self.model, self.objective, self.tokenizer = (
            spec,
            model.to(self.hardware.device),
            objective,
            tokenizer,
        )
        if spec.freeze_tokens:
            model.network.table().requires_grad_(False)
        for block in layers(model):
            block.recompute = spec.recompute
        self.ranks = self.hardware.ranks
        for part in model.modules():
            if hasattr(part, "gradient_scale"):  # it clips on the way back, where the loss is multiplied by the ranks
                setattr(part, "gradient_scale", float(self.ranks.world))  # noqa: B010
        self.compiling = Compiling(model, self.hardware.compile, self.ranks)
        self.passes = Passes(self.model, objective)
        self.parallel = self.ranks.parallel(self.passes, objective.takes_turns)
        self.share: float | None = None  # rows in one pass of the network, once it is known what fits
        self.rows = self.length = 0  # of the batch for which that is known, and of its rows
        self.scaler = torch.amp.GradScaler(
            self.hardware.device.split(":")[0], enabled=self.hardware.precision == "float16"
        )
        self.optimizers = optimizers_for(spec.optimizer, model)
        self.by_rows = [table.weight for table in row_tables(model)]
        apart = set(map(id, self.by_rows))  # Adagrad divides by the length of their gradient: nothing to clip
        self.parameters = [parameter for parameter in model.parameters() if id(parameter) not in apart]
        self.groups = [(group, group["lr"]) for each in self.optimizers for group in each.param_groups]
        self.states: list[State] = []  # what is carried to the next step, a part of the batch each
        self.shaped = True  # False: it was read from a checkpoint, as the leaves of all ranks' rows
        self.first_loss: float | None = None
        self.halvings = 0.0  # of the rate, where the run halves it
        self.levels = model.network.levels() if spec.unfreeze else []

    def collate(self, rows: list[Row]) -> Batch:
        return self.objective.collate(rows, self.tokenizer)

    def step(self, batch: Batch, step: int, spent: float, tokens: int = 0) -> StepReport:
        counts = self.ranks.total({**batch.guesses, ROWS: batch.size, TOKENS: batch.tokens})
        rows, read = counts.pop(ROWS), counts.pop(TOKENS)
        longer = self.spec.phases and batch.inputs.ids.size(1) > self.length
        if self.share is None or longer or (self.spec.ramp and self.rows != rows):
            own, self.length = rows // self.ranks.world, batch.inputs.ids.size(1)
            fits, wanted = self._what_fits(batch, own), self.spec.micro_batch or math.inf
            # all of a batch, though the next may have more rows: what is cut where must not depend on the first one read
            self.share, self.rows = fits if fits < min(own, wanted) else wanted, rows
        self.compiling.before(spent)
        self._seed(step)
        if not self.model.training:
            self.model.train()
        sums = self._gradients(batch.to(self.hardware.device), counts, rows, step)
        total = sums.pop("")
        for weight in self.by_rows:
            weight.grad = self.ranks.mean_of_rows(weight)
        self._hold_back(spent)
        for optimizer in self.optimizers:
            self.scaler.unscale_(optimizer)
        norm = self._clip()
        factor = self.spec.schedule.factor(step, spent, tokens) * 0.5**self.halvings
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
        measures = self.objective.measures
        each = {name if name in measures else f"nll.{name}": sums[name] / max(counts[name], 1) for name in sums}
        values = {"loss": total, **each, "gradient": norm, "learning_rate": rate, "batch_tokens": float(read)}
        return StepReport(read, values)

    def _gradients(self, batch: Batch, guesses: dict[str, int], rows: int, step: int) -> dict[str, float]:
        """Pass the batch through, in parts. What each head's guesses cost on all ranks; under "", the whole loss.

        `guesses` of all ranks gain those that only the forward pass knows; `rows` are those of all ranks.
        """
        # as many on every rank, though one may have a row more
        passes = max(1, math.ceil(rows // self.ranks.world / (self.share or rows)))
        edges = [number * batch.size // passes for number in range(passes + 1)]
        parts = [batch.rows(start, stop) for start, stop in zip(edges, edges[1:])]
        states = self._carried(batch, edges, step)
        if self.objective.counts_late and (len(parts) > 1 or self.ranks.world > 1):
            guesses |= self._count(parts, states, step)
        self.states, self.shaped, sums = [], True, []
        late: dict[str, int] = {}
        for number, (part, state) in enumerate(zip(parts, states)):
            if self.objective.counts_late and number:
                self._seed(step, number)
            with self.ranks.accumulating(self.parallel, number == len(parts) - 1):
                with self.hardware.autocast():
                    loss = self.parallel(part, state)
                self.states += [] if batch.continues is None else [loss.state]
                found = loss.guesses()
                late = {name: late.get(name, 0) + count for name, count in found.items()}
                # charges are sums; dividing by the guesses of the whole step makes parts of any size add up exactly
                counts = {**found, **guesses}
                owed = [charge.weight * charge.total / max(counts[name], 1) for name, charge in loss.charges.items()]
                value = torch.stack(owed + [cost * part.size / rows for cost in loss.costs.values()]).sum()
                self.scaler.scale(value * self.ranks.world).backward()  # ranks leave the mean of their gradients
            sums.append(torch.stack([value.detach(), *(charge.total.detach() for charge in loss.charges.values())]))
        guesses |= self.ranks.total(late) if late else {}  # one message less where there is none
        return dict(zip(["", *loss.charges], self.ranks.sum(torch.stack(sums).double().sum(0)).tolist()))

    def _carried(self, batch: Batch, edges: list[int], step: int) -> list[State]:
        """What each part goes on from; parts may have been cut elsewhere before."""
        if not batch.continues or not self.states:
            return [None] * (len(edges) - 1)
        if not self.shaped:
            self.states, self.shaped = [self._as_state(self.states[0], batch)], True
            self._seed(step)
        sizes = [tree_flatten(state)[0][0].size(0) for state in self.states]
        if sum(sizes) != batch.size:  # lanes that are others than before
            return [None] * (len(edges) - 1)
        if sizes == [stop - start for start, stop in zip(edges, edges[1:])]:
            return self.states
        joined = tree_map(lambda *parts: torch.cat(parts), *self.states)
        return [tree_map(lambda x, a=start, b=stop: x[a:b], joined) for start, stop in zip(edges, edges[1:])]

    @torch.no_grad()
    def _as_state(self, leaves: list[Tensor], batch: Batch) -> State:
        """The rows of this rank, in the shape that the network gives its state: a pass of one row shows it."""
        shape = tree_flatten(self.parallel(batch.rows(0, 1)).state)[1]
        each = shape.num_leaves  # a checkpoint of an earlier version has those of each part of the batch in turn
        whole_rows = [torch.cat(leaves[i::each]) for i in range(each)]
        return tree_unflatten([self.ranks.own_rows(leaf).to(self.hardware.device) for leaf in whole_rows], shape)

    @torch.no_grad()
    def _count(self, parts: list[Batch], states: list[State], step: int) -> dict[str, int]:
        """Guesses that only a forward pass knows, of all parts together: each passes with the chance that it will have again."""
        found: dict[str, int] = {}
        for number, (part, state) in enumerate(zip(parts, states)):
            self._seed(step, number)
            with self.hardware.autocast():
                counted = self.parallel(part, state).guesses()
            found = {name: found.get(name, 0) + count for name, count in counted.items()}
        self._seed(step, 0)
        return self.ranks.total(found)

    def _seed(self, step: int, part: int = 0) -> None:
        """All chance in step n comes from (seed, n), the rank, and the part where each must be drawn twice."""
        rank = self.ranks.rank
        self.hardware.seed(
            number_of("step", self.spec.seed, step, *([part] if part or rank else []), *[rank] * (rank > 0))
        )

    def _hold_back(self, spent: float) -> None:
        """Layers whose turn has not come learn nothing; the heads, and what is above the layers, always do."""
        if self.spec.unfreeze:
            learning = int(spent / self.spec.unfreeze + 1e-9)
            for level in self.levels[: max(len(self.levels) - learning, 0)]:
                for parameter in level:
                    parameter.grad = None

    def _clip(self) -> float:
        """The length of the gradient, which is then at most the recipe's limit. A shorter one is left as it is, and unread.

        A fused optimizer divides while it reads the gradient, in float32; for the others it is done here.
        """
        norm = self.ranks.norm([p.grad for p in self.parameters if p.grad is not None])
        over = norm / self.spec.clip if self.spec.clip and not float(norm) < self.spec.clip else None
        for optimizer in self.optimizers:
            itself = optimizer.defaults.get("fused") and norm.dtype == torch.float32 and not self.scaler.is_enabled()
            itself = itself and not self.ranks.sharded
            optimizer.grad_scale = over if itself else None  # type: ignore[attr-defined]
            if over is not None and not itself and not isinstance(optimizer, RowAdagrad):
                every = (parameter.grad for group in optimizer.param_groups for parameter in group["params"])
                torch._foreach_div_([local(slope) for slope in every if slope is not None], over)
        return float(norm)

    def _what_fits(self, batch: Batch, rows: int) -> int:
        """Rows in one pass: all that a rank has (`rows`, at least) if the memory is large enough."""
        wanted = min(self.spec.micro_batch or rows, rows)
        free = free_memory(self.hardware.device) // self.ranks.neighbours
        # of two rows, measuring would cost as much as trying
        fit = self.ranks.least(largest_part(self, batch, free)) if rows > 2 else rows
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
                f"--set training.batch_size={fit * self.ranks.world}. {least.capitalize()}",
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
        slopes = {name: p.grad for name, p in self.model.named_parameters() if p.grad is not None}
        sizes = {name: float(whole(slope.norm())) for name, slope in slopes.items()}
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
                loss = self.parallel(batch.to(self.hardware.device), state if batch.continues else None)
            state = loss.state
            for name, count in {**batch.guesses, **loss.guesses()}.items():
                if name in self.objective.measures:
                    continue
                totals[name] = totals.get(name, 0.0) + float(loss.charges[name].total)
                counts[name] = counts.get(name, 0) + count
        sums = self.ranks.sum(torch.tensor([*totals.values(), *counts.values()], dtype=torch.float64)).tolist()
        return {f"nll.{name}": cost / max(count, 1) for name, cost, count in zip(totals, sums, sums[len(totals) :])}

    def save(self) -> dict[str, Tensor]:
        saved = {f"model/{name}": tensor for name, tensor in self.model.weights().items()}
        names = {id(parameter): name for name, parameter in self.model.named_parameters()}
        for optimizer in self.optimizers:
            for parameter, memory in optimizer.state.items():
                for key, value in memory.items():
                    saved[f"optimizer/{names[id(parameter)]}/{key}"] = torch.as_tensor(value)
        states = [tree_flatten(state)[0] for state in self.states]
        together = self.ranks.all_rows if self.shaped else lambda rows: rows
        saved |= {f"state/{i}": together(torch.cat(parts)) for i, parts in enumerate(zip(*states))}
        if self.first_loss is not None:
            saved["first_loss"] = torch.tensor(self.first_loss, dtype=torch.float64)
        if self.scaler.is_enabled():
            saved["scale"] = torch.tensor(self.scaler.get_scale())
        if self.ranks.sharded:
            return {name: tensor.detach() for name, tensor in saved.items()}
        return {name: tensor.detach().cpu().contiguous().clone() for name, tensor in saved.items()}

    def restore(self, saved: Mapping[str, Tensor]) -> None:
        with torch.no_grad():
            for name, tensor in self.model.weights().items():
                tensor.copy_(share(saved[f"model/{name}"], tensor))
        names = {id(parameter): name for name, parameter in self.model.named_parameters()}
        for optimizer, parameter in (
            (each, p) for each in self.optimizers for g in each.param_groups for p in g["params"]
        ):
            start = f"optimizer/{names[id(parameter)]}/"
            found = {key.removeprefix(start): share(saved[key], parameter) for key in saved if key.startswith(start)}
            if found:  # a step count stays where it was saved, on the CPU; everything else stands by its parameter
                optimizer.state[parameter] = {
                    key: value.clone() if value.dim() == 0 else value.to(parameter.device, copy=True)
                    for key, value in found.items()
                }
        if "first_loss" in saved:
            self.first_loss = float(saved["first_loss"])
        if "scale" in saved and self.scaler.is_enabled():
            self.scaler.load_state_dict({**self.scaler.state_dict(), "scale": float(saved["scale"])})
        leaves = [saved[f"state/{i}"] for i in range(sum(name.startswith("state/") for name in saved))]
        self.states, self.shaped = [leaves] if leaves else [], not leaves
