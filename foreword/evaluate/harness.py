"""Our models through EleutherAI's lm-evaluation-harness: `--model foreword --model_args path=runs/gpt2`.

The harness (0.4.13) has no way for a package to announce a model: a model is known once its module was imported. Two ways:

    foreword harness runs/gpt2 --tasks lambada_openai          the model, then any argument of lm_eval
    lm_eval --model foreword --model_args path=runs/gpt2 --tasks task.yaml      if the task file imports us:
        metadata: {version: 1.0, model: !function foreword.evaluate.harness.Foreword}

Every number is the one that the harness gets through `transformers` (`--model hf`) for the same model exported:

  * a text with nothing before it follows the end-of-document token, which is both BOS and EOS of GPT-2;
  * a pair that is too long loses tokens from its beginning, and is read as its last `context + 1` tokens;
  * rolling log-likelihood reads a text in windows of the whole context, side by side (a stride of `context`); the last one
    reaches back as far as it can. `foreword evaluate` has windows overlap by half, and so gives a little better numbers.

What differs: where theirs stops, because a prompt leaves no room for `max_gen_toks` or a continuation is longer than the
context, ours reads on (half the context of the prompt; the continuation in windows); and a special token written out in a
text ("<|endoftext|>") is text to us.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import lm_eval.models  # noqa: F401   fills the harness's table of models, which it does not do itself once ours is in it
import numpy as np
import torch
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model
from lm_eval.models.utils import normalize_gen_kwargs

from foreword.basics.files import JsonObject
from foreword.basics.messages import Fault
from foreword.basics.progress import ticking
from foreword.batches.by_length import by_length
from foreword.evaluate import bits_per_byte as bits
from foreword.evaluate.generation import continued
from foreword.evaluate.likelihood import Pair, document_start, encode_pairs, fit, follow_greedily, log_probs
from foreword.generate.sample import Sampling
from foreword.networks.language_model import LanguageModel
from foreword.runs.opening import TrainedModel

AT_ONCE = 256  # requests between two signs of life; the model itself makes batches of them by length
SAID_AT_ONCE = 32  # texts that are generated side by side
GENERATED = 256  # tokens, when a task does not say how many
HANDED_ON = ("temperature", "top_p", "top_k", "repetition_penalty", "seed")  # the same words in the harness and here
MET = {"until", "max_gen_toks", "do_sample", *HANDED_ON}


@register_model("foreword")
class Foreword(LM):
    """A run, a model folder or a Hugging Face directory: networks that read on, and models that count."""

    def __init__(
        self,
        path: str | TrainedModel,
        precision: str = "float32",
        batch_size: int | str | None = None,
        max_batch_size: int | None = None,
        device: str | None = None,
        **unknown: Any,
    ):
        super().__init__()  # a device is not looked at: the harness says cuda:0 where nobody said anything
        if unknown:
            raise Fault(
                f"the model `foreword` takes no {', '.join(unknown)}.", "It takes path, precision and batch_size."
            )
        self.opened = path if isinstance(path, TrainedModel) else TrainedModel.opened(path, precision)
        self.model: LanguageModel = self.opened.language_model
        self.tokenizer = self.opened.tokenizer
        self._device = torch.device("cpu")
        # the harness says 1 when nobody said anything, and "auto" for what we do anyway
        self.at_once = int(said) if (said := str(batch_size)).isdigit() and said != "1" else 0

    @property
    def tokenizer_name(self) -> str:
        return f"{self.tokenizer.name}-{self.tokenizer.fingerprint[:8]}"

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """Log-probability of each continuation, and whether taking the likeliest token each time would say it."""
        asked = [request.args for request in requests]
        pairs = [fit(pair, self.model.context) for pair in encode_pairs(self.tokenizer, asked)]
        answers: list[tuple[float, bool]] = [(0.0, True)] * len(pairs)
        for rows in self._by_length([len(pair.context) + len(pair.continuation) for pair in pairs], "log-likelihood"):
            some = [pairs[row] for row in rows]
            logs = log_probs(self.model, some)
            for row, log, greedy in zip(rows, logs, are_greedy(self.model, some, logs)):
                answers[row] = (float(np.sum(log)), greedy)
                self.cache_hook.add_partial("loglikelihood", asked[row], answers[row])
        return answers

    def loglikelihood_rolling(self, requests: list[Instance]) -> list[float]:
        """Log-probability of whole texts, each on its own, every token once."""
        texts = [bits.text_of(request.args[0], self.tokenizer) for request in requests]
        answers = [0.0] * len(texts)
        for rows in self._by_length([len(text.ids) for text in texts], "rolling log-likelihood"):
            found = bits.log_probs(self.model, self.tokenizer, [texts[row] for row in rows], stride=self.model.context)
            for row, logs in zip(rows, found):
                answers[row] = float(logs.sum())
                self.cache_hook.add_partial("loglikelihood_rolling", requests[row].args, answers[row])
        return answers

    def generate_until(self, requests: list[Instance]) -> list[str]:
        """What the model says after each prompt, up to a stop string."""
        asked = [request.args for request in requests]
        answers, rows = [""] * len(asked), self.at_once or SAID_AT_ONCE
        how = [self._sampling(said) for _, said in asked]
        whole = self.tokenizer.encode_many([prompt for prompt, _ in asked])
        rooms = [self._room(one.max_tokens) or 0 for one in how]
        read = [ids[-room:] if len(ids) else document_start(self.tokenizer) for ids, room in zip(whole, rooms)]
        with ticking("generate") as ticker:
            for done, (row, text) in enumerate(continued(self.model, self.tokenizer, read, how, rows), 1):
                answers[row] = text
                self.cache_hook.add_partial("generate_until", asked[row], text)
                ticker.update(done / len(asked))
        return answers

    def _room(self, generated: int) -> int | None:
        """How many tokens of a prompt are read, so that there is room for what will be generated."""
        context = self.model.context
        return None if context is None else context - generated if generated < context else max(1, context // 2)

    def _sampling(self, how: JsonObject) -> Sampling:
        """The harness's settings as ours."""
        said = dict(normalize_gen_kwargs(how, GENERATED))
        if invalid := sorted(name for name, value in said.items() if name not in MET and value is not None):
            raise Fault(
                f"the task asks for {', '.join(invalid)}, which Foreword's sampling does not have.",
                "Take it out of the task's generation_kwargs, or set it to null.",
            )
        settings = {name: said[name] for name in HANDED_ON if said.get(name) is not None}
        if not said["do_sample"]:
            settings = {"temperature": 0.0}
        return Sampling(max_tokens=said["max_gen_toks"], stop=tuple(stop for stop in said["until"] if stop), **settings)

    def _by_length(self, lengths: Sequence[int], what: str) -> Iterator[list[int]]:
        """Numbers of requests, the longest first, so that a batch has little padding and a lack of memory shows at once."""
        done = 0
        with ticking(what) as ticker:
            for some in by_length(lengths, sys.maxsize, self.at_once or AT_ONCE):
                yield some
                done += len(some)
                ticker.update(done / len(lengths))


def are_greedy(model: LanguageModel, pairs: Sequence[Pair], logs: Sequence[np.ndarray]) -> list[bool]:
    """Whether each continuation is what taking the likeliest token each time would say; `logs` are its log-probabilities.

    A token as likely as all others together is the likeliest; one below the average of the vocabulary is not. Only where
    neither holds for all tokens is the model asked, a token at a time.
    """
    least = -math.log(model.vocabulary.size) - 1e-3
    found = [bool((log > -math.log(2) + 1e-3).all()) for log in logs]
    left = [row for row, log in enumerate(logs) if not found[row] and (log >= least).all()]
    none = [np.zeros(0, np.int64)] * len(left)
    for row, scored in zip(left, follow_greedily(model, [pairs[row] for row in left], none)):
        found[row] = scored.greedy
    return found


def main(arguments: Sequence[str]) -> None:
    """The harness's own command line, with our model known to it."""
    from lm_eval.__main__ import cli_evaluate

    sys.argv = ["lm_eval", *arguments]
    cli_evaluate()
