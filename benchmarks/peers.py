"""Others' ways to take a training step, each as plain as its users write it, and as its authors' best advice has it."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.race import Work
from benchmarks.shapes import RATE, Shape, batch_for
from foreword.objectives.base import NOTHING

IGNORED = -100  # what transformers calls a target that is not charged


def there(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


class PlainBlock(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, positions, width = x.shape
        parts = self.project(self.first(x)).split(width, dim=2)
        query, key, value = (part.view(batch, positions, self.heads, -1).transpose(1, 2) for part in parts)
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, positions, width))
        return x + self.outer(F.gelu(self.inner(self.second(x)), approximate="tanh"))


class PlainGPT(nn.Module):
    """GPT-2 as nanoGPT writes it: all logits at once, and the loss inside the model."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.positions = nn.Embedding(shape.positions, shape.width)
        self.blocks = nn.ModuleList(PlainBlock(shape.width, shape.heads) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)
        self.head = nn.Linear(shape.width, shape.vocabulary, bias=False)
        for part in self.modules():
            if isinstance(part, (nn.Linear, nn.Embedding)):
                nn.init.normal_(part.weight, 0.0, 0.02)
        self.head.weight = self.tokens.weight

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.positions(torch.arange(ids.size(1), device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class WithLoss(nn.Module):
    """A model and its loss in one module, so that one call compiles both."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(self.model(ids).flatten(0, 1), targets.flatten())


def nanogpt(shape: Shape, best: bool) -> Work:
    """nanoGPT's step; its best is compiled, with the fused optimizer."""
    torch.manual_seed(0)
    batch = batch_for(shape)
    ids, targets = batch.inputs.ids, batch.targets["tokens"]
    model = WithLoss(PlainGPT(shape)).train()
    call: Any = torch.compile(model) if best else model
    return training_step(model, lambda: call(ids, targets), best)


def hugging_face(shape: Shape, best: bool) -> Work:
    """A step of the class in transformers; its best is compiled, with the fused optimizer."""
    torch.manual_seed(0)
    model, given = hugging_face_model(shape).train(), hugging_face_batch(shape)
    call: Any = torch.compile(model) if best else model
    return training_step(model, lambda: call(**given).loss, best)


def hugging_face_model(shape: Shape, positions: int | None = None) -> Any:
    """Random weights in their class for this shape, without dropout."""
    import transformers

    if shape.recipe == "bert":
        return transformers.BertForMaskedLM(
            transformers.BertConfig(
                vocab_size=shape.vocabulary,
                num_hidden_layers=shape.layers,
                hidden_size=shape.width,
                num_attention_heads=shape.heads,
                intermediate_size=4 * shape.width,
                max_position_embeddings=positions or shape.positions,
                hidden_dropout_prob=0.0,
                attention_probs_dropout_prob=0.0,
            )
        )
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=shape.vocabulary,
            n_layer=shape.layers,
            n_embd=shape.width,
            n_head=shape.heads,
            n_positions=positions or shape.positions,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            use_cache=False,
            bos_token_id=0,
            eos_token_id=0,
        )
    )


def hugging_face_batch(shape: Shape) -> dict[str, Tensor]:
    """The same ids. Their causal class shifts the targets itself, and so leaves out the last guess of every row."""
    batch = batch_for(shape)
    ids, targets = batch.inputs.ids, batch.targets["tokens"]
    if shape.recipe == "bert":
        return {"input_ids": ids, "labels": targets.masked_fill(targets == NOTHING, IGNORED)}
    return {"input_ids": ids, "labels": ids}


def training_step(model: nn.Module, loss: Callable[[], Tensor], fused: bool) -> Work:
    """Forward, backward, clip, update."""
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=RATE, fused=True if fused else None)

    def step() -> Tensor:
        value = loss()
        value.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return value.detach()

    return step
