"""`make bench ARGS=recurrent`: LSTMs beside plain torch loops, cells by multiply-adds, sparse maps, experts.

Ratios are of core seconds, the least of each candidate's turns: others who use the machine disturb them least.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.race import Times, Work, race
from foreword.assembly import loader
from foreword.assembly.build import network_for
from foreword.basics.progress import say
from foreword.generate.batch import generate
from foreword.generate.sample import Sampling
from foreword.networks.base import Inputs, Model
from foreword.objectives.base import Batch
from foreword.parts.experts import Experts, ExpertsSpec
from foreword.parts.frozen import freeze
from foreword.parts.layouts import Balanced, BarabasiAlbert, WattsStrogatz
from foreword.parts.linear import BlockSparseSpec
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.vocabulary import Vocabulary
from foreword.training.gradient import GradientLearner, GradientTraining
from foreword.training.hardware import Hardware

WIDTH, VOCABULARY, ROWS, LENGTH, NEW = 512, 8192, 32, 64, 64
CELLS = ("lstm", "mlstm", "peephole_lstm", "layer_norm_lstm", "gru", "multiplicative")


def model(cell: str = "lstm") -> tuple[Any, Model]:
    """A recipe with this cell, and its network."""
    wide = 2 * WIDTH if cell == "multiplicative" else WIDTH
    settings = [f"network.width={WIDTH}", f"network.embedding={wide}", "network.layers=1", "network.dropout=0.0"]
    settings += [f"network.cell={{ kind = '{cell}' }}", f"training.batch_size={ROWS}"]
    settings += ['training.optimizer={ kind = "adam", learning_rate = 1e-5 }', f"tokenizer.vocabulary={VOCABULARY}"]
    recipe = loader.load("lstm", "", settings)
    torch.manual_seed(0)
    return recipe, network_for(recipe, Vocabulary(VOCABULARY, 0, ()))


def ids() -> Tensor:
    return torch.randint(1, VOCABULARY, (ROWS, LENGTH + 1), generator=torch.Generator().manual_seed(0))


class Plain(nn.Module):
    """What a user of torch writes."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.lstm = nn.LSTM(WIDTH, WIDTH, batch_first=True)
        self.out = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, read: Tensor, targets: Tensor) -> Tensor:
        logits = self.out(self.lstm(self.tokens(read))[0])
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def training() -> dict[str, Work]:
    """A whole step, head and optimizer included."""
    recipe, made = model()
    tokens, number = ids(), count()
    batch = Batch(Inputs(tokens[:, :-1].contiguous()), {"tokens": tokens[:, 1:].contiguous()}, False)
    learner = GradientLearner(
        cast(GradientTraining, recipe.training), made, recipe.objective, cast(Tokenizer, None), Hardware()
    )
    found: dict[str, Work] = {"ours": lambda: learner.step(batch, next(number), 0.0)}
    for name, compiled in (("plain torch, eager", False), ("plain torch, compiled", True)):
        found[name] = plain(Plain(), tokens, compiled)
    return found


def plain(module: nn.Module, tokens: Tensor, compiled: bool) -> Work:
    optimizer, call = torch.optim.Adam(module.parameters(), 1e-5), torch.compile(module) if compiled else module

    def step() -> None:
        optimizer.zero_grad()
        call(tokens[:, :-1], tokens[:, 1:]).backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()

    return step


def cells() -> tuple[dict[str, Work], dict[str, int]]:
    """The network alone, forward and backward, and its multiply-adds for each token."""
    found, operations = {}, {}
    for cell in CELLS:
        _, made = model(cell)
        network, read = made.network.train(), ids()[:, :-1].contiguous()
        found[cell] = _through(network, read)
        matrices = [p for p in network.cell.parameters() if p.dim() > 1 and p.size(0) > 3]  # type: ignore[union-attr]
        operations[cell] = sum(p.numel() for p in matrices)
    return found, operations


def _through(network: nn.Module, read: Tensor) -> Work:
    def work() -> None:
        network.zero_grad(set_to_none=True)
        network(Inputs(read)).last.sum().backward()

    return work


def generation() -> dict[str, Work]:
    """Greedy, one text, NEW tokens."""
    _, made = model()
    module = Plain().eval()
    with torch.no_grad():
        module.tokens.weight.copy_(made.network.tokens.weight)  # type: ignore[union-attr, arg-type]
        module.lstm.load_state_dict(made.network.cell.lstm.state_dict())  # type: ignore[union-attr]
        module.out.weight.copy_(made.heads["tokens"].out.weight)
        module.out.bias.copy_(made.heads["tokens"].out.bias)

    @torch.inference_mode()
    def loop() -> list[int]:
        token, state, said = torch.tensor([[7]]), None, []
        for _ in range(NEW):
            hidden, state = module.lstm(module.tokens(token), state)
            token = module.out(hidden[:, -1]).softmax(-1).argmax(-1, keepdim=True)
            said.append(int(token))
        return said

    vocabulary, how = Vocabulary(VOCABULARY, -1, ()), Sampling(temperature=0.0, max_tokens=NEW)
    found: dict[str, Work] = {"plain torch": loop}
    for name, precision in (("ours", "float32"), ("ours, int8", "int8")):
        reader = freeze(copy.deepcopy(made), precision).language_model(vocabulary)
        found[name] = lambda reader=reader: generate(reader, _NoText(), [[7]], how)  # type: ignore[misc, arg-type]
    return found


