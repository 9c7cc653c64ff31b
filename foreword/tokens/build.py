"""Text files to a token store: learn a tokenizer if need be, then encode unit by unit, here and in worker processes.

Work happens in `<out>.partial`; a record per finished unit lets the same command go on after a kill, and the units do
not depend on the number of workers, so neither does the store.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict

import numpy as np

from foreword.basics.cores import cores
from foreword.basics.files import read_json, write_atomically, write_json
from foreword.basics.messages import Fault, Faults, RunFailed, did_you_mean, thousands
from foreword.basics.processes import process_pool
from foreword.basics.progress import Ticker, say, ticking
from foreword.text.document import Document
from foreword.text.reading import Unit, fingerprint, total_bytes, units
from foreword.text.splits import FRACTIONS, share, split_of
from foreword.tokens import marks as marking
from foreword.tokens import turns
from foreword.tokens.kinds import TokenizerSpec
from foreword.tokens.page import Page
from foreword.tokens.quick import flat
from foreword.tokens.store import (
    FORMAT,
    PER_DOCUMENT,
    SPLITS,
    Shard,
    SplitContent,
    StoreContent,
    TokenStore,
    read_content,
)
from foreword.tokens.tokenizer import Tokenizer

SMALL = 4 * 2**20  # bytes below which starting processes costs more than it saves,
QUICK = 8  # and so many times as many for a tokenizer that is quick (measured: even at 25 MB)
BATCH = 2**20  # characters handed to the tokenizer at once
SHARD = 2**20  # ids a worker holds before it writes them: its memory must not depend on how long a unit is
Fractions = tuple[float, float, float]


@dataclass(frozen=True)
class EncodingJob:
    """What a worker needs to know to encode any unit."""

    folder: Path
    fractions: Fractions
    marks: tuple[str, ...]


class UnitRecord(TypedDict):
    """What is noted of an encoded unit."""

    unknown: int
    dropped: int  # characters that an ASCII tokenizer leaves out
    lost: dict[str, int]  # by split: documents of which the ids do not hold every word
    splits: dict[str, list[Shard]]


def build_store(
    paths: Sequence[Path] | Mapping[str, Sequence[Path]],
    out: Path,
    tokenizer: Tokenizer | TokenizerSpec,
    documents: str = "auto",
    column: str = "text",
    fractions: Fractions = FRACTIONS,
    marks: Sequence[str] = marking.MARKS,
    workers: int | None = None,
    sample: int = 200 * 2**20,
) -> StoreContent:
    """Make the store `out` (or find it already made) and return the content of its store.json.

    Paths by split ("train", "valid", "test") go there whole; of others, `fractions` of the documents go to each.
    """
    by_split = paths if isinstance(paths, Mapping) else {"": paths}
    given = {split: [Path(path) for path in some] for split, some in by_split.items()}
    paths, out, marks = [path for some in given.values() for path in some], Path(out), tuple(marks)
    marking.check(marks)
    _check_given(given, tokenizer)
    marks += (turns.SKIPPED,) if documents == "dialogues" else ()
    if len(fractions) != 3 or min(fractions) < 0 or abs(sum(fractions) - 1) > 1e-6 or fractions[0] <= 0:
        raise Fault(
            f"the fractions {tuple(fractions)} (train, valid, test) must add up to 1, with some to train on.",
            "For example:  0.9 0.05 0.05",
        )
    # sixteen units or more, so that all cores have work, whatever their number: the store must not depend on it
    size = min(max(total_bytes(paths) // 16, 2**20), 32 * 2**20)
    work = [
        replace(unit, split=split) for split, some in given.items() for unit in units(some, documents, column, size)
    ]
    made_from = tokenizer.fingerprint if isinstance(tokenizer, Tokenizer) else [_settings_of(tokenizer), sample]
    settings = {
        "format": FORMAT,
        "sources": fingerprint(paths),
        "documents": documents,
        "column": column,
        "fractions": list(fractions),
        "marks": list(marks),
        "tokenizer": made_from,
        "units": [[unit.start, unit.stop] for unit in work],
        **({} if "" in given else {"given": {split: fingerprint(some) for split, some in given.items()}}),
    }
    key = hashlib.blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=16).hexdigest()
    if out.exists():
        return _existing(out, key)
    folder = out.with_name(f"{out.name}.partial")
    with _alone_in(folder, key):
        ready = _tokenizer(folder, tokenizer, work, fractions, sample)
        job = EncodingJob(folder, fractions, marks)
        records = _encode_all(job, work, workers, SMALL * (QUICK if ready.is_quick else 1))
        content: StoreContent = {
            "format": FORMAT,
            "settings": key,
            "fractions": list(fractions),
            "marks": list(marks),
            "tokenizer": {
                "name": ready.name,
                "fingerprint": ready.fingerprint,
                "size": len(ready),
                "end": ready.vocabulary().end,
            },
            "dtype": _dtype(ready).name,
            "documents": documents,
            "column": column,
            "sources": {"paths": [str(path) for path in paths], "fingerprint": fingerprint(paths)},
            "unknown": sum(record["unknown"] for record in records),
            "dropped": sum(record["dropped"] for record in records),
            "splits": {split: _finish(job, split, records, len(ready)) for split in SPLITS},
        }
        if "" not in given:
            content["given"] = {split: list(map(str, some)) for split, some in given.items()}
        _no_empty_split(content["splits"], given, fractions, documents)
        write_json(folder / "store.json", content)
        os.rename(folder, out)
        _tidy(out)
    return content


def _settings_of(spec: TokenizerSpec) -> dict[str, object]:
    """What makes two tokenizers the same. A setting that is not used (None) is left out: stores older than it are found again."""
    return {name: value for name, value in spec.model_dump().items() if value is not None or name == "vocabulary"}


def _check_given(given: Mapping[str, Sequence[Path]], tokenizer: Tokenizer | TokenizerSpec) -> None:
    if strange := [split for split in given if split and split not in SPLITS]:
        raise Fault(
            f"there is no split {strange[0]!r}.{did_you_mean(strange[0], SPLITS)}", f"Splits: {', '.join(SPLITS)}."
        )
    if not given:
        raise Fault("there is no text to make a store of.", "Give text, or text for --train, --valid and --test.")
    if "" not in given and "train" not in given and not isinstance(tokenizer, Tokenizer):
        raise Fault(
            f"a {tokenizer.kind} tokenizer is learned from training text, and there is none.",
            "Give --train, or the tokenizer of a run:  --tokenizer RUN",
        )


def _tidy(out: Path) -> None:
    """Remove what only unfinished work needs. After the rename: before it, a kill would leave nothing to go on from."""
    (out / "plan.json").unlink()
    shutil.rmtree(out / "done")
    for scrap in [*out.glob("*/*.rows.npy"), *out.glob("*/*-*.counts.npy")]:
        scrap.unlink()


def _existing(out: Path, key: str) -> StoreContent:
    if out.is_dir() and (out / "store.json").is_file():
        content = read_content(out)
        if content.get("settings") == key:
            TokenStore.open(out)  # says so if a file is missing
            say(f"{out} is already there, made from the same files with the same settings: used as it is.")
            return content
        raise Fault(
            f"{out} is a token store made from other files or with other settings ({content['tokenizer']['name']}).",
            "Remove it, or give another --out.",
        )
    raise Fault(f"{out} is already there and is not a token store.", "Give another --out.")


class _alone_in:
    """The folder of unfinished work, kept if it is for the same settings, and held by one process at a time."""

    def __init__(self, folder: Path, key: str):
        self.folder, self.key, self.handle = folder, key, -1

    def __enter__(self) -> None:
        plan = self.folder / "plan.json"
        same = plan.is_file() and read_json(plan).get("settings") == self.key
        self.folder.mkdir(parents=True, exist_ok=True)
        self._hold()
        if not same:
            for inside in self.folder.iterdir():
                shutil.rmtree(inside) if inside.is_dir() else inside.unlink()
            write_json(plan, {"settings": self.key})
        for half_written in self.folder.rglob(".*.partial"):
            half_written.unlink()
        done = len(list(self.folder.glob("done/*.json")))
        if done:
            say(f"{self.folder}: {done} finished part{'s' if done > 1 else ''} found; going on from there.")

    def _hold(self) -> None:
        try:
            import fcntl
        except ImportError:  # not on Windows
            return
        self.handle = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self.handle)
            raise Fault(
                f"another process is making {self.folder} now.", "Wait for it, or give another --out."
            ) from error

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Fault) and not isinstance(error, RunFailed):
            shutil.rmtree(self.folder)  # once the text or the settings are put right, it is of no use
        if self.handle >= 0:
            os.close(self.handle)


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


def learn_tokenizer(
    paths: Sequence[Path],
    spec: TokenizerSpec,
    documents: str = "auto",
    column: str = "text",
    fractions: Fractions = FRACTIONS,
    sample: int = 200 * 2**20,
) -> Tokenizer:
    """A tokenizer learned from the training text of all these files together, without a store."""
    return _learn(spec, units(list(paths), documents, column, 32 * 2**20), fractions, sample)


def _learn(spec: TokenizerSpec, work: list[Unit], fractions: Fractions, sample: int) -> Tokenizer:
    with ticking(f"learning the {spec.kind} tokenizer") as ticker:
        return spec.train(_sample(work, fractions, sample, ticker))


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


def _encode_all(job: EncodingJob, work: list[Unit], workers: int | None, small: int) -> list[UnitRecord]:
    """Every unit's record, in order. Those of an earlier run are read; the others are made."""
    (job.folder / "done").mkdir(exist_ok=True)
    places = [job.folder / "done" / f"{number:05d}.json" for number in range(len(work))]
    left = [number for number, place in enumerate(places) if not place.is_file()]
    total = sum(unit.size for unit in work)
    finished = total - sum(work[number].size for number in left)
    if workers is None:
        workers = cores()
    with ticking("encoding") as ticker:
        results = (
            _inline(job, work, left)
            if workers <= 1 or total < small or len(left) <= 1
            else _pooled(job, work, left, min(workers, len(left)))
        )
        for number in results:
            finished += work[number].size
            ticker.update(finished / total, f"{thousands(finished)}B of {thousands(total)}B")
    return [read_json(place) for place in places]


