"""ARPA files, the exchange format of n-gram models (Doug Paul; read by KenLM, SRILM and others), written and read.

An interpolated model fits the format exactly: the full probability of every seen n-gram, and what its history leaves
to the lower order as the back-off weight. All numbers in the file are log10.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Literal

import numpy as np

from foreword.basics.files import write_atomically
from foreword.basics.messages import Fault
from foreword.basics.numbers import Order
from foreword.counts.back_off import BackOff
from foreword.counts.model import CountSpec
from foreword.counts.trie import Trie
from foreword.tokens.vocabulary import Vocabulary

NEVER = -99.0  # the format's way to write the logarithm of zero
CHUNK = 1 << 16  # n-grams handled at once: strings are the dearest thing here
UNKNOWN = ("<unk>", "[unk]", "[UNK]", "[unknown]")


def escape(piece: str) -> str:
    r"""A token's string without whitespace or control characters: ' a\n' -> '\u{20}a\u{a}'; a backslash is doubled."""
    if piece in ("<s>", "</s>", "<unk>", ""):  # text that looks like a symbol of the format, or like nothing
        return f"\\u{{3c}}{piece[1:]}" if piece else "\\e"
    return "".join(
        "\\\\"
        if letter == "\\"
        else f"\\u{{{ord(letter):x}}}"
        if letter.isspace() or unicodedata.category(letter) in ("Cc", "Cf", "Cs")
        else letter
        for letter in piece
    )


def unescape(name: str) -> str:
    """What `escape` was given, and what `names` was before it told equal pieces apart."""
    parts, at = [], 0
    while at < len(name):
        if name[at] != "\\":
            parts.append(name[at])
            at += 1
        elif name.startswith("\\u{", at) and (close := name.find("}", at)) > 0:
            parts.append(chr(int(name[at + 3 : close], 16)))
            at = close + 1
        elif name.startswith("\\#", at):  # an id, only there to make the name unique
            break
        else:
            parts.append("" if name.startswith("\\e", at) else name[at + 1 : at + 2])
            at += 2
    return "".join(parts)


def names(vocabulary: Vocabulary, pieces: Callable[[int], str]) -> list[str]:
    """A unique string for every id; `end` is `</s>`, and the piece for unknown words is `<unk>`."""
    given: list[str] = []
    taken: set[str] = set()
    for token in range(vocabulary.size):
        if token == vocabulary.end:
            name = "</s>"
        else:
            piece = pieces(token)
            name = "<unk>" if piece in UNKNOWN else escape(piece)
            if name in taken:  # two byte tokens may both show as U+FFFD
                name = f"{escape(piece)}\\#{token}"
        given.append(name)
        taken.add(name)
    return given


def write_arpa(model: BackOff, pieces: Callable[[int], str], path: Path) -> None:
    """The whole model as text; `pieces` gives the string of an id."""
    write_atomically(Path(path), lambda partial: _write(model, names(model.vocabulary, pieces), partial))


def _write(model: BackOff, called: list[str], path: Path) -> None:
    last = np.array([*called, ""], object)
    first = last.copy()
    first[model.begins] = "<s>"
    events = np.flatnonzero(model.events)
    unknown = [] if "<unk>" in called else [f"{NEVER:g}\t<unk>\t0\n"]  # KenLM wants to see one
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(f"\\data\\\nngram 1={len(events) + 1 + len(unknown)}\n")
        file.writelines(f"ngram {length}={len(keys)}\n" for length, keys in enumerate(model.trie.keys, 2))
        probability = [_log10(np.asarray(table), most=0.0) for table in model.probability]
        back_off = [_log10(table) for table in model.back_off] or [np.zeros(len(last))]
        file.write("\n\\1-grams:\n")
        file.writelines(unknown)
        file.write(f"{NEVER:g}\t<s>\t{back_off[0][model.begins]:.9g}\n")
        for token in events:
            weight = 0.0 if token == model.begins else back_off[0][token]
            file.write(f"{probability[0][token]:.9g}\t{last[token]}\t{weight:.9g}\n")
        for level in range(2, model.trie.order + 1):
            file.write(f"\n\\{level}-grams:\n")
            _write_level(
                file,
                level,
                model.trie,
                probability[level - 1],
                back_off[level - 1] if level < model.trie.order else None,
                first,
                last,
            )
        file.write("\n\\end\\\n")


