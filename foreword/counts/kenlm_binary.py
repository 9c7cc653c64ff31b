"""KenLM's binary files, asked through the `kenlm` package: it looks n-grams up, this gives it our ids and states."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.packages import needed
from foreword.counts.model import CountModel
from foreword.tokens.vocabulary import Vocabulary

MAGIC = b"mmap lm http://kheafield.com/code format version"
LN10 = float(np.log(10))


def is_binary(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def words_of(path: Path) -> list[str]:
    """The vocabulary, which stands at the end of the file, each word followed by a zero byte, `<unk>` first."""
    content = np.memmap(path, np.uint8, "r")
    step, at = 1 << 20, len(content)
    while at > 0:
        at = max(0, at - step)
        tail = content[at : at + step + 8].tobytes()
        if (found := tail.rfind(b"<unk>\0")) >= 0:
            text = content[at + found :].tobytes()
            return [word.decode("utf-8", "surrogateescape") for word in text.split(b"\0")[:-1]]
    raise Fault(f"{path} does not hold its vocabulary.", "Make it again from the ARPA file with build_binary.")


class KenlmModel(CountModel):
    """A language model like the others; looking up one token at a time, it is for scoring rather than for sampling."""

    def __init__(self, path: Path):
        self.kenlm = needed("kenlm", "kenlm", f"{path} is a binary of KenLM, and opening it needs")
        self.pieces = [word for word in words_of(path) if word != "<s>"]
        end = self.pieces.index("</s>") if "</s>" in self.pieces else -1
        super().__init__(Vocabulary(len(self.pieces), end, ()))
        self.model = self.kenlm.Model(str(path))
        self.order = int(self.model.order)

    def _start(self, opening: bool) -> Any:
        state = self.kenlm.State()
        (self.model.BeginSentenceWrite if opening else self.model.NullContextWrite)(state)
        return state

    def _step(self, state: Any, token: int) -> tuple[float, Any]:
        """(log10 of the token's probability, the state behind it); behind an end, the next document begins."""
        after = self.kenlm.State()
        cost = self.model.BaseScore(state, self.pieces[token], after)
        return cost, self._start(True) if token == self.vocabulary.end else after

    def _read(self, ids: np.ndarray) -> tuple[list[float], Any]:
        """Walk along ids, the first of which is given: what each of the others costs, and the state behind the last."""
        costs: list[float] = []
        if not len(ids) or ids[0] == self.vocabulary.end:
            state = self._start(True)
        else:
            _, state = self._step(self._start(False), int(ids[0]))
        for token in ids[1:].tolist():
            cost, state = self._step(state, token)
            costs.append(cost)
        return costs, state

    def _spread(self, state: np.ndarray) -> np.ndarray:
        return LN10 * np.array([[self._step(row, token)[0] for token in range(len(self.pieces))] for row in state])

    def begin(self, prompts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        state = np.array([self._read(self.checked(prompt))[1] for prompt in prompts], object)
        return self._spread(state), state

    def advance(self, tokens: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        after = np.array(
            [self._step(row, token)[1] for row, token in zip(state, self.checked(tokens).tolist())], object
        )
        return self._spread(after), after

    def score(self, sequences: Sequence[np.ndarray], starts: Sequence[int]) -> list[np.ndarray]:
        found = []
        for ids, start in zip(sequences, starts):
            start = max(start, 1)
            cut = max(0, start - max(self.order - 1, 1))
            found.append(LN10 * np.array(self._read(self.checked(ids[cut:]))[0][start - cut - 1 :], float))
        return found

    def estimate(self, held_out: np.ndarray | None) -> None:
        """The file did that."""

    def count(self, ids: np.ndarray) -> int:
        raise Fault("a binary of KenLM cannot count more text: it holds probabilities, not counts.")

    def arrays(self) -> dict[str, np.ndarray]:
        raise Fault("a binary of KenLM cannot be written again.", "Use the ARPA file that it was made from.")

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        raise Fault("a binary of KenLM is opened from its file.")