def _inline(job: EncodingJob, work: list[Unit], left: list[int]) -> Iterator[int]:
    tokenizer = Tokenizer.load(job.folder)
    for number in left:
        encode_unit(job, tokenizer, number, work[number])
        yield number


def _pooled(job: EncodingJob, work: list[Unit], left: list[int], workers: int) -> Iterator[int]:
    """The numbers of units as they are finished. After a fault a few more are looked at: faults are told together."""
    there = process_pool(workers - 1, _begin_worker, (job,))  # they must not go on writing when this one is killed
    here = ThreadPoolExecutor(1, initializer=_begin, initargs=(job,))  # begins while the others are still starting
    idle: list[Executor] = [here, *[there] * (workers - 1)]
    waiting, running, faults, more = iter(left), dict[Future, Executor](), list[Fault](), 2 * workers
    try:
        while True:
            while idle and (not faults or more > 0) and (number := next(waiting, None)) is not None:
                more -= bool(faults)
                pool = idle.pop()
                running[pool.submit(_work, number, work[number])] = pool
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                idle.append(running.pop(future))
                number, fault = future.result()
                if fault is not None:
                    faults.append((RunFailed if fault[0] == RunFailed.code else Fault)(*fault[1:]))
                else:
                    yield number
    except BrokenProcessPool as error:
        raise RunFailed(
            "a worker process died, perhaps for want of memory.",
            "Give the same command again with fewer --workers; it goes on from there. (In a script, "
            'build_store belongs under `if __name__ == "__main__":`.)',
        ) from error
    finally:
        for one in (here, there):
            one.shutdown(wait=True, cancel_futures=True)
    if len(faults) > 1 and not any(isinstance(fault, RunFailed) for fault in faults):
        raise Faults(faults)
    if faults:
        raise next((fault for fault in faults if isinstance(fault, RunFailed)), faults[0])