class _NoText:
    """A tokenizer that is never asked for anything but nothing."""

    specials: dict[str, str] = {}
    lossless = True

    def has(self, name: str) -> bool:
        return False

    def decode(self, tokens: Any, **_: Any) -> str:
        return ""

    def pieces(self, tokens: Any) -> list[str]:
        return ["" for _ in tokens]


def sparse() -> tuple[dict[str, Work], dict[str, float]]:
    """2,048 to 2,048 in blocks of 32, 256 rows: each layout that is nearest to a tenth of the blocks, and dense."""
    maps: dict[str, nn.Module] = {"dense": nn.Linear(2048, 2048, bias=False)}
    shares = {}
    for layout in (Balanced(each=6), WattsStrogatz(neighbours=6), BarabasiAlbert(attached=3)):
        made = BlockSparseSpec(block=32, layout=layout).build(2048, 2048, bias=False)
        maps[layout.kind], shares[layout.kind] = made, len(made.weight) / 64**2
    x, slope = torch.randn(256, 2048), torch.randn(256, 2048)
    found: dict[str, Work] = {}
    for name, part in maps.items():
        found[f"{name}, forward"] = torch.no_grad()(lambda part=part: part(x))  # type: ignore[misc]
        found[f"{name}, both"] = _both(part, x, slope)
    return found, shares


def _both(part: nn.Module, x: Tensor, slope: Tensor) -> Work:
    given = x.clone().requires_grad_()
    return lambda: part(given).backward(slope)


def experts() -> dict[str, Work]:
    """2,048 positions: by how many are active, and by how many there are."""
    found: dict[str, Work] = {}
    x = torch.randn(2048, 256)
    for number, active in ((16, 1), (16, 2), (16, 4), (16, 8), (64, 2), (256, 2)):
        part = Experts(ExpertsSpec(experts=number, active=active, hidden=512), 256).train()
        for module in part.modules():
            settle: Callable[[], None] | None = getattr(module, "settle", None)
            if settle:
                settle()
        found[f"{active} of {number}"] = lambda part=part: part(x).sum().backward()  # type: ignore[misc]
    return found


def raced(name: str, candidates: dict[str, Work], rounds: int = 3, seconds: float = 0.5) -> dict[str, Times]:
    say(f"bench recurrent: {name}")
    return race(candidates, rounds, seconds)


def report() -> str:
    return "\n".join(lines())


def lines() -> Iterator[str]:
    tokens = ROWS * LENGTH
    yield f"{torch.get_num_threads()} threads; ratios of core seconds, the least of each one's turns"
    times = raced("training", training())
    yield f"a training step, LSTM of {WIDTH}, {ROWS} rows of {LENGTH}, vocabulary {VOCABULARY:,}, loss and Adam included"
    for name, one in times.items():
        yield f"  {name:24} {tokens / one.core:>9,.0f} tokens a core-second   ours {one.core / times['ours'].core:.2f}x as fast"
    work, operations = cells()
    times = raced("cells", work)
    yield "cells, forward and backward, by multiply-add"
    for name, one in times.items():
        each = one.core / operations[name] / (times["lstm"].core / operations["lstm"])
        yield f"  {name:24} {tokens / one.core:>9,.0f} tokens a core-second   {each:.2f}x lstm's time for each multiply-add"
    times = raced("generation", generation())
    yield f"greedy generation, one text, {NEW} tokens"
    for name, one in times.items():
        ratio = times["plain torch"].core / one.core
        yield f"  {name:24} {NEW / one.core:>9,.0f} tokens a core-second   {ratio:.2f}x plain torch"
    work, shares = sparse()
    times = raced("block-sparse maps", work)
    yield "block-sparse maps, 2,048 x 2,048, blocks of 32, 256 rows"
    for name, share in shares.items():
        forward, both = (times[f"dense, {way}"].core / times[f"{name}, {way}"].core for way in ("forward", "both"))
        back = (times["dense, both"].core - times["dense, forward"].core) / (
            times[f"{name}, both"].core - times[f"{name}, forward"].core
        )
        yield f"  {name:24} {share:6.1%} of the blocks   forward {forward:.2f}x dense, backward {back:.2f}x, both {both:.2f}x"
    times = raced("experts", experts())
    yield "experts of 256 x 512 x 256, 2,048 positions, forward and backward"
    for name, one in times.items():
        yield f"  {name:24} {1e3 * one.core:8.1f} ms   {one.core / times['2 of 16'].core:.2f}x 2 of 16"
