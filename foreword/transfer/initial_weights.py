"""What a fine-tuned model begins with: all of a pretrained one, its first layers, the same numbers shuffled, or nothing of it."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import torch
from torch import Tensor, nn

from foreword.assembly.build import network_for
from foreword.assembly.recipe import Recipe
from foreword.basics.messages import Fault, Faults
from foreword.basics.seeds import number_of
from foreword.exchange.family import task_of
from foreword.exchange.hugging_face import LoadedFolder, network_of
from foreword.networks.base import Model
from foreword.networks.features import Features
from foreword.objectives.by_task import ByTask
from foreword.objectives.examples import FromExamples
from foreword.tokens.tokenizer import Tokenizer
from foreword.training.memory import free_memory
from foreword.training.ranks import whole

INITS = ("pretrained", "scratch", "shuffled")
KEPT = 2**30  # bytes of what a frozen trunk says of examples, which then need not be read again


def initial_model(
    recipe: Recipe, loaded: LoadedFolder, tokenizer: Tokenizer, init: str = "pretrained", layers: int | None = None
) -> Model:
    """A model of the recipe. Its head, and specials that the tokenizer has got, are drawn from the seed."""
    spec = recipe.training
    known = network_of(loaded).network.table().size(0)
    vocabulary = tokenizer.vocabulary()
    torch.manual_seed(number_of("weights", spec.seed))
    model = network_for(recipe, replace(vocabulary, size=max(vocabulary.size, known)))
    if init != "scratch":
        _take_over(model, loaded, tokenizer, layers, replaced_weights(recipe, loaded.recipe))
    if init == "shuffled":
        _shuffle(model.network, spec.seed)
    if isinstance(model.network, Features):
        model.network.kept.room = min(KEPT, free_memory("cpu") // 4)
    return model


def continued_objective(loaded: LoadedFolder, fresh: FromExamples) -> FromExamples:
    """The objective that the model was fine-tuned by before, if it has the same answers to give; else the fresh one."""
    said = task_of(loaded.recipe)
    alike = isinstance(said, type(fresh)) and all(
        getattr(said, name, None) == getattr(fresh, name, None) for name in ("labels", "none", "reading", "read")
    )
    return said if alike else fresh


def replaced_weights(recipe: Recipe, before: Recipe) -> tuple[str, ...]:
    """Weights of a head that has its name from before and says something else: all of another kind, the last of other labels."""
    mine, theirs = _heads(recipe), _heads(before)
    others = [name for name in mine if name in theirs and mine[name] != theirs[name]]
    return tuple(f"heads.{name}." + ("out." if mine[name][0] == theirs[name][0] else "") for name in others)


def _heads(recipe: Recipe) -> dict[str, tuple[str, tuple[str, ...]]]:
    """By the name of a head, its kind and its labels."""
    task = task_of(recipe)
    if task is None:
        return {}
    together = isinstance(task, ByTask)
    several = {task.head(name): task.of(name) for name in task.names} if together else {task.name: task}
    return {name: (one.name, tuple(getattr(one, "labels", ()))) for name, one in several.items()}


def _take_over(
    model: Model, loaded: LoadedFolder, tokenizer: Tokenizer, layers: int | None, replaced: tuple[str, ...]
) -> None:
    theirs, mine = _matching_weights(model, loaded), model.weights()
    known = 0 if loaded.tokenizer is None else len(loaded.tokenizer)
    new = [token for token in map(tokenizer.special, tokenizer.specials) if token >= known]
    tables = model.network.tables()
    of_tokens = {id(table) for name, table in tables.items() if name.endswith("tokens")}
    grown = {name for name, weight in mine.items() if id(weight) in of_tokens or name.startswith("heads.tokens.out.")}
    depth = {id(parameter): number for number, level in enumerate(model.network.levels()) for parameter in level}
    faults = []
    for name, weight in mine.items():
        above = layers is not None and depth.get(id(weight), 0) > layers
        if name not in theirs or name.startswith(replaced) or above:
            continue
        given, drawn = theirs[name], weight.detach().clone()
        if not _fits(given, weight, name in grown, weight is tables.get("positions")):
            faults.append(Fault(f"{name} is {list(given.shape)} in the model and would be {list(weight.shape)}."))
            continue
        with torch.no_grad():
            rows = min(len(given), len(weight))
            weight[:rows].copy_(given[:rows])
            if name in grown:
                weight[new] = drawn[new]
    if faults:
        what = "what is transferred must have the shape it was learned in."
        do = "Leave out the --set that changes it, or begin with nothing: --init scratch."
        raise Faults([*faults, Fault(what, do)])
    if not isinstance(model.network, Features):  # a mix is not what it learned to read
        _pooler(model, loaded)


def _matching_weights(model: Model, loaded: LoadedFolder) -> dict[str, Tensor]:
    """What is given, by the names it has in the model. A head that read a network does not read a mix of its layers."""
    given = network_of(loaded).weights()
    if not isinstance(model.network, Features) or isinstance(network_of(loaded).network, Features):
        return given
    return {
        f"network.trunk.{name.removeprefix('network.')}": weight
        for name, weight in given.items()
        if name.startswith("network.")
    }


def _fits(given: Tensor, weight: Tensor, grown: bool, positions: bool) -> bool:
    """What has a row for each token may grow, a table of positions may be cut short; everything else is as it was."""
    length = grown or len(given) == len(weight) or (positions and len(given) > len(weight))
    return given.shape[1:] == weight.shape[1:] and length


def _pooler(model: Model, loaded: LoadedFolder) -> None:
    """The dense layer that a pretrained model has already learned to read sentences with, whichever head it was in."""
    theirs = network_of(loaded).heads
    pools = {name: head.pool for name, head in model.heads.items() if getattr(head, "pool", None) is not None}
    mine = [pool for name, pool in pools.items() if name not in theirs]
    other = next((head.pool for head in theirs.values() if getattr(head, "pool", None) is not None), None)
    unread = {name.rsplit(".", 1)[-1]: tensor for name, tensor in loaded.unread.items()}
    given = other.state_dict() if other is not None else unread
    for pool in mine if set(given) == {"weight", "bias"} else []:
        pool.load_state_dict(given)


def _shuffle(network: nn.Module, seed: int) -> None:
    """The same numbers in every weight, each in another place: what is left is their size, not what was learned."""
    for name, weight in network.named_parameters():
        rng = torch.Generator().manual_seed(number_of("shuffle", seed, name))
        order = torch.randperm(weight.numel(), generator=rng)
        with torch.no_grad():
            weight.copy_(weight.flatten()[order].view_as(weight))


def fingerprint(model: Model) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for tensor in model.weights().values():
        digest.update(whole(tensor.detach()).contiguous().cpu().view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