_mine = threading.local()  # what this worker, a process or a thread, has been given


def _begin_worker(job: EncodingJob) -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one process per core is enough
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops us
    _begin(job)


def _begin(job: EncodingJob) -> None:
    _mine.given = job, Tokenizer.load(job.folder)


def _work(number: int, unit: Unit) -> tuple[int, tuple | None]:
    job, tokenizer = _mine.given
    try:
        encode_unit(job, tokenizer, number, unit)
    except Fault as fault:  # as plain values: an exception with several arguments does not survive the way back
        return number, (fault.code, fault.what, fault.do, fault.where)
    return number, None


def encode_unit(job: EncodingJob, tokenizer: Tokenizer, number: int, unit: Unit) -> None:
    """Read, split, encode and write one unit, then its record; memory holds a batch and a shard of each split."""
    writers = [_ShardWriter(job, split, number, tokenizer) for split in SPLITS]
    batch: list[Document] = []
    size = 0
    record: UnitRecord = {"unknown": 0, "dropped": 0, "lost": dict.fromkeys(SPLITS, 0), "splits": {}}

    def flush() -> None:
        nonlocal size
        page = Page.of([document.text for document in batch])
        encoded = _encoded(tokenizer, batch, page, job.marks)
        characters = np.fromiter(map(len, page.texts), np.int64, len(batch))
        about = np.stack([encoded.numbers, page.sizes, characters, marking.words(page)], 1)
        splits = (unit.split or split_of(text, job.fractions) for text in page.texts)
        chosen = np.fromiter(map(SPLITS.index, splits), np.int64, len(batch))
        of_token = np.repeat(chosen, encoded.numbers)
        for split, writer in enumerate(writers):
            if (mine := chosen == split).any():
                writer.add(encoded.ids[of_token == split], encoded.flags[of_token == split], about[mine])
        if tokenizer.kind == "ascii":
            record["dropped"] += int(characters.sum() - encoded.numbers.sum())
        if tokenizer.kind == "word":
            each = np.split(encoded.ids, np.cumsum(encoded.numbers)[:-1])
            for text, ids, split in zip(page.texts, each, chosen.tolist()):
                record["lost"][SPLITS[split]] += not tokenizer.keeps(text, ids)
        if unknown >= 0:
            record["unknown"] += int((encoded.ids == unknown).sum())
        batch.clear()
        size = 0

    unknown = tokenizer.special("[unknown]") if tokenizer.has("[unknown]") else -1
    for document in unit.documents():
        batch.append(document)
        size += len(document.text)
        if size >= BATCH:
            flush()
    flush()
    record["splits"] = {split: writer.close() for split, writer in zip(SPLITS, writers)}
    write_json(job.folder / "done" / f"{number:05d}.json", record)


