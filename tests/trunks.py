"""Pretrained models that have learned nothing, of every kind that features can be taken from."""

from __future__ import annotations

from pathlib import Path

import torch

from foreword.assembly import loader
from foreword.assembly.build import model_for
from foreword.exchange import hugging_face
from foreword.exchange.hugging_face import LoadedFolder
from tests.labelled import base, tokenizer

FAMILIES = {"gpt2": "gpt2", "bert": "bert", "lstm": "gpt2"}  # and whose tokens each reads


def trunk(family: str, *settings: str) -> LoadedFolder:
    if family != "lstm":
        return base(family, *settings)
    torch.manual_seed(0)
    recipe = loader.load("lstm", "", ["network.width=16", *settings])
    return LoadedFolder(recipe, model_for(recipe, tokenizer("gpt2").vocabulary()), tokenizer("gpt2"))


def folder(family: str, path: Path, *settings: str) -> Path:
    made = trunk(family, *settings)
    hugging_face.write(path, made.recipe, made.model, made.tokenizer)
    return path
