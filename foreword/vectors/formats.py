"""Files of word vectors: word2vec's text and binary, GloVe's text, fastText's .vec. Read with every fault's line, and written.

word2vec and fastText begin with a line "words width"; GloVe does not. In binary a word is followed by its numbers as float32.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.progress import ticking

SUFFIXES = (".txt", ".vec", ".bin")
FORMS = ("word2vec", "word2vec-text", "glove")
AT_ONCE = 10_000  # lines
_HEADER = re.compile(r"^\s*(\d+)\s+(\d+)\s*$")


def is_vector_file(path: Path) -> bool:
    """By its name and its first line, which tells it from other models that are files (ARPA, KenLM's binary)."""
    if path.suffix not in SUFFIXES or not path.is_file():
        return False
    with open(path, "rb") as file:
        line = file.readline(100_000).decode("utf-8-sig", "replace")
    numbers = re.fullmatch(r"\s*\S+([ \t]+(nan|inf|[-+.\deE]*\d[-+.\deE]*)){2,}\s*", line)
    return path.suffix == ".vec" or _HEADER.match(line) is not None or numbers is not None


def read_vectors(path: Path) -> tuple[list[str], np.ndarray]:
    """(words, vectors [words, width] float32) of a file in any of the formats; which it is, its beginning says."""
    with open(path, "rb") as file:
        first = file.readline(10_000)
        header = _HEADER.match(first.decode("utf-8-sig", "replace"))
        beyond = file.read(32 + 4 * int(header[2])) if header else b""
    if not first.strip():
        raise Fault("the file is empty.", where=f"{path}:1")
    if first.startswith(b"\x80"):
        raise Fault(
            f"{path} is a pickle, which can run code when opened.",
            "Write it where you trust it:  vectors.save_word2vec_format('vectors.txt') of gensim's KeyedVectors.",
        )
    binary = header is not None and _is_binary(beyond)
    words, vectors = _binary(path, header) if header and binary else _text(path, header)
    twice: dict[str, int] = {}
    for number, word in enumerate(words):
        if word in twice:
            where = f"{path}:{number + 1 + bool(header)}" if not binary else f"{path}, word {number + 1}"
            raise Fault(f"the word {word!r} comes a second time (first as word {twice[word] + 1}).", where=where)
        twice[word] = number
    if (wrong := ~np.isfinite(vectors).all(1)).any():
        number = int(wrong.argmax())
        where = f"{path}:{number + 1 + bool(header)}" if not binary else f"{path}, word {number + 1}"
        raise Fault(f"the vector of {words[number]!r} holds what is no number.", where=where)
    return words, vectors


def _is_binary(beyond: bytes) -> bool:
    """Whether the first vector is no text: it has bytes that no text has, or its numbers are not ASCII."""
    if re.search(rb"[\0-\x08\x0e-\x1f]", beyond):
        return True
    try:
        beyond.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.end < len(beyond) and not beyond.partition(b"\n")[0].partition(b" ")[2].isascii()
    return False


def _text(path: Path, header: re.Match[str] | None) -> tuple[list[str], np.ndarray]:
    size, width = path.stat().st_size, int(header[2]) if header else 0
    words: list[str] = []
    parts: list[np.ndarray] = []
    with open(path, encoding="utf-8-sig", errors="replace", newline="\n") as file, ticking(path.name) as ticker:
        if header:
            file.readline()
        seen = 0
        while lines := list(islice(file, AT_ONCE)):
            first = len(words) + 1 + bool(header)
            lines = [_spaced(line) for line in lines]
            width = width or len(lines[0].split(" ")) - 1
            some, numbers = _rows(lines, width, path, first, "the first line says" if header else "those before have")
            words += some
            parts.append(numbers)
            seen += sum(map(len, lines))
            ticker.update(min(seen / size, 1.0), f"{len(words):,} words")
    if not parts:
        raise Fault("the file holds no vector.", where=str(path))
    if header and int(header[1]) != len(words):
        raise Fault(f"the first line says {int(header[1]):,} words; the file has {len(words):,}.", where=f"{path}:1")
    return words, np.concatenate(parts)


def _spaced(line: str) -> str:
    """With one space between two columns, as most programs write them."""
    line = line.rstrip()
    return re.sub(r"[ \t]+", " ", line).lstrip(" ") if "\t" in line or "  " in line or line[:1] == " " else line


def _rows(lines: Sequence[str], width: int, path: Path, first: int, wanted: str) -> tuple[list[str], np.ndarray]:
    """Words and numbers of some lines, all at once where all is well. `wanted`: who says how many."""
    pairs = [line.rsplit(" ", width) for line in lines]
    for number, (line, pair) in enumerate(zip(lines, pairs), first):
        # a word may hold a space (GloVe has some), but not end in one more number
        if len(pair) != width + 1 or not pair[0] or (" " in pair[0] and _is_number(pair[0].rpartition(" ")[2])):
            there = sum(map(_is_number, line.split(" ")[1:]))
            raise Fault(f"this line has {there} numbers; {wanted} {width}.", where=f"{path}:{number}")
    try:
        numbers = np.array([pair[1:] for pair in pairs], dtype=np.float32)
    except ValueError as error:
        for number, pair in enumerate(pairs, first):
            if not all(map(_is_number, pair[1:])):
                raise Fault(f"the vector of {pair[0]!r} holds what is no number.", where=f"{path}:{number}") from error
        raise
    return [pair[0] for pair in pairs], numbers


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _binary(path: Path, header: re.Match[str]) -> tuple[list[str], np.ndarray]:
    count, width = int(header[1]), int(header[2])
    content = path.read_bytes()
    at, words, vectors = content.index(b"\n") + 1, list[str](), np.empty((count, width), np.float32)
    for number in range(count):
        space = content.find(b" ", at)
        if space < 0 or space + 1 + 4 * width > len(content):
            raise Fault(f"the first line says {count:,} words; the file ends after {number:,}.", where=f"{path}:1")
        words.append(content[at:space].lstrip(b"\n").decode("utf-8", "replace"))
        at = space + 1 + 4 * width
        vectors[number] = np.frombuffer(content, "<f4", width, space + 1)
    return words, vectors


def write_vectors(path: Path, words: Sequence[str], vectors: np.ndarray, form: str) -> Path:
    """`form`: word2vec (binary), word2vec-text or glove. Nine digits in text: nothing is lost."""
    if form == "word2vec":
        with open(path, "wb") as file:
            file.write(f"{len(words)} {vectors.shape[1]}\n".encode())
            for word, vector in zip(words, vectors):
                file.write(word.encode() + b" " + np.ascontiguousarray(vector, "<f4").tobytes() + b"\n")
        return path
    with open(path, "w", encoding="utf-8", newline="\n") as text:
        text.writelines(_lines(words, vectors, form == "word2vec-text"))
    return path


def _lines(words: Sequence[str], vectors: np.ndarray, header: bool) -> Iterator[str]:
    if header:
        yield f"{len(words)} {vectors.shape[1]}\n"
    for word, vector in zip(words, vectors):
        yield f"{word} {' '.join(map('{:.9g}'.format, vector.tolist()))}\n"
