"""Text files to a token store: learn a tokenizer if need be, then encode unit by unit.

Work happens in `<out>.partial`. The units depend on the text alone, so the store is the same however many workers there are.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from foreword.basics.files import read_json, write_array, write_atomically, write_json
from foreword.basics.messages import Fault, did_you_mean, thousands
from foreword.basics.progress import Ticker, say, ticking
from foreword.basics.shards import Workers
from foreword.basics.unfinished import Unfinished, settings_key
from foreword.text.corpus.summary import summaries
from foreword.text.reading import Unit, fingerprint, unit_size, units
from foreword.text.splits import FRACTIONS, Fractions, share, split_of
from foreword.tokens import marks as marking
from foreword.tokens import turns
from foreword.tokens.encode import UnitEncoder, UnitRecord, ids_dtype
from foreword.tokens.extension import extended
from foreword.tokens.kinds import TokenizerSpec
from foreword.tokens.store import FORMAT, PER_DOCUMENT, SPLITS, SplitContent, StoreContent, TokenStore, read_content
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.units import FILE as UNITS_FILE
from foreword.tokens.units import UnitsSpec

SMALL = 4 * 2**20  # bytes below which starting processes costs more than it saves,
EXTENSION = 32 * 2**20  # bytes of text that more pieces are learned from
QUICK = 8  # and so many times as many for a tokenizer that is quick (measured: even at 25 MB)
SAMPLE = 200 * 2**20  # bytes of text that a tokenizer is learned from
PHRASES = 16 * 2**20  # and phrases


def build_store(
    paths: Sequence[Path] | Mapping[str, Sequence[Path]],
    out: Path,
    tokenizer: Tokenizer | TokenizerSpec,
    documents: str = "auto",
    column: str = "text",
    fractions: Fractions = FRACTIONS,
    marks: Sequence[str] = marking.MARKS,
    workers: int | Workers | None = None,
    units: UnitsSpec | None = None,
) -> StoreContent:
    """Make the store `out` (or find it already made) and return the content of its store.json.

    Paths by split ("train", "valid", "test") go there whole; of others, `fractions` of the documents go to each.
    `workers`: processes (default: one to a core), or `Workers` of a cluster. `units`: words, phrases and entities to mark.
    """
    given = paths if isinstance(paths, Mapping) else {"": paths}
    plan = StorePlan(
        {split: tuple(map(Path, some)) for split, some in given.items()},
        documents,
        column,
        fractions,
        (
            *marks,
            *(units.marks if units else ()),
            *([turns.ANSWERS, turns.SKIPPED] if documents == "dialogues" else []),
        ),
        units,
    )
    marking.check(tuple(marks))
    plan.check(tokenizer)
    out, work = Path(out), plan.units()
    key = plan.key(work, tokenizer, SAMPLE)
    if out.exists():
        return _existing(out, key)
    who = workers if isinstance(workers, Workers) else Workers(workers)
    with who.start() as pool, Unfinished(out, key) as unfinished:
        ready = _tokenizer(unfinished.folder, tokenizer, work, plan.fractions, SAMPLE)
        sizes = [unit.size for unit in work]
        small = sum(sizes) < SMALL * (QUICK if ready.is_quick and units is None else 1) and not who.cluster
        if units is not None:
            _learn_units(unfinished.folder, units, ready, work, plan.fractions)
        encoder = UnitEncoder(unfinished.folder, plan.fractions, plan.marks)
        records = unfinished.map(pool, "encoding", encoder, list(enumerate(work)), sizes, here=small)
        splits = {split: _finish(unfinished.folder / split, split, records, len(ready)) for split in SPLITS}
        plan.check_splits(splits)
        content = plan.content(key, ready, records, splits)
        write_json(unfinished.folder / "store.json", content)
        os.rename(unfinished.folder, out)
        _tidy(out)
    return content


@dataclass(frozen=True)
class StorePlan:
    """What a store is made of, beside its tokenizer."""

    given: Mapping[str, tuple[Path, ...]]  # by split; "": to be split
    documents: str
    column: str
    fractions: Fractions
    marks: tuple[str, ...]
    masked: UnitsSpec | None = None  # units of masking to be marked

    @property
    def paths(self) -> list[Path]:
        return [path for some in self.given.values() for path in some]

    def units(self) -> list[Unit]:
        size = unit_size(self.paths)
        return [
            replace(unit, split=split)
            for split, some in self.given.items()
            for unit in units(some, self.documents, self.column, size)
        ]

    def key(self, work: list[Unit], tokenizer: Tokenizer | TokenizerSpec, sample: int) -> str:
        made_from = tokenizer.fingerprint if isinstance(tokenizer, Tokenizer) else [_settings_of(tokenizer), sample]
        settings = {
            "format": FORMAT,
            "sources": fingerprint(self.paths),
            "documents": self.documents,
            "column": self.column,
            "fractions": list(self.fractions),
            "marks": list(self.marks),
            "tokenizer": made_from,
            "units": [[unit.start, unit.stop] for unit in work],
        }
        if self.masked is not None:
            settings["masked"] = self.masked.content()
        if "" not in self.given:
            settings["given"] = {split: fingerprint(some) for split, some in self.given.items()}
        return settings_key(settings)

    def content(
        self, key: str, ready: Tokenizer, records: list[UnitRecord], splits: dict[str, SplitContent]
    ) -> StoreContent:
        content: StoreContent = {
            "format": FORMAT,
            "settings": key,
            "fractions": list(self.fractions),
            "marks": list(self.marks),
            "tokenizer": {
                "name": ready.name,
                "fingerprint": ready.fingerprint,
                "size": len(ready),
                "end": ready.vocabulary().end,
            },
            "dtype": "uint16" if ids_dtype(ready) == np.uint16 else "uint32",
            "documents": self.documents,
            "column": self.column,
            "sources": {"paths": [str(path) for path in self.paths], "fingerprint": fingerprint(self.paths)},
            "unknown": sum(record["unknown"] for record in records),
            "dropped": sum(record["dropped"] for record in records),
            "splits": splits,
        }
        if corpora := summaries(self.paths):
            content["corpora"] = corpora
        if "" not in self.given:
            content["given"] = {split: list(map(str, some)) for split, some in self.given.items()}
        return content

    def check(self, tokenizer: Tokenizer | TokenizerSpec) -> None:
        if invalid := [split for split in self.given if split and split not in SPLITS]:
            raise Fault(
                f"there is no split {invalid[0]!r}.{did_you_mean(invalid[0], SPLITS)}", f"Splits: {', '.join(SPLITS)}."
            )
        if not self.given:
            raise Fault("there is no text to make a store of.", "Give text, or text for --train, --valid and --test.")
        if "" not in self.given and "train" not in self.given and not isinstance(tokenizer, Tokenizer):
            raise Fault(
                f"a {tokenizer.kind} tokenizer is learned from training text, and there is none.",
                "Give --train, or the tokenizer of a run:  --tokenizer RUN",
            )
        if (
            len(self.fractions) != 3
            or min(self.fractions) < 0
            or self.fractions[0] <= 0
            or abs(sum(self.fractions) - 1) > 1e-6
        ):
            raise Fault(
                f"the fractions {self.fractions} (train, valid, test) must add up to 1, with some to train on.",
                "For example:  0.9 0.05 0.05",
            )

    def check_splits(self, splits: dict[str, SplitContent]) -> None:
        """No split that was asked for is empty."""
        number = sum(split["documents"] for split in splits.values())
        if not number:
            raise Fault("there is no text in the files given: every document in them is empty or white space.")
        if "" not in self.given:
            if without := [split for split in self.given if not splits[split]["documents"]]:
                raise Fault(f"there is no text in the files given for {' and '.join(without)}.")
            return
        empty = [
            name for name, fraction in zip(SPLITS, self.fractions) if fraction > 0 and not splits[name]["documents"]
        ]
        if empty:
            next_finer = {"line": "", "dialogues": "", "paragraph": "--documents line, or "}
            finer = next_finer.get(self.documents, "--documents paragraph, or ")
            raise Fault(
                f"documents: {number:,}; none fell into the {' and the '.join(empty)} split.",
                f"Cut the text into more documents ({finer}more text), or give other --splits.",
            )


def _settings_of(spec: TokenizerSpec) -> dict[str, object]:
    """What makes two tokenizers the same. A setting that is not used (None) is left out: stores older than it are found again."""
    return {name: value for name, value in spec.model_dump().items() if value is not None or name == "vocabulary"}


def _tidy(out: Path) -> None:
    """Remove what only unfinished work needs. After the rename: before it, a kill would leave nothing to go on from."""
    (out / "plan.json").unlink(missing_ok=True)
    shutil.rmtree(out / "done", ignore_errors=True)
    for leftover in [*out.glob("*/*.rows.npy"), *out.glob("*/*-*.counts.npy")]:
        leftover.unlink()


def _existing(out: Path, key: str) -> StoreContent:
    if out.is_dir() and (out / "store.json").is_file():
        content = read_content(out)
        if content.get("settings") == key:
            _tidy(out)  # it may have been killed before
            TokenStore.open(out)  # says so if a file is missing
            say(f"{out} is already there, made from the same files with the same settings: used as it is.")
            return content
        raise Fault(
            f"{out} is a token store made from other files or with other settings ({content['tokenizer']['name']}).",
            "Remove it, or give another --out.",
        )
    raise Fault(f"{out} is already there and is not a token store.", "Give another --out.")


def _tokenizer(
    folder: Path, given: Tokenizer | TokenizerSpec, work: list[Unit], fractions: Fractions, sample: int
) -> Tokenizer:
    """The tokenizer of the store, saved in its folder: the one given, the one learned before, or one learned now."""
    plan = read_json(folder / "plan.json")
    if "tokenizer" in plan:
        ready = Tokenizer.load(folder)
        if ready.fingerprint == plan["tokenizer"]:
            return ready
    ready = given if isinstance(given, Tokenizer) else _learn(given, work, fractions, sample)
    ready.save(folder)
    write_json(folder / "plan.json", {**plan, "tokenizer": ready.fingerprint})
    return ready


def _learn_units(folder: Path, spec: UnitsSpec, tokenizer: Tokenizer, work: list[Unit], fractions: Fractions) -> None:
    """What the units of masking are, learned from training text in the characters that the tokenizer reads."""
    if (folder / UNITS_FILE).is_file():
        return
    with ticking("learning words and phrases") as ticker:
        spec.learn([tokenizer.converted(text) for text in _sample(work, fractions, PHRASES, ticker)]).save(folder)


def learn_tokenizer(
    paths: Sequence[Path],
    spec: TokenizerSpec,
    documents: str = "auto",
    column: str = "text",
    fractions: Fractions = FRACTIONS,
    sample: int = SAMPLE,
) -> Tokenizer:
    """A tokenizer learned from the training text of all these files together, without a store."""
    return _learn(spec, units(list(paths), documents, column, 32 * 2**20), fractions, sample)


def extend_tokenizer(
    tokenizer: Tokenizer,
    pieces: int,
    paths: Sequence[Path],
    documents: str = "auto",
    column: str = "text",
    fractions: Fractions = FRACTIONS,
) -> Tokenizer:
    """The same tokenizer with more pieces, learned from the training text of all these files."""
    with ticking(f"learning {pieces:,} more pieces") as ticker:
        work = units(list(paths), documents, column, 32 * 2**20)
        return extended(tokenizer, _sample(work, fractions, EXTENSION, ticker), pieces)


def _learn(spec: TokenizerSpec, work: list[Unit], fractions: Fractions, sample: int) -> Tokenizer:
    with ticking(f"learning the {spec.kind} tokenizer") as ticker:
        return spec.learn(_sample(work, fractions, sample, ticker))


def _sample(work: list[Unit], fractions: Fractions, sample: int, ticker: Ticker) -> Iterator[str]:
    """Training documents of about `sample` bytes, chosen by their content from units spread over the whole corpus."""
    total = sum(unit.size for unit in work)
    # of a corpus much larger than the sample, only every so many units are read at all
    chosen = work[:: max(1, total // (4 * sample))]
    total = max(1, sum(unit.size for unit in chosen))
    read = taken = 0
    for unit in chosen:
        for document in unit.documents():
            if (unit.split or split_of(document.text, fractions)) != "train" or share(
                document.text, "sample"
            ) >= sample / total:
                continue
            taken += len(document.text.encode("utf-8", "surrogatepass"))
            if taken > sample:
                return
            yield document.text
        read += unit.size
        ticker.update(read / total, f"{thousands(taken)}B of text")


def _finish(folder: Path, split: str, records: list[UnitRecord], vocabulary: int) -> SplitContent:
    """Join what was noted per shard (sizes of documents, counts of ids) into one file each."""
    shards = [shard for record in records for shard in record["splits"][split]]
    documents = sum(shard["documents"] for shard in shards)
    folder.mkdir(exist_ok=True)
    for column, what in enumerate(PER_DOCUMENT):

        def write(partial: Path, column: int = column, what: str = what) -> None:
            if not documents:
                np.save(partial.open("wb"), np.zeros(0, np.int64))
                return
            joined = np.lib.format.open_memmap(partial, mode="w+", dtype=np.int64, shape=(documents,))
            at = before = 0
            for shard in shards:
                rows = np.load(folder / f"{shard['name']}.rows.npy", mmap_mode="r")[:, column]
                joined[at : at + len(rows)] = rows + (before if what == "ends" else 0)
                at, before = at + len(rows), before + shard["tokens"]
            joined.flush()

        write_atomically(folder / f"{what}.npy", write)
    counts = np.zeros(vocabulary, np.int64)
    for shard in shards:
        counts += np.load(folder / f"{shard['name']}.counts.npy")
    write_array(folder / "counts.npy", counts)
    return {
        "tokens": sum(shard["tokens"] for shard in shards),
        "documents": documents,
        "bytes": sum(shard["bytes"] for shard in shards),
        "shards": shards,
        "lost": sum(record.get("lost", {}).get(split, 0) for record in records),
    }
