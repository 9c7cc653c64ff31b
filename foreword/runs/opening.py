"""Open what was trained: a run, its model folder, or any Hugging Face directory of a known type."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Self

import torch

from foreword.assembly import loader
from foreword.assembly.recipe import Recipe
from foreword.basics.messages import Fault, thousands
from foreword.basics.spec import of_kind
from foreword.counts import kenlm_binary
from foreword.counts.arpa import read_arpa, unescape
from foreword.exchange import hugging_face, server
from foreword.exchange.hugging_face import LoadedFolder
from foreword.exchange.server import ModelElsewhere
from foreword.networks.base import Model
from foreword.networks.dynamic import DynamicReader
from foreword.networks.language_model import LanguageModel
from foreword.networks.source_reader import SourceReader
from foreword.objectives.translation import FromSource
from foreword.parts.frozen import check_precision, freeze
from foreword.runs.folder import RunFolder
from foreword.runs.place import ModelPlace, is_address, model_place
from foreword.tokens.kinds import Word
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.vocabulary import Vocabulary
from foreword.training.learner import LearnedModel
from foreword.vectors.table import NO_BITS, VectorTable

ABILITIES = ("score", "generate", "translate", "fill", "predict", "embed", "neighbours")  # in the order they are named


def open_model(path: str | Path) -> LoadedFolder:
    """A run's model, that of one of its saved steps, a model folder, a file of n-grams, or a model of a server."""
    if is_address(path):
        return server.read(path)
    folder, step = place = model_place(path)
    run = RunFolder(folder)
    if step is not None:
        return _open_step(run, place)
    if folder.is_file():
        return _open_file(folder)
    if run.exists():
        if not (run.model / "config.json").is_file():
            if run.passport().get("finished"):
                raise Fault(
                    f"{path} has no model any more: a study keeps that of its best run only.",
                    "Its study.json says which (kept).",
                )
            raise Fault(f"{path} has no model yet.", f"Train it on:  foreword train {path} --data STORE --out {path}")
        return hugging_face.read(run.model)
    return hugging_face.read(folder)


def _open_file(path: Path) -> LoadedFolder:
    """An n-gram model over words that was made elsewhere: an ARPA file, or KenLM's binary."""
    model = kenlm_binary.KenlmModel(path) if kenlm_binary.is_binary(path) else read_arpa(path)
    words = [piece if piece == "</s>" else unescape(piece) for piece in model.pieces]
    if invalid := next((word for word in words if word != "\n" and (word.split() != [word] or word[0] in "Ġ▁")), None):
        raise Fault(
            f"{path} is not a model of words: {invalid!r} is a piece of another tokenizer, which the file does not hold.",
            "Open the run that it was exported from.",
        )
    values = loader.load("uniform").values()
    values |= {
        "name": path.stem,
        "paper": "",
        "network": {"kind": "arpa", "order": model.order},
        "tokenizer": {"kind": "word"},
    }
    return LoadedFolder(loader.from_values(values, str(path)), model, Word().of(words, "</s>"))


def _open_step(run: RunFolder, place: ModelPlace) -> LoadedFolder:
    """The run's model with the weights of a checkpoint."""
    loaded = open_model(run.path)
    if not isinstance(loaded.model, Model):
        raise Fault(
            f"{run.path} ({loaded.recipe.name}) counts: its saved steps are counts so far, not models.",
            "Leave out the step.",
        )
    saved, _ = run.saved(place.checkpoint)
    with torch.no_grad():
        for name, weight in loaded.model.weights().items():
            weight.copy_(saved[f"model/{name}"])
    return loaded