def _write_level(
    file: IO[str],
    level: int,
    trie: Trie,
    probability: np.ndarray,
    back_off: np.ndarray | None,
    first: np.ndarray,
    last: np.ndarray,
) -> None:
    for begin in range(0, len(probability), CHUNK):
        index = np.arange(begin, min(begin + CHUNK, len(probability)))
        rows = slice(begin, begin + CHUNK)
        text = np.full(len(index), "", object)
        for length in range(level, 1, -1):  # from the last token back to the first
            index, token = np.divmod(trie.keys[length - 2][index], trie.base)
            text = " " + last[token] + text
        text = first[index] + text
        if back_off is None:
            file.writelines(f"{p:.9g}\t{words}\n" for p, words in zip(probability[rows], text))
        else:
            every = zip(probability[rows], text, back_off[rows])
            file.writelines(f"{p:.9g}\t{words}\t{weight:.9g}\n" for p, words, weight in every)


def _log10(table: np.ndarray, most: float = np.inf) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.clip(np.log10(table), NEVER, most)  # rounding may leave a certainty a hair above 1


class BackOffTable(CountSpec):
    """Back-off tables that were made elsewhere, of n-grams up to `order`: an ARPA file."""

    kind: Literal["arpa"] = "arpa"
    order: Order

    def build(self, vocabulary: Vocabulary) -> ArpaModel:
        return ArpaModel(vocabulary, self.order, [])


class ArpaModel(BackOff):
    """An n-gram model from a file: it answers like the others, but there is nothing left to count.

    `pieces` are the strings of the file, in its order, `</s>` among them and `<s>` not; `unescape` undoes ours.
    """

    def __init__(self, vocabulary: Vocabulary, order: int, pieces: list[str]):
        super().__init__(vocabulary, order)
        self.pieces = pieces

    def count(self, ids: np.ndarray) -> int:
        raise Fault("a model read from an ARPA file cannot count more text: the file holds probabilities, not counts.")

    def estimate(self, held_out: np.ndarray | None = None) -> None:
        """The file did that."""

    def arrays(self) -> dict[str, np.ndarray]:
        text = "\n".join(self.pieces).encode("utf-8", "surrogateescape")  # no piece contains whitespace
        return super().arrays() | {"pieces": np.frombuffer(text, np.uint8)}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        super().restore(arrays)
        self.pieces = arrays["pieces"].tobytes().decode("utf-8", "surrogateescape").split("\n")


ROUNDED = 1e-3  # log10 of a probability of 1 that was rounded up when it was written
LARGEST = 99  # log10 of a back-off weight: KenLM's smallest probability is 10^-99
DIGITS = 18


class _Lines:
    """The lines of a file with their numbers, so that a fault can say where."""

    def __init__(self, file: IO[bytes], path: Path):
        self.file, self.path, self.number = file, path, 0

    def __iter__(self) -> Iterator[bytes]:
        for line in self.file:
            self.number += 1
            yield line

    def heading(self) -> bytes:
        """The next line that is not empty."""
        for line in self:
            if line.strip():
                return line.strip()
        raise self.fault("the file ends before \\end\\.", "It may have been cut short.")

    def fault(self, what: str, do: str = "", number: int | None = None) -> Fault:
        return Fault(what, do, f"{self.path}:{self.number if number is None else number}")


def read_arpa(path: Path) -> ArpaModel:
    """Read an ARPA file by anyone; one that does not keep its own promises is refused, with the line."""
    path = Path(path)
    try:
        with open(path, "rb") as file:
            return _read(_Lines(file, path))
    except FileNotFoundError as error:
        raise Fault(f"{path} is not there.") from error


def _read(lines: _Lines) -> ArpaModel:
    promised = _promises(lines)
    _expect(lines, 1)
    ids: dict[bytes, int] = {}
    rows = list(_rows(lines, 1, promised[0]))
    for at, (_, (word,), _) in enumerate(rows):
        if word in ids:
            number = lines.number - len(rows) + at + 1
            raise lines.fault(f"{word.decode(errors='replace')} is listed twice.", number=number)
        ids[word] = len(ids) - (b"<s>" in ids) if word != b"<s>" else -1
    if b"<unk>" not in ids:  # a closed vocabulary: nothing else ever occurs
        ids[b"<unk>"] = len(ids) - (b"<s>" in ids)
    size = len(ids) - (b"<s>" in ids)
    end = ids.get(b"</s>", -1)
    begins = end if end >= 0 else size
    ids[b"<s>"] = begins
    pieces = [word.decode("utf-8", "surrogateescape") for word in ids if word != b"<s>"]
    model = ArpaModel(Vocabulary(size=size, end=end, silent=()), len(promised), pieces)
    probability, back_off = np.zeros(size + 1), np.ones(size + 1)
    for p, (word,), weight in rows:
        if word != b"<s>":
            probability[ids[word]] = 10.0**p
        if word != b"</s>":
            back_off[ids[word]] = 10.0**weight
    model.probability, model.back_off = [probability], [back_off]
    model.trie = Trie(size + 1, begins, [])
    del rows
    for level, count in enumerate(promised[1:], 2):
        _expect(lines, level)
        _read_level(lines, level, count, ids, model)
    model.back_off = model.back_off[: len(promised) - 1]
    closing = lines.heading()
    if closing != b"\\end\\":
        raise lines.fault(f"\\end\\ was expected here, not {closing.decode(errors='replace')!r}.")
    return model


