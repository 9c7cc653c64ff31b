"""`foreword study`, end to end: fine-tuning and training, from options and from a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.cli.program import TINY, run
from tests.cli.test_finetune import QUICK, toy
from tests.labelled import folder


def test_a_study_from_a_file(tmp_path: Path) -> None:
    base, data, out = folder("gpt2", tmp_path / "base"), toy(tmp_path / "toy.csv"), tmp_path / "out"
    words = [
        "study",
        base,
        data,
        "--out",
        out,
        *QUICK,
        "--seeds",
        2,
        "--labels",
        "8,all",
        "--compare",
        "scratch",
        "--set",
        "ensemble=true",
    ]
    said = run(*words)
    lines = said.right().splitlines()
    assert lines[0] == "toy: accuracy, mean over seeds"
    assert lines[1].split()[:3] == ["model", "labels", "rate"]
    assert [line.split()[0] for line in lines[2:13]] == [
        *["pretrained", "scratch", "ensemble", "TF-IDF", "bag"] * 2,
        "majority",
    ]
    assert lines[-1] == str(out)
    assert "run 8 of 8: scratch, all labels" in said.err
    assert (out / "report.html").is_file()
    assert (out / "labels-8" / "scratch" / "seed-1" / "predictions.jsonl").is_file()
    again = run(*words, "--json")
    assert again.err.count("nothing is left to do") == 8
    found = json.loads(again.right())
    assert found == json.loads((out / "study.json").read_text(encoding="utf-8"))
    assert [path.parent.parent for path in out.rglob("model/config.json")] == [Path(found["kept"])]
    (tmp_path / "new.txt").write_text("the film was good\n", encoding="utf-8")
    assert run("predict", found["kept"], tmp_path / "new.txt").right().split()[1] in ("good", "bad")
    assert (
        "keeps that of its best run only" in run("predict", out / "labels-8" / "seed-0", tmp_path / "new.txt").fault()
    )


def test_layers_shares_and_another_model(tmp_path: Path) -> None:
    base, data, out = folder("gpt2", tmp_path / "base"), toy(tmp_path / "toy.csv"), tmp_path / "out"
    other = folder("bert", tmp_path / "bert")
    said = run(
        "study",
        base,
        data,
        "--out",
        out,
        *QUICK,
        "--seeds",
        2,
        "--labels",
        "25%,100%",
        "--layers",
        "0,all",
        "--compare",
        other,
        "--compare",
        "shuffled-labels",
    )
    lines = [line.split("  ")[0].strip() for line in said.right().splitlines()]
    names = ["base", "0 layers", "bert", "shuffled-labels", "TF-IDF", "bag of features, base", "bag of features, bert"]
    assert lines[2:17] == [*names * 2, "majority"]
    assert "25% of 48 training examples: 12" in said.err
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 3
    assert "Layers transferred" in page
    found = json.loads((out / "study.json").read_text(encoding="utf-8"))
    assert {(row["labels"], row["layers"]) for row in found["rows"] if row["layers"] is not None} == {
        (12, 0),
        (12, 2),
        (None, 0),
        (None, 2),
    }
    assert [one["minus"] for one in found["apart"]] == names[1:] * 2


def test_one_number_of_layers_is_one_run(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(
        "finetune",
        folder("gpt2", tmp_path / "base"),
        toy(tmp_path / "toy.csv"),
        "--out",
        out,
        *QUICK,
        "--set",
        "layers=1",
    ).right()
    assert json.loads((out / "passport.json").read_text(encoding="utf-8"))["tuning"]["layers"] == 1


def test_a_loss_that_is_no_number_is_said_in_the_table(tmp_path: Path) -> None:
    """Alone such a run ends with code 1, and says the same when it is asked again; in a study it is a row."""
    base, data = folder("gpt2", tmp_path / "base"), toy(tmp_path / "toy.csv")
    words = ["finetune", base, data, "--epochs", 2, "--batch-size", 16, "--learning-rate", "1e30"]
    alone = [run(*words, "--out", tmp_path / "alone") for _ in range(2)]
    assert [one.code for one in alone] == [1, 1]
    assert "the loss is" in alone[0].err
    assert "It would be so again" in alone[1].err
    said = run("study", *words[1:], "--out", tmp_path / "out", "--seeds", 2).right()
    assert "2 of 2 (2 diverged)" in said
    assert "2 of 2 seeds collapsed" in said
    found = json.loads((tmp_path / "out" / "study.json").read_text(encoding="utf-8"))
    assert found["rows"][0]["diverged"] == 2
    assert any("diverged" in note for note in found["notes"])


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    base, data = folder("gpt2", tmp_path / "base"), toy(tmp_path / "toy.csv")
    out = tmp_path / "out"
    assert (
        "--grid tries its own rates"
        in run("study", base, data, "--out", out, "--grid", "--learning-rate", "1e-3").fault()
    )
    assert (
        "--grid tries its own batch sizes"
        in run("study", base, data, "--out", out, "--grid", "--batch-size", 8).fault()
    )
    assert "--learning-rate fast" in run("study", base, data, "--out", out, "--learning-rate", "fast").fault()
    assert (
        "--grid tries its own rates"
        in run("study", base, data, "--out", out, "--grid", "--learning-rate", "1e-3,1e-4").fault()
    )
    assert "--labels 8;9" in run("study", base, data, "--out", out, "--labels", "8;9").fault()
    assert (
        "--labels 1%: of 48 training examples that is 0"
        in run("study", base, data, "--out", out, "--labels", "1%").fault()
    )
    assert "--layers 5: " in run("study", base, data, "--out", out, "--layers", "0,5").fault()
    assert (
        "Did you mean shuffled-labels?" in run("study", base, data, "--out", out, "--compare", "shuffled-label").fault()
    )
    assert not out.exists()


def test_a_study_file_is_the_same_study(tmp_path: Path) -> None:
    base, data, out = folder("gpt2", tmp_path / "base"), toy(tmp_path / "toy.csv"), tmp_path / "out"
    file = tmp_path / "read.toml"
    file.write_text(
        f'model = "{base}"\ntask = "{data}"\nout = "{out}"\nseeds = 2\nepochs = 1\nlearning_rate = 3e-3\nbatch_size = 16\n'
        '[vary]\nobjective.read = ["place", "mean"]\n',
        encoding="utf-8",
    )
    names = [line.split("  ")[0] for line in run("study", file).right().splitlines()[2:4]]
    assert names == ["objective.read=place", "objective.read=mean"]
    recipes = [(out / place / "seed-1" / "recipe.toml").read_text(encoding="utf-8") for place in ("", "read-mean")]
    assert ['read = "mean"' in one for one in recipes] == [False, True]
    assert "Did you mean learning_rate?" in run("study", base, data, "--set", "lerning_rate=1").fault()


def test_training_can_be_studied(tmp_path: Path, made: Callable[[str], Path]) -> None:
    out = tmp_path / "out"
    words = [
        "study",
        "gpt2",
        "--data",
        made("bpe"),
        "--out",
        out,
        "--seeds",
        2,
        "--vary",
        "training.optimizer.learning_rate=1e-3,1e-9",
        "--set",
        "budget=3",
        "--jobs",
        1,
        *TINY,
    ]
    lines = run(*words).right().splitlines()
    assert lines[0] == "nats per guess on validation text"
    assert [line.split()[0][-4:] for line in lines[2:4]] == ["1e-3", "1e-9"]
    assert lines[-1] == str(out)
    assert (out / "report.html").is_file()
    found = json.loads(run(*words, "--json").right())
    assert found == json.loads((out / "study.json").read_text(encoding="utf-8"))
    assert [len(one["seeds"]) for one in found["runs"]] == [2, 2]
    assert "this is for fine-tuning only" in run(*words, "--set", "ensemble=true").fault()


def test_what_moved_is_named(tmp_path: Path) -> None:
    assert run("finetune", "a", "b", "--compare", "x").fault() == (
        "--compare is an option of foreword study.\n    For example:  foreword study MODEL TASK --seeds 5 --labels 64,all --compare scratch"
    )
    assert "--curve is --labels of foreword study" in run("finetune", "a", "b", "--curve=8,all").fault()
    assert run("finetune", "a", "b", "--patience", 3).fault() == "--patience is a setting: --set patience=VALUE."
    assert run("train", "pmi", "--memory", "1GB").fault().startswith("--memory is a setting: --set training.memory=")
    assert (
        "Several learning rates are for foreword study"
        in run("finetune", "a", "b", "--learning-rate", "1e-3,1e-4").fault()
    )
    assert run("sweep", "gpt2", "--vary", "a.b=1,2").fault() == (
        "foreword sweep is foreword study.\n    foreword study gpt2 --vary a.b=1,2"
    )


def test_the_largest_size_is_predicted_before_it_is_trained(made: Callable[[str], Path], tmp_path: Path) -> None:
    shape = "layers = 1, heads = 2, context = 16"
    arms = [
        f'[arms.width-{width}]\nrecipe = "gpt2:laptop"\nset = {{ network = {{ {shape}, width = {width} }} }}\n'
        for width in (8, 12, 16, 24, 32)
    ]
    head = 'seeds = 1\nbudget = "8"\nscaling = "width-32"\nset = { "training.batch_size" = 4, "training.evaluate" = "4" }\n'
    (tmp_path / "sizes.toml").write_text(head + "".join(arms), encoding="utf-8")
    words = ["study", tmp_path / "sizes.toml", "--data", made("bpe"), "--out", tmp_path / "out", "--jobs", 1]
    said = run(*words)
    shown = said.right()
    assert "Predicted for width-32 before it was trained: " in shown
    assert "Measured: " in shown
    assert said.err.index("width-32 should cost ") < said.err.index("width-32_seed-0: ")
    values = json.loads((tmp_path / "out" / "study.json").read_text(encoding="utf-8"))
    sizes = [one["parameters"] for one in values["sizes"]]
    assert sizes == sorted(sizes)
    assert values["next"]["measured"] == values["sizes"][-1]["losses"][0]


def test_a_claim_is_judged_by_what_its_study_wrote(made: Callable[[str], Path], tmp_path: Path) -> None:
    said = run("study", "claims/bigram", "--data", made("bpe"), "--out", tmp_path / "out").right()
    assert "Claim: One token of context is worth bits. Replicated: +" in said
    assert "cannot be tried here: " in run("study", "claims/dialogpt", "--data", made("bpe")).fault()
    assert "claims/electra" in run("list", "studies").right()