class TrainedModel:
    """A model, its recipe and its tokenizer. What it can do depends on what it is; asked for more, it says what it can."""

    def __init__(
        self, name: str, recipe: Recipe, model: LearnedModel, tokenizer: Tokenizer | None, precision: str = "float32"
    ):
        self.name, self.recipe, self._tokenizer, self.precision = name, recipe, tokenizer, precision
        if not isinstance(model, Model) and precision != "float32":
            raise Fault(
                f"{name} ({recipe.name}) counts: it has no weights that could be {precision}.",
                "A precision is for networks; leave it out.",
            )
        self.size = (
            model.parameter_count() or None
            if isinstance(model, ModelElsewhere)
            else model.parameter_count()
            if isinstance(model, Model)
            else None
        )
        self.model = freeze(model, precision) if isinstance(model, Model) else model

    @classmethod
    def opened(cls, path: str | Path, precision: str = "float32") -> Self:
        """A run, its model folder, or a Hugging Face directory. precision "int8": a quarter of the memory, and faster."""
        check_precision(precision)
        loaded = open_model(path)
        return cls(str(path), loaded.recipe, loaded.model, loaded.tokenizer, precision)

    def at(self, precision: str) -> Self:
        """The same model in another precision; what stays float32 is shared. From float32 only: int8 has forgotten it."""
        if self.precision == "int8":
            raise Fault(f"{self.name} is open in int8, from which no other precision can be made.", "Load it again.")
        made = type(self)(self.name, self.recipe, self.model, self._tokenizer, precision)
        made.size = self.size
        return made

    def __repr__(self) -> str:
        size = "counts" if self.size is None else f"{thousands(self.size)} parameters"
        size += f" in {self.precision}" if self.precision != "float32" else ""
        return f"<{self.recipe.name} from {self.name}: {size}; can {', '.join(self.abilities)}>"

    @cached_property
    def abilities(self) -> list[str]:
        """What its recipe's network and objective declare, as far as the heads are there."""
        if isinstance(self.model, ModelElsewhere):
            return [one for one in self.model.about["abilities"] if one in ABILITIES]
        heads = set(self.model.heads) if isinstance(self.model, Model) else None
        found = sorted(self.recipe.abilities(heads), key=ABILITIES.index)
        return [*found, "logits"] if heads and "tokens" in heads else found

    @property
    def with_heads(self) -> Model:
        """The network and its heads."""
        if not isinstance(self.model, Model):
            raise Fault(f"{self.name} ({self.recipe.name}) is no network; it can {', '.join(self.abilities)}.")
        return self.model

    @property
    def only_fills(self) -> bool:
        """It guesses hidden tokens, and no next ones: its scores are pseudo-likelihoods."""
        return "fill" in self.abilities and "score" not in self.abilities

    @property
    def nature(self) -> tuple[bool | None, str]:
        """What its scores compare with: whether its tokenizer is lossless (None: the text decides), and the kind of score."""
        lossless = None if self.tokenizer.kind == "word" else self.tokenizer.lossless
        return lossless, "pseudo-likelihood" if self.only_fills else "likelihood"

    def need(self, ability: str) -> None:
        """A fault if it cannot do this, which says what it can."""
        if ability not in self.abilities:
            able, labels = ", ".join(self.abilities) or "do nothing", f"foreword predict {self.name} FILE"
            raise Fault(
                f"{self.name} ({self.recipe.name}) cannot {ability}; it can {able}.",
                f"It was fine-tuned to label text:  {labels}"
                if self.recipe.objective.labelled
                else NO_BITS * isinstance(self.model, VectorTable),
            )

    @property
    def tokenizer(self) -> Tokenizer:
        if self._tokenizer is None:
            raise Fault(
                f"{self.name} has no tokenizer, only weights.",
                "Put tokenizer.json (or vocab.json and merges.txt, or vocab.txt) beside them, or ask for logits of ids.",
            )
        return self._tokenizer

    @cached_property
    def language_model(self) -> LanguageModel:
        self.need("score")
        return self.model.language_model(self.tokenizer.vocabulary())

    def learn_on(self, rate: float) -> None:
        """From now on, its language model is a copy that goes on learning from the texts that it scores."""
        self.need("score")
        if self.precision != "float32":
            raise Fault(f"{self.name} is open in {self.precision}: only float32 can learn.")
        loaded = open_model(self.name)
        if not isinstance(loaded.model, Model):
            raise Fault(
                f"{self.name} ({self.recipe.name}) counts: it does not learn by gradient.", "Leave out --dynamic."
            )
        self.language_model = DynamicReader(loaded.model, self.tokenizer.vocabulary(), rate)

    @cached_property
    def writer(self) -> SourceReader:
        """A model that reads a source and writes a target."""
        self.need("translate")
        tokenizer = self._tokenizer
        start = of_kind(self.recipe.objective, FromSource).known_start(tokenizer)
        known = (
            Vocabulary(self.with_heads.network.table().size(0), -1, ()) if tokenizer is None else tokenizer.vocabulary()
        )
        return self.with_heads.language_model(replace(known, start=start or 0))  # type: ignore[return-value]
