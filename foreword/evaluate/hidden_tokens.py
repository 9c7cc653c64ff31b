"""Hidden tokens: what guessing the same hidden tokens of the same held-out text costs models that read both ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance, number_of
from foreword.batches.by_length import by_length
from foreword.evaluate.bits_per_byte import TokenizedText
from foreword.evaluate.held_out import Corpus
from foreword.networks.base import Inputs
from foreword.objectives.base import NOTHING
from foreword.objectives.layout import padded, real
from foreword.objectives.masked import Masked, ordinary_ids
from foreword.report import Report, Section, Table, Text
from foreword.runs.opening import TrainedModel
from foreword.tasks.confidence import bootstrap
from foreword.tokens.tokenizer import Tokenizer

MOST = 200_000  # tokens of text that are read, by default


@dataclass(frozen=True)
class MaskedRow:
    document: int
    shown: np.ndarray
    targets: np.ndarray


def hidden_rows(texts: Sequence[TokenizedText], tokenizer: Tokenizer, length: int, rate: float) -> Iterator[MaskedRow]:
    """Pieces of documents, so many tokens with their specials, of which this share is shown as [mask], the same every time."""
    masks, ordinary = Masked(rate=rate, hidden=1.0, random=0.0), ordinary_ids(tokenizer)
    first, last = [tokenizer.special("[cls]")], [tokenizer.special("[separator]")]
    for number, text in enumerate(texts):
        for at in range(0, len(text.ids), length - 2):
            ids = np.concatenate([first, text.ids[at : at + length - 2], last]).astype(np.int64)
            draw = chance(number_of("hidden"), number, at)
            yield MaskedRow(number, *masks.hide(ids, tokenizer.special("[mask]"), ordinary, draw))


@torch.inference_mode()
def judged(model: TrainedModel, rows: Sequence[MaskedRow], documents: int) -> np.ndarray:
    """[documents, 3]: nats, right guesses and all guesses."""
    found, network, head = np.zeros((documents, 3)), model.with_heads.network, model.with_heads.heads["tokens"]
    before, pad = model.recipe.objective.guessed_before, 0
    for some in by_length([len(row.shown) for row in rows]):
        ids, there = padded([rows[i].shown for i in some], pad), real([rows[i].shown for i in some])
        targets = padded([rows[i].targets for i in some], NOTHING)
        guessed = targets != NOTHING
        places = torch.roll(guessed, -before, 1)  # position 0 is special, and never guessed
        hidden, wanted = network(Inputs(ids, there)).last[places], targets[guessed]
        nats = torch.cat([head.nll(h, t) for h, t in zip(hidden.split(1024), wanted.split(1024))])
        right = torch.cat([head.log_probs(h).argmax(-1) for h in hidden.split(1024)]) == wanted
        owner = np.repeat([rows[i].document for i in some], guessed.sum(1).numpy())
        np.add.at(found, owner, np.stack([nats.double().numpy(), right.numpy(), np.ones(len(owner))], 1))
    return found


def nats_per_hidden_token(model: TrainedModel, corpus: Corpus, length: int, rate: float) -> float:
    """What a hidden token costs a model: the same tokens for every model with this tokenizer that reads rows so long."""
    texts = list(corpus.texts(model.tokenizer, model.name))
    nats, _, guesses = judged(model, list(hidden_rows(texts, model.tokenizer, length, rate)), len(texts)).sum(0)
    return float(nats / guesses)


def report(models: Mapping[str, TrainedModel], corpus: Corpus, rate: float, most: int = MOST) -> Report:
    """Every model on the same hidden tokens; how far each is from the first, in pairs."""
    names = list(models)
    for one in models.values():
        one.need("fill")
    tokenizer = models[names[0]].tokenizer
    if other := next((n for n in names if models[n].tokenizer.fingerprint != tokenizer.fingerprint), None):
        raise Fault(
            f"{names[0]} and {other} have different tokens: what is hidden from one is not hidden from the other.",
            "Pseudo-likelihoods per byte compare them:  foreword evaluate",
        )
    contexts = [model.with_heads.network.context or 512 for model in models.values()]
    texts, read = [], 0
    for text in corpus.texts(tokenizer, names[0]):
        texts.append(text)
        read += len(text.ids)
        if read >= most:
            break
    rows = list(hidden_rows(texts, tokenizer, min(contexts), rate))
    each = {name: judged(model, rows, len(texts)) for name, model in models.items()}
    table: list[tuple[str, ...]] = [("model", "nats", "95%", "right", "beside the first", "95%")]
    values: dict[str, object] = {}
    for name, mine in each.items():
        nats, right, guesses = mine.sum(0)
        low, high = bootstrap(mine, lambda sums, _: sums[:, 0] / sums[:, 2])
        apart = np.stack([mine[:, 0], each[names[0]][:, 0]], 1)
        change = apart.sum(0)[0] / apart.sum(0)[1] - 1
        least, largest = bootstrap(apart, lambda sums, _: sums[:, 0] / sums[:, 1] - 1)
        beside = ("", "") if name == names[0] else (f"{change:+.1%}", f"{least:+.1%} to {largest:+.1%}")
        table.append((name, f"{nats / guesses:.4f}", f"{low:.4f} to {high:.4f}", f"{right / guesses:.1%}", *beside))
        values[name] = {"nats": nats / guesses, "interval": [low, high], "right": right / guesses}
        values[name] |= {"change": change, "change_interval": [least, largest]}  # type: ignore[operator]
    about = (
        f"{int(next(iter(each.values()))[:, 2].sum()):,} tokens of {len(texts):,} documents, {rate:.0%} of each row of at most "
        f"{min(contexts)}, all shown as {tokenizer.specials['[mask]']}; intervals over documents."
    )
    return Report(
        f"Hidden tokens of {corpus.name}", [], [Section("Nats per hidden token", Table(table), Text([about]))], values
    )
