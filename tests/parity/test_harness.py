"""lm-evaluation-harness: through our adapter and through `transformers` it finds the same numbers for the same weights.

Local task files over a few lines of the shared data; nothing is fetched. The model has random weights and a context so
short that passages must be cut and texts read in several windows.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import foreword
from foreword.assembly import loader
from foreword.basics.messages import Fault
from foreword.cli.main import app
from foreword.exchange import hugging_face
from foreword.tokens.kinds import ByteBPE
from tests.tiny import COUNTING, documents, drawn, tiny

for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"):
    os.environ.setdefault(name, "1")
lm_eval = pytest.importorskip("lm_eval")
pytest.importorskip("transformers")
pytest.importorskip("datasets")
pytest.importorskip("accelerate", reason="the harness needs accelerate to reach transformers")

from lm_eval._cli import HarnessCLI  # noqa: E402
from lm_eval.api.instance import Instance  # noqa: E402
from lm_eval.models.huggingface import HFLM  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402

from foreword.evaluate.bits_per_byte import score_texts, text_of  # noqa: E402
from foreword.evaluate.harness import Foreword, are_greedy  # noqa: E402
from foreword.evaluate.likelihood import Pair, score_whole_texts  # noqa: E402
from foreword.evaluate.prompted import run_task  # noqa: E402
from foreword.evaluate.requests import PromptedModel  # noqa: E402
from foreword.evaluate.score import total  # noqa: E402
from foreword.tasks.prompted.whole_text import RollingRequest  # noqa: E402
from foreword.tasks.task import load  # noqa: E402

LIMIT = 24
CONTEXT = 96
TASKS = {
    "lambada": """
task: local_lambada
output_type: loglikelihood
doc_to_text: "{{text.split(' ')[:-1]|join(' ')}}"
doc_to_target: "{{' '+text.split(' ')[-1]}}"
metric_list: [{metric: perplexity, aggregation: perplexity, higher_is_better: false}, {metric: acc, aggregation: mean, higher_is_better: true}]
""",
    "arc_easy": r"""
task: local_arc_easy
output_type: multiple_choice
doc_to_text: "{{query}}\nAnswer:"
doc_to_target: "{{gold}}"
doc_to_choice: "{{choices}}"
metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}, {metric: acc_norm, aggregation: mean, higher_is_better: true}]
""",
    "wikitext": """
task: local_wikitext
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{page}}"
metric_list: [{metric: word_perplexity}, {metric: byte_perplexity}, {metric: bits_per_byte}]
""",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small GPT-2 with weights far from zero, as a Hugging Face directory."""
    path = tmp_path_factory.mktemp("harness") / "gpt2"
    tokenizer = ByteBPE(vocabulary=600).train(list(documents()))
    recipe = tiny("gpt2", f"network.context={CONTEXT}")
    hugging_face.write(path, recipe, drawn(recipe, tokenizer), tokenizer, "a card")
    return path


