"""A run folder is one run's, is whole at every moment, and names its last good weights when the work fails."""

from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file

from foreword.assembly.difference import difference
from foreword.basics.messages import Fault, RunFailed
from foreword.runs.folder import RunFolder
from foreword.runs.loop import RunLoop
from foreword.runs.opening import open_model
from foreword.runs.train import text_run, train
from foreword.training.trainer import Progress
from tests.tiny import tiny


@pytest.fixture
def finished(stores, tmp_path):
    return train(tiny("gpt2"), stores["byte_bpe"], tmp_path / "run")


def test_it_holds_what_the_design_says(finished):
    inside = {path.name for path in finished.path.iterdir()}
    assert inside == {"recipe.toml", "model", "checkpoints", "metrics.jsonl", "passport.json"}
    model = {path.name for path in finished.model.iterdir()}
    assert {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "generation_config.json",
        "README.md",
    } <= model
    assert not list(finished.path.rglob(".*")), "nothing half-written is left"
    assert len(finished.checkpoints()) == 2
    assert finished.recipe() == tiny("gpt2")
    passport = finished.passport()
    assert {
        "format",
        "data",
        "command",
        "versions",
        "seed",
        "tokenizer",
        "parameters",
        "flops",
        "tokens",
        "best",
    } <= passport.keys()
    assert passport["finished"] is True
    assert passport["tokens"] == 9 * 8 * 32
    for line in (finished.path / "metrics.jsonl").read_text().splitlines():
        assert json.loads(line)["step"] <= 9


def test_the_best_weights_are_the_model(finished):
    valid = {record["step"]: record["valid"]["nll.tokens"] for record in finished.metrics() if "valid" in record}
    assert finished.passport()["best"]["step"] == min(valid, key=valid.get)
    last = {
        name.removeprefix("model/"): value for name, value in finished.latest()[0].items() if name.startswith("model/")
    }
    loaded = open_model(finished.path).model.weights()
    if finished.passport()["best"]["step"] == 9:
        assert all(torch.equal(weight, last[name]) for name, weight in loaded.items())


@pytest.mark.parametrize(
    ("settings", "differ"),
    [
        (("network.width=64",), "network.width: 32 -> 64"),
        (("training.seed=9",), "training.seed: 0 -> 9"),
        (("training.optimizer.learning_rate=1.0",), "training.optimizer.learning_rate"),
    ],
)
def test_another_recipe_in_the_same_folder_is_refused(finished, stores, settings, differ):
    before = {path: path.read_bytes() for path in finished.path.rglob("*") if path.is_file()}
    with pytest.raises(Fault, match="holds another run") as caught:
        train(tiny("gpt2", *settings), stores["byte_bpe"], finished.path)
    assert differ in str(caught.value)
    assert before == {path: path.read_bytes() for path in finished.path.rglob("*") if path.is_file()}, (
        "nothing was touched"
    )


