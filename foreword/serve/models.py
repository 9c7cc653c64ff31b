"""The models that are served: each with its name, its abilities, its limits and its thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import foreword
from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault, did_you_mean
from foreword.runs.folder import RunFolder
from foreword.runs.opening import TrainedModel
from foreword.runs.place import model_place
from foreword.serve.errors import Refused
from foreword.serve.metrics import Metrics
from foreword.serve.worker import Worker
from foreword.tasks.example import Example
from foreword.tokens.tokenizer import Tokenizer
from foreword.transfer.kinds.base import prediction_record
from foreword.transfer.predict import Predictor, taught

LONGEST = 8192  # tokens of a prompt, for a model that has no context of its own
MOST_WRITTEN = 4096  # tokens of an answer, for models whose context is no longer


class Labels:
    """What a fine-tuned model answers: a label of a text or a pair of texts, a tag for each word, a stretch of a passage."""

    KINDS: ClassVar[dict[str, str]] = {"tag": "tag", "span": "answer"}  # every other kind classifies

    def __init__(self, opened: Any):
        self.opened = opened
        self.predictors: dict[str, Predictor] = {}
        if isinstance(opened, TrainedModel):
            self.predictors = {name: Predictor(Path(opened.name), name) for name in taught(Path(opened.name))}

    @property
    def tasks(self) -> list[JsonObject]:
        return [{"name": name, "kinds": list(one.kinds)} for name, one in self.predictors.items()]

    @property
    def abilities(self) -> list[str]:
        kinds = {kind for one in self.predictors.values() for kind in one.kinds}
        return sorted({self.KINDS.get(kind, "classify") for kind in kinds or {"classify"}})

    def answers(self, texts: Sequence[str | tuple[str, ...]], task: str) -> list[JsonObject]:
        """The answer to each text or pair, as `foreword predict` writes it."""
        if not self.predictors:
            return [{"answer": label} for label in self.opened.predict(list(texts))]
        if task and task not in self.predictors:
            raise Refused(400, f"task: it knows {', '.join(self.predictors)}, not {task[:100]!r}.", "task")
        if not task and len(self.predictors) > 1:
            raise Refused(400, f"task: say which of {', '.join(self.predictors)}.", "task")
        predictor = self.predictors[task or next(iter(self.predictors))]
        if "span" in predictor.kinds and all(isinstance(one, tuple) and len(one) == 2 for one in texts):
            examples = [Example(str(number), tuple(one)) for number, one in enumerate(texts, 1)]
        else:
            examples = predictor.of_texts(texts)
        found = []
        for example, answer in zip(examples, predictor.predict(examples).answers):
            record = prediction_record(example, answer)
            record.pop("label")
            found.append({**record, "words": [word.text for word in example.words]})
        return found


class ServedModel:
    """One model behind the server."""

    def __init__(self, name: str, opened: Any, metrics: Metrics, most_waiting: int):
        self.name, self.opened, self.created = name, opened, int(time.time())
        self.worker = Worker(name, metrics, most_waiting)
        self.labels = Labels(opened) if "predict" in getattr(opened, "abilities", ["predict"]) else None
        self.abilities = self._abilities()
        if "generate" in self.abilities:
            self.worker.writes(opened.language_model, self.tokenizer)

    def _abilities(self) -> list[str]:
        found = list(getattr(self.opened, "abilities", ["predict"]))
        if self.labels is not None:
            found = [*found, *self.labels.abilities]
        reverse = self._reverse
        if reverse is not None and "generate" in found:  # a model of dialogues
            found = [*found, "rank"] if reverse else [*found, "chat", "candidates"]
        return found

    @property
    def _reverse(self) -> bool | None:
        """Whether a model of dialogues reads them backward; None: it was not trained on dialogues."""
        if not isinstance(self.opened, TrainedModel):
            return None
        run = RunFolder(model_place(self.opened.name).folder) if Path(self.opened.name).exists() else None
        # the model's own folder has the form of a GPT-2, and says nothing of dialogues
        objective = (run.recipe() if run and run.exists() else self.opened.recipe).objective
        return bool(getattr(objective, "reverse", False)) if getattr(objective, "converses", False) else None

    @property
    def tokenizer(self) -> Tokenizer:
        found: Tokenizer = self.opened.tokenizer
        return found

    @cached_property
    def context(self) -> int | None:
        """The most tokens that it reads at once; None: no limit."""
        if "generate" in self.abilities or "score" in self.abilities:
            return self.opened.language_model.context
        if not isinstance(self.opened, TrainedModel):
            return None
        found: int | None = self.opened.with_heads.network.context
        return found

    def need(self, ability: str) -> None:
        if ability not in self.abilities:
            raise Refused(
                400, f"{self.name} cannot {ability}; it can {', '.join(self.abilities) or 'do nothing'}.", "model"
            )

    def ids(self, prompt: str | Sequence[int], param: str = "prompt") -> list[int]:
        """The tokens of a text, or tokens that are ids of this model."""
        if isinstance(prompt, str):
            try:
                return self.tokenizer.encode(prompt)
            except UnicodeEncodeError as error:
                raise Refused(400, f"{param}: this is no text that UTF-8 can hold.", param) from error
        if strange := [one for one in prompt if one >= len(self.tokenizer)]:
            raise Refused(
                400, f"{param}: {self.name} has tokens 0 to {len(self.tokenizer) - 1}, not {strange[0]}.", param
            )
        return list(prompt)

    def prompt_ids(self, prompt: str | Sequence[int], written: int, given: int = 0) -> list[int]:
        """A prompt that this model can go on from. `given`: tokens at its end that are only asked about, not read."""
        ids = self.ids(prompt)
        if not ids and not self.tokenizer.has("[end]"):
            raise Refused(400, f"{self.name} cannot start from nothing: give a prompt.", "prompt")
        longest = self.context or LONGEST
        if len(ids) > longest + given:
            raise Refused(
                400,
                f"{self.name} reads at most {longest} tokens; the prompt has {len(ids)}.",
                "prompt",
                "context_length_exceeded",
            )
        if written > max(self.context or 0, MOST_WRITTEN):
            limit = max(self.context or 0, MOST_WRITTEN)
            raise Refused(400, f"max_tokens is {written}; {self.name} writes at most {limit} at once.", "max_tokens")
        return ids

    def token_text(self, token: int) -> str:
        """A token as OpenAI writes it: its text, or its bytes where it is not whole characters."""
        (piece,) = self.tokenizer.pieces([token])
        text = self.tokenizer.decode([token], keep_specials=True) if self.tokenizer.lossless else piece
        if "\ufffd" not in text:
            return text
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in self.token_bytes(token))

    def token_bytes(self, token: int) -> list[int]:
        """The bytes of a token of a byte-level tokenizer; of another, those of its text."""
        from foreword.tokens.backends import byte_letters

        (piece,) = self.tokenizer.pieces([token])
        if self.tokenizer.kind in ("byte", "byte_bpe"):
            if self._letters is None:
                self._letters = {letter: byte for byte, letter in enumerate(byte_letters())}
            if all(letter in self._letters for letter in piece):
                return [self._letters[letter] for letter in piece]
        return list(piece.encode("utf-8", "replace"))

    _letters: dict[str, int] | None = None

    def about(self) -> JsonObject:
        """What a program or the page may want to know."""
        opened = self.opened
        recipe = getattr(opened, "recipe", None)
        name = recipe.get("name") if isinstance(recipe, dict) else getattr(recipe, "name", None)
        return {
            "id": self.name,
            "object": "model",
            "created": self.created,
            "owned_by": "foreword",
            "abilities": self.abilities,
            "recipe": name,
            "context": self.context if isinstance(opened, TrainedModel) else None,
            "parameters": getattr(opened, "size", None),
            "mask": self.tokenizer.specials.get("[mask]") if "fill" in self.abilities else None,
            "tasks": self.labels.tasks if self.labels else [],
        }


class Served:
    """All models of a server, by name."""

    def __init__(self, models: dict[str, Any], most_waiting: int = 64):
        self.metrics = Metrics()
        self.models = {name: ServedModel(name, one, self.metrics, most_waiting) for name, one in models.items()}

    def find(self, name: str, ability: str = "") -> ServedModel:
        if name not in self.models:
            there = f" It serves {', '.join(self.models)}."
            raise Refused(
                404,
                f"no model is called {name[:100]!r} here.{did_you_mean(name[:100], self.models)}{there}",
                "model",
                "model_not_found",
            )
        if ability:
            self.models[name].need(ability)
        return self.models[name]

    @property
    def busy(self) -> int:
        return sum(one.worker.busy for one in self.models.values())


def open_models(asked: Sequence[str], precision: str, tell: Callable[[str], None]) -> dict[str, Any]:
    """RUN or NAME=RUN -> the models by name."""
    found: dict[str, Any] = {}
    for one in asked:
        name, equals, path = one.partition("=")
        if not equals or Path(one).exists():
            path = one
            place = model_place(path)
            stem = place.folder.resolve()
            name = stem.parent.name if stem.name == "model" else stem.stem if stem.is_file() else stem.name
            name += "" if place.step is None else f"@{place.step}"
        if name in found:
            raise Fault(f"two models would be called {name}.", f"Give one another name:  {name}-2={path}")
        found[name] = _opened(path, precision)
        tell(f"{name}: {found[name]!r}")
    return found


def _opened(path: str, precision: str) -> Any:
    """int8 is for networks; what counts or holds vectors is served as it is beside them."""
    model = foreword.load(path)
    return model.at(precision) if precision != "float32" and getattr(model, "size", None) is not None else model


def finite(log_prob: float) -> float:
    """JSON has no infinity: what cannot be has OpenAI's -9999."""
    return log_prob if np.isfinite(log_prob) else -9999.0
