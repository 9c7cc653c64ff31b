"""`foreword evaluate MODEL TASK` from end to end, for every sort of language model, and what it says when it cannot."""

from __future__ import annotations

import json

import pytest

from foreword.tasks.task import known, opened
from tests.cli.program import TINY, run

FILE = """name = "opposites"
about = "What is the opposite?"
[source]
kind = "jsonl"
test = "opposites.jsonl"
[request]
kind = "choice"
context = "{word} is not"
choices = "{choices}"
gold = "{gold}"
normalise = ["token", "sum", "unconditional"]
"""


@pytest.fixture
def task(tmp_path):
    rows = [
        {"word": word, "choices": [word[::-1], "other", "this one"], "gold": place % 3}
        for place, word in enumerate(
            ("true", "false", "open", "class", "value", "function", "module", "import", "raise", "yield")
        )
    ]
    (tmp_path / "opposites.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    path = tmp_path / "opposites.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["gpt2", "lstm", "kneser-ney", "piece-bigram", "byte-gpt2"])
def test_every_sort_of_language_model_can_be_asked(made, task, name):
    lines = run("evaluate", made(name), task, "--shots", 2).right().splitlines()
    assert lines[0].split() == [
        "task",
        "metric",
        "value",
        "95%",
        "interval",
        "chance",
        "examples",
        "shots",
        "likelihoods",
    ]
    first = lines[1].split()
    assert first[:2] == ["opposites", "accuracy"]
    assert first[4] == "to"
    assert first[6:8] == ["33.3", "10"]
    assert lines[1].endswith("per token")
    assert lines[3].endswith("minus unconditional")
    assert "opposites: the shots are other examples of the same split (test)" in lines


def test_json_and_examples_agree_with_the_table(made, task, tmp_path):
    found = json.loads(run("evaluate", made("gpt2"), task, "--json", "--examples", tmp_path / "all.jsonl").right())
    (score,) = found["scores"]
    assert found["differences"] == []
    assert score["examples"] == 10
    assert score["chance"] == pytest.approx(1 / 3)
    low, high = score["metrics"]["accuracy"]["interval"]
    assert low <= score["metrics"]["accuracy"]["value"] <= high
    rows = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sum(row["judged"]["accuracy"] for row in rows) / 10 == score["metrics"]["accuracy"]["value"]
    table = run("evaluate", made("gpt2"), task).right().splitlines()[1].split()
    assert float(table[2]) == pytest.approx(100 * score["metrics"]["accuracy"]["value"], abs=0.05)


def test_two_models_beside_each_other(made, task):
    found = json.loads(run("evaluate", made("gpt2"), made("lstm"), task, "--json").right())
    assert [score["model"] for score in found["scores"]] == [str(made("gpt2")), str(made("lstm"))]
    values = [score["metrics"]["accuracy"]["value"] for score in found["scores"]]
    apart = next(one for one in found["differences"] if one["metric"] == "accuracy")
    assert apart["difference"] == pytest.approx(values[1] - values[0])
    lines = run("evaluate", made("gpt2"), made("lstm"), task).right().splitlines()
    assert any(line.startswith("task") and f"minus {made('gpt2')}" in line for line in lines)


def test_the_prompt_is_shown_as_it_was_asked(made, task):
    out = run("evaluate", made("kneser-ney"), task, "--shots", 1, "--show-prompt", "--limit", 3).right()
    assert out.startswith("--- opposites: the first prompt, 1 shot ---\n")
    assert "\n\ntrue is not[ eurt][ other][ this one]\n" in out


def test_too_many_shots_are_said_never_cut_in_silence(made, task):
    assert run("evaluate", made("gpt2"), task, "--shots", 10).fault() == (
        "opposites has only 9 other examples in 'test'; 10 shots cannot be drawn.\n    Give at most --shots 9."
    )
    out = run("evaluate", made("gpt2"), task, "--shots", 9).right()  # a context of 32 tokens
    assert "10 of 10 prompts had no room for 9 shots: " in out
    assert "whole examples were dropped, the first ones first" in out
    assert " of 9 " in out.splitlines()[1]


def test_a_task_file_with_faults_says_them_all(made, task):
    task.write_text(FILE.replace("context =", "contxt =").replace('"token"', '"tokens"'), encoding="utf-8")
    said = run("evaluate", made("gpt2"), task).fault()
    assert f"{task}:8  request.contxt\n    there is no setting 'contxt' here. Did you mean context?" in said
    assert f"{task}:11  request.normalise.0" in said
    task.write_text(FILE.replace("{word}", "{wrod}"), encoding="utf-8")
    assert run("evaluate", made("gpt2"), task).fault() == (
        f"{task}:8  request.context\n    the rows have no column 'wrod'. Did you mean word? Columns: word, choices, gold."
    )