def _promises(lines: _Lines) -> list[int]:
    """The counts in the header: [number of 1-grams, of 2-grams, ...]."""
    for line in lines:  # anything may stand before \data\
        if line.strip() == b"\\data\\":
            break
    else:
        raise lines.fault(
            "there is no \\data\\ line: this is not an ARPA file; nor are it word vectors, a word and its numbers on each line."
        )
    promised: list[int] = []
    for line in lines:
        if not line.strip():
            if promised:
                return promised
            continue
        before, _, count = line.partition(b"=")
        if before.split() != [b"ngram", b"%d" % (len(promised) + 1)] or not count.strip().isdigit():
            raise lines.fault(
                f"'ngram {len(promised) + 1}=<count>' was expected here, not {line.decode(errors='replace').strip()!r}."
            )
        if len(count.strip()) > DIGITS or int(count) > lines.path.stat().st_size:  # an n-gram takes several bytes
            raise lines.fault(f"{count.decode().strip()[:DIGITS]} {len(promised) + 1}-grams do not fit into this file.")
        promised.append(int(count))
    raise lines.fault("the file ends inside its header.", "It may have been cut short.")


def _expect(lines: _Lines, level: int) -> None:
    heading = lines.heading()
    if heading != b"\\%d-grams:" % level:
        raise lines.fault(f"\\{level}-grams: was expected here, not {heading.decode(errors='replace')!r}.")


def _rows(lines: _Lines, level: int, count: int) -> Iterator[tuple[float, list[bytes], float]]:
    """(log10 p, words, log10 back-off) of each n-gram of one section; exactly as many as the header says."""
    for done in range(count):
        line = next(lines.file, b"")
        lines.number += 1
        fields = line.split()  # bytes: only ASCII whitespace, so U+3000 may be part of a word
        if not fields or (len(fields) == 1 and fields[0].startswith(b"\\")):
            raise lines.fault(
                f"the header says there are {count} {level}-grams; the section ends after {done}.",
                "The file may have been cut short.",
            )
        if not level < len(fields) < level + 3:
            raise lines.fault(f"a {level}-gram has {level + 1} or {level + 2} fields; this line has {len(fields)}.")
        try:
            p, weight = float(fields[0]), float(fields[level + 1]) if len(fields) > level + 1 else 0.0
        except ValueError as error:
            raise lines.fault(f"a number was expected: {error}.") from error
        if not p <= ROUNDED:
            raise lines.fault(f"{p:g} is no log10 of a probability: at most 0.")
        if not weight <= LARGEST:
            raise lines.fault(f"{weight:g} is no log10 of a back-off weight: at most {LARGEST}.")
        yield p, fields[1 : level + 1], weight


def _read_level(lines: _Lines, level: int, count: int, ids: dict[bytes, int], model: ArpaModel) -> None:
    trie, opened = model.trie, lines.number
    tokens = np.empty((count, level), np.int64)
    numbers = np.empty((count, 2))
    usable = np.ones(count, bool)
    for at, (p, words, weight) in enumerate(_rows(lines, level, count)):
        try:
            tokens[at] = [ids[word] for word in words]
        except KeyError as error:
            raise lines.fault(f"{error.args[0].decode(errors='replace')} is not among the 1-grams.") from error
        numbers[at] = p, weight
        # no history reaches across a document's end, so these could never be asked for
        usable[at] = not (b"<s>" in words[1:] or b"</s>" in words[:-1])
    histories = tokens[:, 0]
    for length in range(2, level):
        histories = trie.find(length, histories, tokens[:, length - 1])
    if (orphans := np.flatnonzero(usable & (histories < 0))).size:
        raise lines.fault(
            f"this {level}-gram begins with a {level - 1}-gram that is not in the file.",
            number=opened + int(orphans[0]) + 1,
        )
    places = np.flatnonzero(usable)
    keys = histories[places] * trie.base + tokens[places, -1]
    sequence = np.argsort(keys, kind="stable")
    keys, places = keys[sequence], places[sequence]
    if (again := np.flatnonzero(keys[1:] == keys[:-1])).size:
        raise lines.fault(f"this {level}-gram is listed twice.", number=opened + int(places[again + 1].min()) + 1)
    trie.keys.append(keys)
    model.probability.append(10.0 ** numbers[places, 0])
    model.back_off.append(10.0 ** numbers[places, 1])
