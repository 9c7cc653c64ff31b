"""Several stores as one, each with its share of the tokens: which source row n comes from is a pure function of n."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.seeds import chance, number_of
from foreword.batches.cuts import Cut, Cutter
from foreword.batches.row import Row
from foreword.tokens.store import TokenStore
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.vocabulary import Vocabulary

BLOCK = 1024  # rows in which every source has its share, in a random order for each block
WHOLE = 2**40  # shares are counted in parts of this: whole numbers, so that no rounding adds up over a long run


@dataclass(frozen=True)
class MixtureSource:
    """A store that is one part of a mixture. `weight`: how much of it is read, beside the weights of the others."""

    name: str
    folder: Path
    weight: float


class Mixture:
    """One split of several stores, with their shares of the tokens that are read."""

    def __init__(self, names: Sequence[str], weights: Sequence[float], stores: Sequence[TokenStore]):
        total = sum(weights)
        if min(weights) <= 0 or not np.isfinite(total):
            raise Fault(f"the weights of a mixture must be numbers above 0 (they are {', '.join(map(str, weights))}).")
        self.names, self.stores = list(names), list(stores)
        self.weights = [weight / total for weight in weights]
        self.folder, self.split = " + ".join(str(store.folder) for store in stores), stores[0].split
        self.tokens = sum(store.tokens for store in stores)
        self.documents = sum(store.documents for store in stores)

    @staticmethod
    def open(sources: Sequence[MixtureSource], split: str) -> Mixture:
        stores = [TokenStore.open(source.folder, split) for source in sources]
        if len({store.fingerprint for store in stores}) > 1:
            made = "; ".join(
                f"{store.folder} with {store.content['tokenizer']['name']} ({store.fingerprint[:8]})"
                for store in stores
            )
            raise Fault(
                f"stores that are mixed must share a tokenizer. They were made: {made}.",
                f"Make the others like the first:  foreword tokens TEXT --tokenizer {stores[0].folder} --out STORE",
            )
        return Mixture([source.name for source in sources], [source.weight for source in sources], stores)

    @property
    def total_bytes(self) -> int:
        return sum(store.total_bytes for store in self.stores)

    @property
    def tokenizer(self) -> Tokenizer:
        return self.stores[0].tokenizer

    def vocabulary(self) -> Vocabulary:
        """The tokenizer's, with how often each id occurs in all stores together."""
        counts = np.sum([store.counts for store in self.stores], 0)
        return replace(self.tokenizer.vocabulary(), counts=counts, documents=self.documents)

    @cached_property
    def data(self) -> str:
        """The fingerprint of the content: equal when the ids of every source and its share are equal."""
        parts = [f"{store.data}:{weight!r}" for store, weight in zip(self.stores, self.weights)]
        return hashlib.blake2b("|".join(parts).encode(), digest_size=16).hexdigest()

    def __str__(self) -> str:
        shares = (f"{share:.1%} {name}" for name, share in zip(self.names, self.weights))
        return f"a mixture: of the tokens read, {', '.join(shares)}"

    def mean(self, values: dict[str, dict[str, float]]) -> dict[str, float]:
        """The mean of what was measured on each source, by their shares; a source without a value has none in it."""
        shares = {name: weight for name, weight in zip(self.names, self.weights) if values.get(name)}
        heads = dict.fromkeys(head for name in shares for head in values[name])
        return {
            head: sum(share * values[name][head] for name, share in shares.items()) / sum(shares.values())
            for head in heads
        }

    def over(self, cut: Cut, batch_size: int, seed: int) -> MixtureCutter:
        if cut.carries:
            raise Fault(
                f"rows cut into {getattr(cut, 'kind', 'lanes')!r} go on from batch to batch: they cannot be mixed.",
                "Give one store, or another cut: --set batches.kind=windows.",
            )
        if cut.fills:
            raise Fault(
                f"batches of {getattr(cut, 'kind', 'rows')!r} are filled by tokens, not by rows: they cannot be mixed.",
                "Give one store, or another cut: --set batches.kind=full_sentences.",
            )
        if not cut.mixes:
            raise Fault(
                f"{getattr(cut, 'kind', 'its rows')!r} are counted over one text: stores cannot be mixed.",
                "Make one store of all text:  foreword tokens TEXT MORE-TEXT --out STORE",
            )
        if cut.whole_batches:
            raise Fault(
                f"batches of {getattr(cut, 'kind', '')!r} are each of one task: stores cannot be mixed in them.",
                "Give one store, made of all the text:  foreword tokens TEXT TEXT --out STORE",
            )
        cutters = [cut.over(store, 1, number_of("source", seed, at)) for at, store in enumerate(self.stores)]
        # a source of short rows gives more of them, so that its share of the tokens is what was asked for
        each = [store.tokens / cutter.epoch if cut.ragged else 1.0 for store, cutter in zip(self.stores, cutters)]
        shares = [weight / tokens for weight, tokens in zip(self.weights, each)]
        documents = [store.documents for store in self.stores]
        return MixtureCutter(cutters, shares, batch_size, seed, documents, repeats=getattr(cut, "copies", 0) > 0)


