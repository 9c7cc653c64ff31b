"""Train further: the weights of a model that is already there become the first weights of a run."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from foreword.assembly.difference import difference
from foreword.assembly.recipe import Recipe
from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault, Faults
from foreword.networks.base import Model
from foreword.runs.folder import RunFolder
from foreword.runs.opening import open_model
from foreword.tokens.extension import old_pieces
from foreword.tokens.tokenizer import Tokenizer
from foreword.training.ranks import share

FREE = ("dropout", "initial", "tokens_from")  # settings of a network that leave no trace in the shape of its weights


def start_from(path: Path, recipe: Recipe, model: object, tokenizer: Tokenizer) -> dict[str, str]:
    """Give `model` the weights of the one at `path`; what the passport is to say of them. All that does not fit is a fault."""
    found = open_model(path)
    if not isinstance(model, Model) or not isinstance(found.model, Model):
        raise Fault(
            f"{path} ({found.recipe.name}) cannot be the start of {recipe.name}: only networks are trained further."
        )
    theirs, mine = found.model.weights(), model.weights()
    faults = []
    same = found.tokenizer is not None and found.tokenizer.fingerprint == tokenizer.fingerprint
    new = None if same or found.tokenizer is None else old_pieces(found.tokenizer, tokenizer)
    if new is not None:
        rows = found.model.network.table().size(0), model.network.table().size(0)
        theirs = {name: _grown(weight, mine.get(name), rows, new) for name, weight in theirs.items()}
    elif not same:
        made = found.tokenizer.name if found.tokenizer else "no tokenizer"
        faults.append(
            Fault(
                f"{path} was trained with {made}; the text to train on was made into ids with {tokenizer.name}.",
                f"Make a matching store:  foreword tokens TEXT --tokenizer {path} --out STORE; "
                "--add 500 there gives it new tokens.",
            )
        )
    differ = difference(shape_settings(found.recipe), shape_settings(recipe))
    faults += [
        Fault(
            f"{path} and the recipe differ:  network.{line}",
            ""
            if line != differ[-1]
            else "What is trained further must have the recipe's shape: give its --size, or --set network.KEY=VALUE.",
        )
        for line in differ
    ]
    if not faults:  # what follows from the above would only repeat it
        faults += [Fault(f"{path} has no weight {name}.") for name in mine if name not in theirs]
        faults += [
            Fault(
                f"{name} has the shape {tuple(theirs[name].shape)} in {path}, {tuple(mine[name].shape)} in the recipe."
            )
            for name in mine
            if name in theirs and theirs[name].shape != mine[name].shape
        ]
    if faults:
        raise Faults(faults)
    digest = hashlib.blake2b(digest_size=16)
    with torch.no_grad():
        for name, weight in mine.items():
            weight.copy_(share(theirs[name], weight))
            digest.update(theirs[name].contiguous().cpu().view(-1).view(torch.uint8).numpy().data)
    return {"path": str(path), "weights": digest.hexdigest(), **({"new_tokens": str(len(new))} if new else {})}


def _grown(weight: Tensor, mine: Tensor | None, rows: tuple[int, int], new: Sequence[np.ndarray]) -> Tensor:
    """What has a row for each token gets rows for new tokens: each the mean of those of the pieces it was before."""
    if mine is None or weight.shape == mine.shape or (weight.size(0), mine.size(0)) != rows:
        return weight
    means = [weight[torch.from_numpy(pieces)].mean(0) for pieces in new]
    return torch.cat([weight[: mine.size(0) - len(new)], torch.stack(means)])


def shape_settings(recipe: Recipe) -> JsonObject:
    return {key: value for key, value in recipe.network.model_dump(mode="json").items() if key not in FREE}


def check_same_start(run: RunFolder, start: dict[str, str]) -> None:
    """A run goes on only from what it was begun from."""
    before = run.passport().get("start", {}) if run.exists() else start
    if before.get("weights") != start.get("weights"):
        raise Fault(
            f"{run.path} holds another run: it was begun from {before.get('path', 'nothing')}, "
            f"not from {start.get('path', 'nothing')}.",
            "Choose another --out, or give the same --from.",
        )
