"""lm-evaluation-harness over HTTP (`--model local-completions`) says what `foreword harness` says in process."""

from __future__ import annotations

import pytest

from foreword.model import LoadedModel
from tests.tiny import counted, drawn, tiny
from tests.unit.serve.served_models import running

lm_eval = pytest.importorskip("lm_eval")
PAIRS = [
    ("The class definition", " defines a class"),
    ("A module is", " a file."),
    ("x = [1, 2", ", 3]"),
    ("The name", " is bound"),
]


def asked(model, kind: str) -> list:
    from lm_eval.api.instance import Instance

    return [
        Instance(
            request_type=kind, doc={}, arguments=pair if kind == "loglikelihood" else (" ".join(pair),), idx=number
        )
        for number, pair in enumerate(PAIRS)
    ]


@pytest.mark.parametrize("name", ["gpt2", "lstm", "kneser-ney"])
def test_the_harness_over_http_is_the_harness(store, tmp_path, name) -> None:
    from lm_eval.models.openai_completions import LocalCompletionsAPI

    from foreword.evaluate.harness import Foreword

    recipe, train = tiny(name), store()
    model = counted(recipe, train, store(split="valid")) if recipe.head is None else drawn(recipe, train.tokenizer)
    opened = LoadedModel(name, recipe, model, train.tokenizer)
    train.tokenizer.save(tmp_path)
    here = Foreword(opened)
    with running({name: opened}) as server:
        there = LocalCompletionsAPI(
            base_url=f"{server.url}/v1/completions",
            model=name,
            tokenizer=str(tmp_path),
            tokenizer_backend="huggingface",
            max_length=33 if name == "gpt2" else 2048,
            tokenized_requests=True,
            num_concurrent=1,
        )
        mine, theirs = (one.loglikelihood(asked(one, "loglikelihood")) for one in (here, there))
        for (log, greedy), (other, likewise) in zip(mine, theirs, strict=True):
            assert other == pytest.approx(log, abs=1e-4)
            assert likewise == greedy
