"""Ids on disk: every document of a corpus once, by split, memory-mapped, with its size in bytes.

store.json  tokenizer.json ...                    what it is, and how it was made
train/00000-000.ids.npy   .marks.npy              the shards of a split: ids, and flags aligned with them
train/ends.npy  bytes.npy  characters.npy  words.npy     one number per document
train/counts.npy                                  one number per id
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, NotRequired

import numpy as np
from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

from foreword.basics.files import JsonObject, read_json_object, whole_folder
from foreword.basics.forms import checked
from foreword.basics.messages import Fault, Faults, did_you_mean
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.vocabulary import Vocabulary

FORMAT = 1
SPLITS = ("train", "valid", "test")
PER_DOCUMENT = ("ends", "bytes", "characters", "words")
HEADER = 128  # bytes before the numbers in an .npy file
LONG = (
    1 << 14
)  # tokens: longer stretches are read, not mapped. Who reads all of a large store would have all of it in memory
OPEN_AT_ONCE = 64  # a mapped file keeps a file descriptor, and a large corpus has thousands of shards


Number = Annotated[int, Field(ge=0, lt=2**63)]


class Shard(TypedDict):
    """One file of ids."""

    name: Annotated[str, Field(pattern=r"^[0-9]+-[0-9]+$")]  # of a file of the split's folder, and nothing elsewhere
    tokens: Number
    documents: Number
    bytes: Number
    checksum: str


class SplitContent(TypedDict):
    tokens: Number
    documents: Number
    bytes: Number
    shards: list[Shard]
    lost: NotRequired[Number]  # documents of which the ids do not hold every word


class TokenizerContent(TypedDict):
    name: str
    fingerprint: str
    size: Number
    end: int


class SourceContent(TypedDict):
    paths: list[str]
    fingerprint: str


class StoreContent(TypedDict):
    """store.json."""

    format: int
    settings: str  # the key of all that the store was made from
    fractions: list[float]
    marks: list[str]
    tokenizer: TokenizerContent
    dtype: Literal["uint16", "uint32"]
    documents: str
    column: str
    sources: SourceContent
    unknown: int
    dropped: int
    corpora: NotRequired[list[JsonObject]]  # short cards of the corpora that `corpus build` made
    given: NotRequired[dict[str, list[str]]]  # the files of each split, where the splits were given
    splits: dict[str, SplitContent]


_FORM = TypeAdapter(StoreContent)


def is_store(path: Path) -> bool:
    """Whether a folder is a store; anything else is text."""
    return (path / "store.json").is_file()


class TokenStore:
    """The ids of many documents of one split, memory-mapped, with their sizes in bytes."""

    def __init__(self, folder: Path, split: str, content: StoreContent):
        self.folder, self.split, self.content = folder, split, content
        about = content["splits"][split]
        self.shards: list[Shard] = about["shards"]
        self.tokens: int = about["tokens"]
        self.documents: int = about["documents"]
        self.total_bytes: int = about["bytes"]
        self.marks: tuple[str, ...] = tuple(content["marks"])
        self.fingerprint: str = content["tokenizer"]["fingerprint"]
        self._sizes = {shard["name"]: shard["tokens"] for shard in self.shards}
        self._starts = np.cumsum([0] + [shard["tokens"] for shard in self.shards])
        self._mapped: OrderedDict[str, np.ndarray] = OrderedDict()

    @staticmethod
    def open(folder: Path, split: str = "train") -> TokenStore:
        folder = whole_folder(Path(folder))
        content = read_content(folder)
        if split not in content["splits"]:
            raise Fault(
                f"{folder} has no split {split!r}.{did_you_mean(split, content['splits'])}",
                f"Those it has: {', '.join(content['splits'])}.",
            )
        if not content["splits"][split]["tokens"]:
            how = (
                f"It was made from text for {' and '.join(content['given'])}."
                if "given" in content
                else f"It was made with the fractions {tuple(content['fractions'])} (train, valid, test)."
            )
            raise Fault(f"the {split} split of {folder} is empty.", how)
        store = TokenStore(folder, split, content)
        if faults := store._damage():
            raise Faults(faults)
        return store

    @staticmethod
    def has(folder: Path, split: str) -> bool:
        """Whether a store has any text in a split."""
        splits = read_content(whole_folder(Path(folder)))["splits"]
        return split in splits and splits[split]["tokens"] > 0

    @cached_property
    def tokenizer(self) -> Tokenizer:
        found = Tokenizer.load(self.folder)
        if found.fingerprint != self.fingerprint:
            raise Fault(
                f"the tokenizer in {self.folder} is {found.name} ({found.fingerprint[:8]}), but its ids were "
                f"made with {self.content['tokenizer']['name']} ({self.fingerprint[:8]}).",
                "Make the store again.",
            )
        return found

    @property
    def whole(self) -> bool:
        """Whether the ids hold all of the text: the tokenizer loses nothing, or (words) lost nothing of these documents."""
        lost = self.content["splits"][self.split].get("lost")
        return self.tokenizer.lossless or (self.tokenizer.kind == "word" and lost == 0)

    @cached_property
    def data(self) -> str:
        """The fingerprint of the content: equal when every id of the split is equal."""
        sums = "".join(shard["checksum"] for shard in self.shards)
        return hashlib.blake2b(f"{self.split}:{sums}".encode(), digest_size=16).hexdigest()

    @cached_property
    def ends(self) -> np.ndarray:
        return self._per_document("ends")

    @cached_property
    def bytes(self) -> np.ndarray:
        return self._per_document("bytes")

    @cached_property
    def characters(self) -> np.ndarray:
        return self._per_document("characters")

    @cached_property
    def words(self) -> np.ndarray:
        return self._per_document("words")

    @cached_property
    def counts(self) -> np.ndarray:
        """How often each id occurs in this split."""
        return np.array(self._array("counts", np.dtype(np.int64), self.content["tokenizer"]["size"]))

    def vocabulary(self) -> Vocabulary:
        """The tokenizer's, with how often each id occurs here, and in how many documents."""
        return replace(self.tokenizer.vocabulary(), counts=self.counts, documents=self.documents)

    def read(self, start: int, stop: int) -> np.ndarray:
        """The ids from `start` to `stop` as int64, across shards."""
        ids = self.stored(start, stop).astype(np.int64, copy=False)
        if len(ids) and ids.max() >= self.content["tokenizer"]["size"]:
            size = self.content["tokenizer"]["size"]
            raise _damaged(self.folder / self.split, f"it holds the id {ids.max():,} of a vocabulary of {size:,}")
        return ids

    def stored(self, start: int, stop: int) -> np.ndarray:
        """The same as they are on disk, and unchecked."""
        return self._across("ids", start, stop)

    def read_mark(self, name: str, start: int, stop: int) -> np.ndarray:
        """Which of the tokens from `start` to `stop` carry the mark."""
        if name not in self.marks:
            raise Fault(
                f"the store {self.folder} has no mark {name!r}.{did_you_mean(name, self.marks)}",
                f"Those it has: {', '.join(self.marks) or 'none'}. Make the store again with it.",
            )
        bit = self.marks.index(name)
        return (self._across("marks", start, stop) >> bit & 1).astype(bool)

    def texts(self) -> Iterator[str]:
        """The documents, decoded."""
        return (self.tokenizer.decode(self.document(i)) for i in range(self.documents))

    def document(self, i: int) -> np.ndarray:
        """The ids of document `i`, without its final [end]."""
        i = range(self.documents)[i]
        start, stop = int(self.ends[i - 1]) if i else 0, int(self.ends[i])
        return self.read(start, stop - bool(self.content["tokenizer"]["end"] >= 0))

    def _across(self, what: str, start: int, stop: int) -> np.ndarray:
        if not 0 <= start <= stop <= self.tokens:
            raise IndexError(f"tokens {start} to {stop} of a split that has {self.tokens}")
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        parts = []
        while start < stop:
            begin, end = int(self._starts[first]), int(self._starts[first + 1])
            parts.append(self._some(f"{self.shards[first]['name']}.{what}", start - begin, min(stop, end) - begin))
            start, first = min(stop, end), first + 1
        if not parts:
            return np.empty(0, np.uint8 if what == "marks" else np.int64)
        return np.concatenate(parts) if len(parts) > 1 else np.array(parts[0])

    def _some(self, name: str, start: int, stop: int) -> np.ndarray:
        if stop - start < LONG:
            return self._map(name)[start:stop]
        mapped = self._map(name)
        path, offset = self.folder / self.split / f"{name}.npy", HEADER + start * mapped.itemsize
        return np.fromfile(path, mapped.dtype, stop - start, offset=offset)

    def _map(self, name: str) -> np.ndarray:
        if name in self._mapped:
            self._mapped.move_to_end(name)
        else:
            dtype = np.dtype(np.uint8 if name.endswith(".marks") else self.content["dtype"])
            self._mapped[name] = self._array(name, dtype, self._sizes[name.split(".")[0]])
            if len(self._mapped) > OPEN_AT_ONCE:
                self._mapped.popitem(last=False)
        return self._mapped[name]

    def _per_document(self, what: str) -> np.ndarray:
        return self._array(what, np.dtype(np.int64), self.documents)

    def _array(self, name: str, dtype: np.dtype, length: int) -> np.ndarray:
        """A file of the split, mapped; a fault if its header says that it holds something else."""
        path = self.folder / self.split / f"{name}.npy"
        try:
            array = np.load(path, mmap_mode="r")
        except (ValueError, EOFError, SyntaxError) as error:
            raise _damaged(path, f"its header cannot be read ({str(error).splitlines()[0]})") from error
        if array.dtype != dtype or array.shape != (length,) or getattr(array, "offset", HEADER) != HEADER:
            raise _damaged(path, f"it holds {array.dtype} {list(array.shape)}, not {dtype} [{length:,}]")
        return array

    def _damage(self) -> list[Fault]:
        """What is wrong with the files and the sums of them that store.json knows; all of it."""
        return (
            self._short()
            or self._headers()
            or [
                _damaged(self.folder / self.split / f"{name}.npy", f"{what} is {found:,}; store.json says {said:,}")
                for name, what, found, said in self._sums()
                if found != said
            ]
        )

    def _headers(self) -> list[Fault]:
        faults = []
        for shard in self.shards:
            try:
                self._array(f"{shard['name']}.ids", np.dtype(self.content["dtype"]), shard["tokens"])
            except Fault as fault:
                faults.append(fault)
        return faults

    def _sums(self) -> Iterator[tuple[str, str, int, int]]:
        """(file, what of it, the number there, the number in store.json)"""
        yield "bytes", "its sum", int(self.bytes.sum()), self.total_bytes
        yield "ends", "its last number", int(self.ends[-1]) if self.documents else 0, self.tokens
        yield "ends", "documents that end before they begin", int((np.diff(self.ends, prepend=0) < 0).sum()), 0
        yield "counts", "its sum", int(self.counts.sum()), self.tokens

    def _short(self) -> list[Fault]:
        """Files that are missing or too short, all of them."""
        size = np.dtype(self.content["dtype"]).itemsize
        wanted = {f"{name}.npy": 8 * self.documents for name in PER_DOCUMENT}
        wanted["counts.npy"] = 8 * self.content["tokenizer"]["size"]
        for shard in self.shards:
            wanted[f"{shard['name']}.ids.npy"] = size * shard["tokens"]
            if self.marks:
                wanted[f"{shard['name']}.marks.npy"] = shard["tokens"]
        faults = []
        for name, least in wanted.items():
            path = self.folder / self.split / name
            if not path.is_file():
                faults.append(Fault(f"{path} is not there.", "Make the store again."))
            elif path.stat().st_size < HEADER + least:
                faults.append(
                    Fault(
                        f"{path} is cut short: {path.stat().st_size:,} bytes of {HEADER + least:,}.",
                        "Make the store again.",
                    )
                )
        return faults

    def __getstate__(self) -> JsonObject:
        """Mapped files are opened again on the other side, not copied there."""
        lazy = (*PER_DOCUMENT, "counts", "tokenizer")
        kept = {name: value for name, value in self.__dict__.items() if name not in lazy}
        return {**kept, "_mapped": OrderedDict()}


def read_content(folder: Path) -> StoreContent:
    """store.json, checked to be of this format."""
    if not is_store(folder):
        raise Fault(
            f"{folder} is not a token store: it has no store.json." if folder.exists() else f"{folder} is not there.",
            "Make one:  foreword tokens TEXT --out FOLDER",
        )
    content = read_json_object(folder / "store.json")
    number = content.get("format")
    if number != FORMAT:
        raise Fault(
            f"{folder} is a token store of format {number}; this Foreword reads format {FORMAT}.",
            "Make the store again, or use the Foreword that wrote it.",
        )
    checked(content, _FORM, folder / "store.json", "Make the store again.")
    return content  # type: ignore[return-value]


def _damaged(path: Path, what: str) -> Fault:
    return Fault(f"{path} is damaged: {what}.", "Make the store again.")
