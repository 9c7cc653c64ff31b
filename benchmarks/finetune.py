"""A step of fine-tuning, dropout and padding included, beside `transformers`: answers in paragraphs, and classes of sentences.

The network is as wide and deep as all-MiniLM-L6-v2, with weights drawn at random; both learn from the very same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any, cast

import torch

from benchmarks import limits, peers
from benchmarks.race import Times, Work, race
from benchmarks.shapes import RATE
from foreword.assembly import loader
from foreword.assembly.build import model_for
from foreword.basics.progress import say
from foreword.networks.base import Inputs, Model
from foreword.objectives.examples import ExampleBatch
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.vocabulary import Vocabulary
from foreword.training.gradient import GradientLearner, GradientTraining
from foreword.training.hardware import Hardware

LAYERS, WIDTH, HEADS, VOCABULARY, CONTEXT, DROPOUT = 6, 384, 12, 30522, 512, 0.1
GOAL = 1.2  # times an eager peer, as for pretraining


@dataclass(frozen=True)
class Rows:
    """How many, how long, and what is asked of them."""

    task: str
    batch: int
    longest: int
    shortest: int

    def __str__(self) -> str:
        return f"{self.task}: {self.batch} rows of {self.shortest} to {self.longest} tokens"

    def lengths(self) -> torch.Tensor:
        return torch.linspace(self.shortest, self.longest, self.batch).round().long()

    def made(self) -> ExampleBatch:
        draw = torch.Generator().manual_seed(0)
        ids = torch.randint(VOCABULARY, (self.batch, self.longest), generator=draw)
        there = torch.arange(self.longest) < self.lengths()[:, None]
        places = torch.randint(self.shortest, (self.batch, 2), generator=draw).sort(1).values
        targets = {"span": places} if self.task == "span" else {"classify": places[:, 0] % 2}
        return ExampleBatch(
            Inputs(ids, there, torch.zeros_like(ids)),
            targets,
            there=there,
            counts=(1,) * self.batch,
            units={self.task: "sequence" if self.task == "span" else "example"},
        )


ROWS = (Rows("span", 8, 190, 160), Rows("span", 32, 190, 160), Rows("span", 8, 384, 330), Rows("classify", 32, 48, 40))


def ours(rows: Rows) -> tuple[Work, Model]:
    """A step of the learner that `foreword finetune` uses."""
    labels = "" if rows.task == "span" else ', labels = ["no", "yes"]'
    recipe = loader.load(
        "bert",
        "",
        [
            f"network.layers={LAYERS}",
            f"network.width={WIDTH}",
            f"network.heads={HEADS}",
            f"network.context={CONTEXT}",
            f"tokenizer.vocabulary={VOCABULARY}",
            f'objective={{ kind = "{rows.task}"{labels} }}',
            f"training.optimizer.learning_rate={RATE}",
            'training.schedule={ kind = "constant" }',
            'batches={ kind = "examples" }',
            f"training.batch_size={rows.batch}",
        ],
    )
    torch.manual_seed(0)
    model, batch, number = model_for(recipe, Vocabulary(VOCABULARY, -1, ())), rows.made(), count()
    learner = GradientLearner(
        cast(GradientTraining, recipe.training), model, recipe.objective, cast(Tokenizer, None), Hardware()
    )
    return lambda: learner.step(batch, next(number), 0.0), model


def theirs(rows: Rows, best: bool) -> tuple[Work, Any]:
    """A step of their class for the task; its best is compiled, with the fused optimizer."""
    import transformers

    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=VOCABULARY,
        num_hidden_layers=LAYERS,
        hidden_size=WIDTH,
        num_attention_heads=HEADS,
        intermediate_size=4 * WIDTH,
        max_position_embeddings=CONTEXT,
        hidden_dropout_prob=DROPOUT,
        attention_probs_dropout_prob=DROPOUT,
    )
    batch = rows.made()
    given = {
        "input_ids": batch.inputs.ids,
        "attention_mask": batch.there.long(),
        "token_type_ids": batch.inputs.segments,
    }
    if rows.task == "span":
        model: Any = transformers.BertForQuestionAnswering(config)
        given |= {"start_positions": batch.targets["span"][:, 0], "end_positions": batch.targets["span"][:, 1]}
    else:
        model = transformers.BertForSequenceClassification(config)
        given |= {"labels": batch.targets["classify"]}
    call: Any = torch.compile(model.train()) if best else model.train()
    return peers.training_step(model, lambda: call(**given).loss, best), model


def measure(rows: Rows, rounds: int = 5, seconds: float = 1.0, compiled: bool = True) -> dict[str, Any]:
    say(f"bench finetune, {rows}")
    torch.compiler.reset()
    step, model = ours(rows)
    product, operations = limits.matrix_product()
    works = {"ours": step, "transformers, eager": theirs(rows, False)[0]}
    if compiled:
        works["transformers, compiled, fused AdamW"] = theirs(rows, True)[0]
    times = race({**works, "matrix product": product}, rounds, seconds)
    peak = operations / times.pop("matrix product").best
    tables = sum(part.weight.numel() for part in model.modules() if isinstance(part, torch.nn.Embedding))
    cost = 6 * (model.parameter_count() - tables) + 12 * LAYERS * WIDTH * rows.longest
    return {"times": times, "tokens": int(rows.lengths().sum()), "peak": peak, "cost": cost}


def lines(rows: Rows, found: dict[str, Any]) -> list[str]:
    times: dict[str, Times] = found["times"]
    text = [f"{rows}; matrix product {found['peak'] / 1e9:.0f} GFLOPS with {torch.get_num_threads()} threads"]
    text += [
        f"  {name:36} {found['tokens'] / one.best:>7,.0f} tokens/s best {found['tokens'] / one.median:>7,.0f} median   MFU "
        f"{found['tokens'] / one.best * found['cost'] / found['peak']:.2f} best"
        for name, one in times.items()
    ]
    mine = times["ours"]
    return text + [
        f"  ours / {name:29} {one.best / mine.best:.2f}x best {one.median / mine.median:.2f}x median"
        + (f" (goal: {GOAL}x)" if "eager" in name else "")
        for name, one in times.items()
        if name != "ours"
    ]


def report() -> str:
    head = f"BERT, {LAYERS} layers x {WIDTH}, {HEADS} heads, vocabulary {VOCABULARY:,}, dropout {DROPOUT}; padding is not counted"
    return "\n".join([head, *(line for rows in ROWS for line in lines(rows, measure(rows)))])


if __name__ == "__main__":
    print(report())