def test_other_text_and_other_folders_are_refused(finished, stores, tmp_path):
    with pytest.raises(Fault, match="the text"):
        train(tiny("gpt2"), stores["paragraphs"], finished.path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(Fault, match="is not empty and not a run"):
        train(tiny("gpt2"), stores["byte_bpe"], tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]


def test_a_longer_budget_goes_on(finished, stores):
    assert finished.latest()[1].step == 9
    longer = train(tiny("gpt2", 'training.budget="12"'), stores["byte_bpe"], finished.path)
    assert longer.latest()[1].step == 12


def test_a_store_without_the_special_tokens_is_refused(stores, tmp_path):
    with pytest.raises(Fault, match=r"which has no \[cls\], \[separator\], \[mask\]"):
        train(tiny("bert"), stores["byte_bpe"], tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_line_cut_short_is_no_record(tmp_path):
    run = RunFolder(tmp_path)
    for step in range(3):
        run.note({"step": step})
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write('{"step": 3, "lo')
    assert [record["step"] for record in run.metrics()] == [0, 1, 2]
    run.forget_after(2)
    assert (tmp_path / "metrics.jsonl").read_text() == '{"step": 0}\n{"step": 1}\n'


def test_checkpoints_are_kept_in_order_and_few(tmp_path):
    run = RunFolder(tmp_path)
    for step in (2, 10, 9_999, 10_000_000):
        run.save({"x": torch.full((2,), float(step))}, Progress(step=step, best={"valid": 1.0}), keep=2)
    assert [path.name for path in run.checkpoints()] == ["step-000009999", "step-010000000"]
    tensors, progress = run.latest()
    assert tensors["x"].tolist() == [1e7, 1e7]
    assert (progress.step, progress.best) == (10_000_000, {"valid": 1.0})


def test_a_checkpoint_of_another_format_is_said(tmp_path):
    run = RunFolder(tmp_path)
    path = run.save({"x": torch.zeros(1)}, Progress(step=1), keep=1)
    saved = json.loads((path / "progress.json").read_text())
    (path / "progress.json").write_text(json.dumps({**saved, "format": 99}))
    with pytest.raises(Fault, match="another format"):
        run.latest()


@pytest.mark.parametrize("step", [1, 7])
def test_a_loss_that_is_not_a_number_names_the_last_good_checkpoint(stores, tmp_path, monkeypatch, step):
    real = RunLoop.resume

    def poisoned(session):
        real(session)
        learn = session.learner.step

        def poison(batch, number, spent, tokens):
            if number == step:
                with torch.no_grad():
                    session.model.network.blocks[1].attention.out.weight.fill_(float("inf"))
            return learn(batch, number, spent, tokens)

        session.learner.step = poison

    monkeypatch.setattr(RunLoop, "resume", poisoned)
    with pytest.raises(RunFailed) as caught:
        train(tiny("gpt2"), stores["byte_bpe"], tmp_path / "run")
    run, said = RunFolder(tmp_path / "run"), str(caught.value)
    assert f"step {step + 1}: the loss is not a number" in said
    assert "Largest gradient: network." in said
    assert caught.value.code == 1
    if step == 1:
        assert "Nothing was saved before it" in said
        assert not run.checkpoints()
    else:
        assert f"The last good weights are in {run.path}/checkpoints/step-000000006" in said
        assert run.checkpoints()[-1].name == "step-000000006"
    for file in run.path.rglob("*.safetensors"):
        assert all(torch.isfinite(tensor).all() for tensor in load_file(file).values()), file


@pytest.mark.parametrize("valid", range(20, 60))
def test_a_small_validation_text_never_stops_a_run(valid, store, capsys):
    """For every size of held-out text, batches of it can be made or it is said that it is too short."""
    from tests.numbered import Numbered

    for name in ("gpt2", "lstm"):
        recipe = tiny(name)
        session = text_run(recipe, store(), store(split="valid"), RunFolder("nowhere"))
        session.learner.collate = list
        batches = list(session.workload.held_out(session, Numbered(valid)))
        assert batches or "not evaluated" in capsys.readouterr().err


def test_the_difference_of_two_recipes_in_lines():
    assert difference({"a": 1, "b": {"c": 2, "d": 3}}, {"a": 1, "b": {"c": 5}, "e": "x"}) == [
        "b.c: 2 -> 5",
        "b.d: 3 -> (not given)",
        'e: (not given) -> "x"',
    ]


def test_opening_what_is_no_model_says_so(tmp_path):
    with pytest.raises(Fault, match="is not there"):
        open_model(tmp_path / "nothing")
    with pytest.raises(Fault, match="is not a model"):
        open_model(tmp_path)
    (tmp_path / "recipe.toml").write_text("")
    with pytest.raises(Fault, match="has no model yet"):
        open_model(tmp_path)


def test_evaluations_do_not_eat_a_wall_clock_budget(tmp_path, store):
    """Of a minute by the clock a tenth may go into evaluations; a budget in steps is evaluated as planned."""

    def records(budget):
        recipe = tiny("gpt2", f'training.budget="{budget}"')
        run = RunFolder(tmp_path / budget)
        session = text_run(recipe, store(), store(split="valid"), run)
        run.claim(recipe, "data")
        session.trainer.progress.seconds, session.evaluating = 20.0, 10.0
        session.evaluate()
        before = len(run.metrics())
        session.evaluate(anyway=True)
        return before, len(run.metrics())

    assert records("1m") == (0, 1)
    assert records("100") == (1, 2)