def test_words_that_are_neither_model_nor_task(made, task):
    assert run("evaluate", made("gpt2"), "lambda").fault() == (
        "'lambda' is neither a model that is there nor a task. Did you mean lambada?\n"
        "    Models are runs or folders; `foreword list tasks` shows the tasks."
    )
    assert run("evaluate", task).code == 2
    assert (
        run("evaluate", made("gpt2"), "bits", task).fault().startswith("bits asks about text and tasks about examples")
    )
    assert "bert" in run("evaluate", made("bert"), task).fault()
    assert (
        run("evaluate", made("gpt2"), "lambada", "--data", made("gpt2"))
        .fault()
        .startswith(
            "lambada.toml:8  source.test\n    lambada/lambada_test.jsonl is neither beside the task file nor in"
        )
    )


def test_options_that_mean_nothing_are_said(made, task):
    assert (
        run("evaluate", made("gpt2"), task, "--mix", "--stride", 4).fault()
        == "--stride and --mix mean nothing to tasks.\n    Leave it out."
    )
    assert run("evaluate", made("gpt2"), "--shots", 0).fault() == "--shots means nothing to bits.\n    Leave it out."
    assert run("evaluate", made("gpt2"), task, "--precision", "int8").right().count("\nasked in int8\n") == 1


def test_the_list_of_tasks():
    lines = run("list", "tasks").right().splitlines()
    assert lines[0].startswith("bits ")
    assert any(line.startswith("lambada ") for line in lines)
    rows = {row["name"]: row for row in json.loads(run("list", "tasks", "--json").right())}
    assert rows["arithmetic"]["variants"].count(",") == 9


def test_the_list_of_tasks_says_which_can_be_learned():
    """Exactly those that `foreword finetune` would take, each with its kind."""
    rows = {row["name"]: row["finetune"] for row in json.loads(run("list", "tasks", "--json").right())}
    assert {name: kind for name, kind in rows.items() if kind} == {
        name: learn.kind for name in known() if (learn := opened(name)[0].spec.learn)
    }
    assert (rows["sst2"], rows["rte"], rows["stsb"], rows["bits"], rows["lambada"]) == (
        "classify",
        "pair",
        "similarity",
        "",
        "",
    )
    assert any(
        line.startswith("squad ") and line.endswith("(finetune: span)")
        for line in run("list", "tasks").right().splitlines()
    )


def test_built_in_tasks_of_each_kind(made, data):
    out = run(
        "evaluate",
        made("gpt2"),
        made("kneser-ney"),
        "lambada",
        "hellaswag",
        "winogrande",
        "arithmetic/two_digit_addition",
        "word-scramble/reversed",
        "translation/en-de",
        "dialogsum",
        "squad",
        "sst2",
        "--limit",
        4,
        "--data",
        data,
    ).right()
    for word in ("ROUGE-L", "BLEU", "F1", "exact match", "perplexity", "accuracy, no stop words"):
        assert word in out


def test_a_training_asks_tasks_as_it_goes_and_its_saved_steps_are_models(made, task, tmp_path):
    out = tmp_path / "run"
    run(
        "train",
        "gpt2",
        *TINY,
        "--budget",
        8,
        "--set",
        'training.evaluate="4"',
        "--set",
        'training.save="4"',
        "--data",
        made("bpe"),
        "--out",
        out,
        "--ask",
        task,
    ).right()
    records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [one["step"] for one in records if "asked" in one] == [4, 8]
    assert "<svg" in (out / "report.html").read_text(encoding="utf-8")
    score = json.loads(run("evaluate", f"{out}@4", task, "--shots", 0, "--json").right())["scores"][0]
    assert (
        score["metrics"]["accuracy"]["value"]
        == records[[one["step"] for one in records].index(4) + 1]["asked"]["opposites"]["accuracy"]
    )
    assert run("generate", f"{out}@4", "The", "--max-tokens", 4).right().startswith("The")
    for command in (["evaluate", f"{out}@5", task], ["generate", f"{out}@5"]):
        assert "has no step 5. Steps there are: 4, 8." in run(*command).fault()
    assert (
        run("train", "bert", *TINY, "--data", made("pieces"), "--out", tmp_path / "b", "--ask", task)
        .fault()
        .startswith("bert does not predict next tokens")
    )