def _encoded(tokenizer: Tokenizer, batch: list[Document], page: Page, marks: tuple[str, ...]) -> marking.Encoded:
    if turns.SKIPPED not in marks:
        return marking.encode_page(tokenizer, page, marks)
    ids, flags = turns.encode_documents(tokenizer, batch, marks)
    return marking.Encoded(*flat(ids), np.concatenate([np.empty(0, np.uint8), *flags]))


class _ShardWriter:
    """The shards of one unit and one split."""

    def __init__(self, job: EncodingJob, split: str, number: int, tokenizer: Tokenizer):
        self.folder, self.marked, self.number = job.folder / split, bool(job.marks), number
        self.end, self.dtype, self.vocabulary = tokenizer.vocabulary().end, _dtype(tokenizer), len(tokenizer)
        self.shards: list[Shard] = []
        self._start()

    def _start(self) -> None:
        self.ids: list[np.ndarray] = []
        self.flags: list[np.ndarray] = []
        self.rows: list[np.ndarray] = []
        self.tokens = 0

    def add(self, ids: np.ndarray, flags: np.ndarray, about: np.ndarray) -> None:
        """Documents behind one another; `about` has a row for each: its ids, bytes, characters and words."""
        if self.end >= 0:
            behind = np.cumsum(about[:, 0])
            ids, flags = np.insert(ids, behind, self.end), np.insert(flags, behind, 0)
            about = about + np.array([1, 0, 0, 0])
        ids, ends = ids.astype(self.dtype), np.cumsum(about[:, 0])
        first = start = 0
        while first < len(about):  # a shard is closed by the document that fills it
            after = int(np.searchsorted(ends, start + SHARD - self.tokens)) + 1
            stop = int(ends[min(after, len(ends)) - 1])
            rows = about[first:after].copy()
            rows[:, 0] = ends[first:after] - start + self.tokens
            # copies, which do not keep the whole batch in memory
            self.ids.append(ids[start:stop].copy())
            self.flags.append(flags[start:stop].copy())
            self.rows.append(rows)
            self.tokens += stop - start
            first, start = after, stop
            if self.tokens >= SHARD:
                self._write()

    def close(self) -> list[Shard]:
        if self.rows:
            self._write()
        return self.shards

    def _write(self) -> None:
        name = f"{self.number:05d}-{len(self.shards):03d}"
        ids, rows = np.concatenate(self.ids), np.concatenate(self.rows)
        _save(self.folder / f"{name}.ids.npy", ids)
        if self.marked:
            _save(self.folder / f"{name}.marks.npy", np.concatenate(self.flags))
        _save(self.folder / f"{name}.rows.npy", rows)
        # a piece at a time: numpy counts a copy in eight bytes, four times the ids themselves
        counts = sum(np.bincount(ids[at : at + BATCH], minlength=self.vocabulary) for at in range(0, len(ids), BATCH))
        _save(self.folder / f"{name}.counts.npy", np.asarray(counts, np.int64))
        self.shards.append(
            {
                "name": name,
                "tokens": len(ids),
                "documents": len(rows),
                "bytes": int(rows[:, 1].sum()),
                "checksum": hashlib.blake2b(ids.data, digest_size=16).hexdigest(),
            }
        )
        self._start()


