"""The tensors of a checkpoint, read one at a time: from one file, or put together from the files that several ranks wrote."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open
from torch import Tensor

from foreword.basics.messages import Fault

PLACES, OFFSETS = "DCP_SHARDING_INFO", "saved_offsets"  # where torch.distributed.checkpoint says where a piece belongs


def checksums(folder: Path) -> dict[str, str]:
    """Of each file with tensors: read back from where they were just written."""
    return {file.name: _checksum(file) for file in sorted(folder.glob("*.safetensors"))}


def check_whole(folder: Path, said: object) -> None:
    """A fault unless the folder holds exactly these files, and each byte of them."""
    found = checksums(folder)
    if not isinstance(said, dict) or said.keys() != found.keys():
        raise _damaged(folder, folder, "it does not hold the files that progress.json names")
    if wrong := [name for name in found if found[name] != said[name]]:
        raise _damaged(folder, folder / wrong[0], "its checksum is not the one it was saved with")


def _checksum(file: Path) -> str:
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _damaged(folder: Path, path: Path, why: Exception | str) -> Fault:
    return Fault(
        f"{path} cannot be read: {why}.",
        f"Remove {folder} and give the same command again; it goes on from what was saved before.",
    )


class SavedTensors(Mapping[str, Tensor]):
    """The tensors of a checkpoint by name: in one file, or each in pieces in the files of several ranks."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.pieces: dict[
            str, list[tuple[Path, list[int]]]
        ] = {}  # of each tensor: the file, and where in it the piece begins
        files = sorted(folder.glob("*.safetensors"))
        if not files:
            raise _damaged(folder, folder, "it holds no tensors")
        for file in files:
            try:
                with safe_open(str(file), "pt") as opened:
                    placed = json.loads((opened.metadata() or {}).get(PLACES, "{}"))
                    for name in opened.keys():  # noqa: SIM118
                        self.pieces.setdefault(name, []).append((file, placed.get(name, {}).get(OFFSETS, [])))
            except (SafetensorError, FileNotFoundError) as error:
                raise _damaged(self.folder, file, error) from error

    def __getitem__(self, name: str) -> Tensor:
        if name not in self.pieces:
            raise _damaged(self.folder, self.folder, f"it has no tensor {name}")
        read = [(self._piece(file, name), at) for file, at in self.pieces[name]]
        if len(read) == 1:
            return read[0][0]
        ends = [[start + size for start, size in zip(at, piece.shape)] for piece, at in read]
        whole = read[0][0].new_empty([max(sizes) for sizes in zip(*ends)])
        for (piece, at), end in zip(read, ends):
            whole[tuple(slice(*edges) for edges in zip(at, end))] = piece
        return whole

    def __contains__(self, name: object) -> bool:
        return name in self.pieces

    def __iter__(self) -> Iterator[str]:
        return iter(self.pieces)

    def __len__(self) -> int:
        return len(self.pieces)

    def _piece(self, file: Path, name: str) -> Tensor:
        try:
            return safe_open(str(file), "pt").get_tensor(name)
        except (SafetensorError, FileNotFoundError) as error:
            raise _damaged(self.folder, file, error) from error