Data = TokenStore | Mixture


def stores_of(data: Data) -> list[TokenStore]:
    return data.stores if isinstance(data, Mixture) else [data]


def open_data(data: Path | Sequence[MixtureSource], split: str) -> Data:
    return TokenStore.open(Path(data), split) if isinstance(data, str | Path) else Mixture.open(data, split)


def open_if_there(data: Path | Sequence[MixtureSource], split: str) -> Data | None:
    """None if a store, or one of several, has no text in this split."""
    folders = [Path(data)] if isinstance(data, str | Path) else [source.folder for source in data]
    return open_data(data, split) if all(TokenStore.has(folder, split) for folder in folders) else None


def cutter_over(data: Data, cut: Cut, batch_size: int, seed: int) -> Cutter:
    return data.over(cut, batch_size, seed) if isinstance(data, Mixture) else cut.over(data, batch_size, seed)


class MixtureCutter:
    """Rows of several cutters. Every source's own rows come in their own order, epoch after epoch."""

    def __init__(
        self,
        cutters: Sequence[Cutter],
        shares: Sequence[float],
        batch_size: int,
        seed: int,
        documents: Sequence[int] = (),
        repeats: bool = False,
    ):
        self.cutters, self.batch_size, self.seed = list(cutters), batch_size, seed
        self.repeats = repeats  # a row comes again as it was: its chance is its source's, not this run's
        self.first = [0, *np.cumsum(documents).tolist()]  # the documents of a source are numbered after those before it
        self.counts = [cutter.epoch for cutter in cutters]  # rows in an epoch of each: their batches are one row
        self.epoch = sum(self.counts) / batch_size  # as many rows as all sources have together
        left = np.cumsum(shares[::-1])[::-1]
        self.splits = [
            round(WHOLE * share / rest) for share, rest in zip(shares, left)
        ]  # of what the sources before leave
        self.block = lru_cache(maxsize=8)(self._block)

    def rows(self, step: int, first: int, stop: int) -> list[Row]:
        start, stop = step * self.batch_size + first, step * self.batch_size + stop
        owners = self.owners(start, stop)
        taken = self.drawn(start)
        each = [
            iter(cutter.rows(0, before, before + int((owners == source).sum())))
            for source, (cutter, before) in enumerate(zip(self.cutters, taken))
        ]
        found = []
        for at, owner in enumerate(owners.tolist()):
            row = next(each[owner])
            document = None if row.document is None else row.document + self.first[owner]
            new = {} if self.repeats else {"number": start + at, "seed": self.seed}
            found.append(replace(row, document=document, **new))
        return found

    def owners(self, start: int, stop: int) -> np.ndarray:
        """Which source each of these rows of the run comes from."""
        blocks = [self.block(number) for number in range(start // BLOCK, -(-stop // BLOCK))]
        return np.concatenate([*blocks, np.empty(0, np.int64)])[start % BLOCK : start % BLOCK + stop - start]

    def drawn(self, rows: int) -> list[int]:
        """How many of the first `rows` rows of the run came from each source."""
        inside = self.block(rows // BLOCK)[: rows % BLOCK]
        return [whole + int((inside == source).sum()) for source, whole in enumerate(self._whole(rows // BLOCK))]

    def epochs(self, rows: int) -> list[float]:
        """How often each source has been read after so many rows of the run."""
        return [taken / count for taken, count in zip(self.drawn(rows), self.counts)]

    def _block(self, number: int) -> np.ndarray:
        before, after = self._whole(number), self._whole(number + 1)
        owners = np.repeat(np.arange(len(self.cutters)), [b - a for a, b in zip(before, after)])
        return chance(number_of("mixture", self.seed), number).permutation(owners)

    def _whole(self, blocks: int) -> list[int]:
        """How many rows of so many blocks each source has: never more than a few away from its share, however many blocks."""
        left, found = blocks * BLOCK, []
        for split in self.splits:
            found.append(left * split // WHOLE)  # neither this nor what it leaves ever falls as blocks are added
            left -= found[-1]
        return found