def _finish(job: EncodingJob, split: str, records: list[UnitRecord], vocabulary: int) -> SplitContent:
    """Join what was noted per shard (sizes of documents, counts of ids) into one file each."""
    folder = job.folder / split
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
    _save(folder / "counts.npy", counts)
    return {
        "tokens": sum(shard["tokens"] for shard in shards),
        "documents": documents,
        "bytes": sum(shard["bytes"] for shard in shards),
        "shards": shards,
        "lost": sum(record.get("lost", {}).get(split, 0) for record in records),
    }


def _no_empty_split(
    splits: dict[str, SplitContent], given: Mapping[str, Sequence[Path]], fractions: Fractions, documents: str
) -> None:
    number = sum(split["documents"] for split in splits.values())
    if not number:
        raise Fault("there is no text in the files given: every document in them is empty or white space.")
    if "" not in given:
        if without := [split for split in given if not splits[split]["documents"]]:
            raise Fault(f"there is no text in the files given for {' and '.join(without)}.")
        return
    empty = [name for name, fraction in zip(SPLITS, fractions) if fraction > 0 and not splits[name]["documents"]]
    if empty:
        next_finer = {"line": "", "dialogues": "", "paragraph": "--documents line, or "}
        finer = next_finer.get(documents, "--documents paragraph, or ")
        raise Fault(
            f"documents: {number:,}; none fell into the {' and the '.join(empty)} split.",
            f"Cut the text into more documents ({finer}more text), or give other --splits.",
        )


def _dtype(tokenizer: Tokenizer) -> np.dtype:
    return np.dtype(np.uint16 if len(tokenizer) <= 2**16 else np.uint32)


def _save(path: Path, array: np.ndarray) -> None:
    def write(partial: Path) -> None:
        with open(partial, "wb") as file:  # given a name, np.save would add .npy to it
            np.save(file, array)

    write_atomically(path, write)