@pytest.fixture(scope="module")
def tasks(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Task files over local lines, as a user without a network writes them."""
    place = tmp_path_factory.mktemp("tasks")
    pages = (data / "wikitext-2" / "valid.txt").read_text(encoding="utf-8").split("\n = ")[1:]
    rows = {
        "lambada": _lines(data / "lambada" / "lambada_test.jsonl"),
        "arc_easy": _lines(data / "arc" / "arc_easy_test.jsonl"),
        "wikitext": [{"page": page[:1500]} for page in pages[:4]],
    }
    made = {}
    for name, yaml in TASKS.items():
        lines = place / f"{name}.jsonl"
        lines.write_text("".join(json.dumps(row) + "\n" for row in rows[name][:LIMIT]), encoding="utf-8")
        made[name] = place / f"{name}.yaml"
        made[name].write_text(
            f"{yaml}dataset_path: json\ndataset_kwargs: {{data_files: {{test: {json.dumps(str(lines))}}}}}\ntest_split: test\n"
            "metadata: {version: 1.0, model: !function foreword.evaluate.harness.Foreword}\n",
            encoding="utf-8",
        )
    return made


def _lines(path: Path) -> list[dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        return [json.loads(next(file)) for _ in range(LIMIT)]


@pytest.fixture(scope="module")
def both(folder: Path, tasks: dict[str, Path]) -> dict[str, dict[str, Any]]:
    """What the harness finds through `hf` and through `foreword`."""
    torch.set_num_threads(1)
    manager = TaskManager(include_path=str(tasks["lambada"].parent), include_defaults=False)
    names = [f"local_{name}" for name in TASKS]
    theirs = HFLM(pretrained=str(folder), device="cpu", dtype="float32", batch_size=8)
    return {
        name: lm_eval.simple_evaluate(
            model=model, tasks=names, task_manager=manager, bootstrap_iters=0, log_samples=True
        )
        for name, model in (("hf", theirs), ("foreword", Foreword(str(folder))))
    }


@pytest.mark.parametrize("task", TASKS)
def test_log_likelihoods_and_scores_are_those_of_transformers(task: str, both) -> None:
    theirs, ours = (both[name]["samples"][f"local_{task}"] for name in ("hf", "foreword"))
    assert len(ours) == len(theirs) == (4 if task == "wikitext" else LIMIT)
    for a, b in zip(theirs, ours):
        assert a["doc_id"] == b["doc_id"]
        assert np.allclose(_numbers(a["filtered_resps"]), _numbers(b["filtered_resps"]), atol=1e-3, rtol=0)
        assert [_greedy(one) for one in a["filtered_resps"]] == [_greedy(one) for one in b["filtered_resps"]]
    left, right = (both[name]["results"][f"local_{task}"] for name in ("hf", "foreword"))
    for metric, value in left.items():
        if isinstance(value, float):
            assert right[metric] == pytest.approx(value, rel=1e-4), metric
            if metric.startswith("acc"):
                assert right[metric] == value


def _numbers(answers: list[Any]) -> list[float]:
    return [float(answer[0] if isinstance(answer, tuple | list) else answer) for answer in answers]


def _greedy(answer: Any) -> Any:
    return answer[1] if isinstance(answer, tuple | list) else None


def test_the_tasks_ask_what_they_should(both) -> None:
    """Cut passages, several windows, and both kinds of answers occur: agreement on an easy half would prove little."""
    assert {sample["acc"] for sample in both["hf"]["samples"]["local_arc_easy"]} == {0.0, 1.0}


def request(kind: str, *args: Any) -> Instance:
    return Instance(request_type=kind, doc={}, arguments=args, idx=0)  # type: ignore[arg-type]


def test_what_is_generated_is_what_transformers_generates(folder: Path) -> None:
    asked = [
        request("generate_until", prompt, how)
        for prompt in ("The quick", "assert statement is used " * 30, "with")
        for how in ({"until": ["\n", "e "], "max_gen_toks": 20}, {"until": [], "max_gen_toks": 9, "do_sample": False})
    ]
    theirs = HFLM(pretrained=str(folder), device="cpu", dtype="float32").generate_until(asked, disable_tqdm=True)
    assert Foreword(str(folder)).generate_until(asked) == theirs
    assert any(theirs)


def test_an_empty_context_and_trailing_spaces_are_read_alike(folder: Path) -> None:
    asked = [
        request("loglikelihood", *pair)
        for pair in (("", "The value"), ("The ", "value"), ("The", " value"), ("a\n", "b c"))
    ]
    theirs = HFLM(pretrained=str(folder), device="cpu", dtype="float32").loglikelihood(asked, disable_tqdm=True)
    ours = Foreword(str(folder)).loglikelihood(asked)
    assert np.allclose([value for value, _ in ours], [value for value, _ in theirs], atol=1e-3)
    assert ours[1][0] == pytest.approx(ours[2][0], abs=1e-6)


def test_where_theirs_stops_ours_reads_on(folder: Path) -> None:
    model, long = Foreword(str(folder)), " value" * 200
    assert (
        model.loglikelihood([request("loglikelihood", "a", long)])[0][0]
        < model.loglikelihood([request("loglikelihood", "a", " value")])[0][0]
    )
    assert model.generate_until([request("generate_until", "a" + long, {"until": [], "max_gen_toks": 2 * CONTEXT})])[0]


def test_greedy_is_what_the_model_says_by_itself(folder: Path) -> None:
    model = Foreword(str(folder))
    said = np.asarray(foreword.load(folder).continuations("The quick", max_tokens=6, temperature=0.0)[0].ids)
    start = np.asarray(model.tokenizer.encode("The quick"))
    other = (said[-1] + 1) % 500
    pairs = [
        Pair(start, said),
        Pair(start, np.append(said[:-1], other)),
        Pair(start, np.append([other], said)),
        Pair(start, said[:2]),
    ]
    logs = model.model.score([np.concatenate(pair) for pair in pairs], [len(start)] * 4)
    assert are_greedy(model.model, pairs, logs) == [True, False, False, True]
    assert are_greedy(model.model, pairs[1:3], logs[1:3]) == [False, False]


class Known:
    """A model that says 0 1 2 3 0 1 ..., each with the probability given; to leave one out is nearly as likely."""

    context = None

    def __init__(self, probability: float):
        self.vocabulary = type("V", (), {"size": 4})
        second = min(0.28, 0.9 * (1 - probability))  # above the average of the vocabulary, if it can be
        self.table = np.full((4, 4), math.log((1 - probability - second) / 2))
        self.table[np.arange(4), (np.arange(4) + 2) % 4] = math.log(second)
        self.table[np.arange(4), (np.arange(4) + 1) % 4] = math.log(probability)

    def begin(self, prompts):
        last = np.asarray([prompt[-1] for prompt in prompts])
        return self.table[last], last

    def advance(self, tokens, state):
        return self.table[tokens], tokens

    def select(self, state, rows):
        return state[rows]

    def logs(self, pair: Pair) -> np.ndarray:
        row = np.concatenate(pair)
        return self.table[row[:-1], row[1:]][len(pair.context) - 1 :]


@pytest.mark.parametrize("probability", [0.3, 0.6, 0.9])
def test_shortcuts_to_greedy_change_no_answer(probability: float) -> None:
    model = Known(probability)
    pairs = [
        Pair(np.asarray([3]), np.asarray(row)) for row in ([0, 1, 2], [0, 1, 3], [1], [0], [0, 1, 2, 3, 0, 1], [2, 3])
    ]
    assert are_greedy(model, pairs, [model.logs(pair) for pair in pairs]) == [True, False, False, True, True, False]  # type: ignore[arg-type]


@pytest.mark.parametrize("recipe", [name for name in COUNTING if "score" in loader.load(name).abilities()])
def test_models_that_count_answer_too(recipe: str, store, tmp_path: Path) -> None:
    from tests.tiny import counted

    chosen, text = tiny(recipe), "the value of the expression"
    model = counted(chosen, store(), store(split="valid"))
    hugging_face.write(tmp_path / "m", chosen, model, store().tokenizer, "a card")
    ours = Foreword(str(tmp_path / "m"))
    whole = foreword.load(tmp_path / "m").score(text).nats
    assert ours.loglikelihood_rolling([request("loglikelihood_rolling", text)])[0] == pytest.approx(-whole)
    assert ours.loglikelihood([request("loglikelihood", "", text)])[0][0] == pytest.approx(-whole)
    assert isinstance(
        ours.generate_until([request("generate_until", "the", {"until": ["\n"], "max_gen_toks": 5})])[0], str
    )


def test_lm_eval_itself_finds_our_model(folder: Path, tasks: dict[str, Path], tmp_path: Path, both) -> None:
    """The task file names our class, so the harness imports it."""
    given = [
        "--model",
        "foreword",
        "--model_args",
        f"path={folder}",
        "--tasks",
        str(tasks["arc_easy"]),
        "--output_path",
        str(tmp_path / "out"),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "lm_eval", *given],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    written = json.loads(next((tmp_path / "out").rglob("*.json")).read_text(encoding="utf-8"))
    found, expected = written["results"]["local_arc_easy"], both["foreword"]["results"]["local_arc_easy"]
    for metric in ("acc,none", "acc_norm,none"):
        assert found[metric] == expected[metric]


def test_our_verb_hands_on_what_the_harness_understands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[str] = []
    (tmp_path / "runs/a").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lm_eval.__main__.cli_evaluate", lambda: given.extend(sys.argv[1:]))
    monkeypatch.setattr(sys, "argv", ["foreword"])
    app(["harness", "runs/a", "--tasks", "lambada_openai", "--limit", "5"], standalone_mode=False)
    assert HarnessCLI()._parser.parse_args(given).model_args == {"path": "runs/a", "precision": "float32"}
    assert given[-4:] == ["--tasks", "lambada_openai", "--limit", "5"]


def test_what_it_cannot_take_is_said(folder: Path) -> None:
    with pytest.raises(Fault, match="takes no pretrained"):
        Foreword(str(folder), pretrained="gpt2")
    with pytest.raises(Fault, match="num_beams"):
        Foreword(str(folder)).generate_until([request("generate_until", "a", {"until": [], "num_beams": 4})])


# --- and our own evaluation ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def asked(folder: Path) -> PromptedModel:
    model = foreword.load(folder)
    return PromptedModel(str(folder), model.language_model, model.tokenizer)


def test_our_lambada_is_theirs(asked: PromptedModel, both) -> None:
    (task,) = load("lambada")
    outcome = run_task(task, asked, limit=LIMIT)
    theirs = both["hf"]["samples"]["local_lambada"]
    assert np.allclose(
        [one.shown["log_probability"] for one in outcome.judged],
        [_numbers(one["filtered_resps"])[0] for one in theirs],
        atol=1e-3,
    )
    assert outcome.of("accuracy") == [bool(one["acc"]) for one in theirs]
    assert outcome.value("perplexity") == pytest.approx(
        both["hf"]["results"]["local_lambada"]["perplexity,none"], rel=1e-4
    )


def test_our_arc_easy_is_theirs(asked: PromptedModel, both) -> None:
    (task,) = load("arc-easy")
    outcome = run_task(task, asked, limit=LIMIT)
    theirs = both["hf"]["samples"]["local_arc_easy"]
    for ours, one in zip(outcome.judged, theirs):
        assert np.allclose(ours.shown["scores"]["sum"], _numbers(one["filtered_resps"]), atol=1e-3)
    assert outcome.of("accuracy") == [bool(one["acc"]) for one in theirs]
    assert outcome.of("accuracy, byte") == [bool(one["acc_norm"]) for one in theirs]


def test_our_wikitext_is_theirs_in_their_windows(asked: PromptedModel, tasks: dict[str, Path], both) -> None:
    """With a stride of the whole context; our usual half costs less."""
    pages = [
        json.loads(line)["page"]
        for line in tasks["wikitext"].with_suffix(".jsonl").read_text(encoding="utf-8").split("\n")
        if line
    ]
    theirs = both["hf"]["samples"]["local_wikitext"]
    scores = [
        score_texts(asked.model, asked.tokenizer, [text_of(page, asked.tokenizer)], CONTEXT).score for page in pages
    ]
    assert np.allclose(
        [-score.nats for score in scores], [_numbers(one["filtered_resps"])[0] for one in theirs], atol=1e-3
    )
    whole = total(scores)
    assert whole.bits_per_byte == pytest.approx(both["hf"]["results"]["local_wikitext"]["bits_per_byte,none"], rel=1e-5)
    told = score_whole_texts(asked, [RollingRequest(original=page) for page in pages])
    assert sum(len(one.logs) for one in told) == whole.tokens
