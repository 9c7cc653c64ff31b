"""Training on several real processes: one that dies, is interrupted, runs out of disk or meets a NaN ends all, told once."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import torch

import foreword
from foreword.runs.folder import RunFolder
from tests.cli.program import TINY, Program, Said, run
from tests.cli.test_interruptions import disk, fill  # noqa: F401  a fixture

STEPS = [*TINY, "--budget", 60, "--set", "training.save=5", "--set", 'training.evaluate="30"']


class Launched(Program):
    """`torchrun OPTIONS -m foreword WORDS`."""

    def __init__(self, options: list[object], *words: object):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "torch.distributed.run", *map(str, options), "-m", "foreword", *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )

    def workers(self) -> list[psutil.Process]:
        every = psutil.Process(self.process.pid).children(recursive=True)
        return [
            one
            for one in every
            if "foreword" in " ".join(one.cmdline()) and "torch.distributed.run" not in one.cmdline()
        ]


class Ranked(Program):
    """One of several processes, placed by hand as a launcher would."""

    def __init__(self, rank: int, port: int, *words: object, world: int = 2, cwd: Path | None = None):
        place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "foreword", *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env={**os.environ, "OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            | {name: str(value) for name, value in place.items()},
        )


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return opened.getsockname()[1]


def both(port: int, first: list[object], second: list[object], cwd: Path | None = None) -> list[Said]:
    """What two ranks say; `cwd`: the folder in which the second is started, where another foreword may be."""
    started = [Ranked(0, port, *first), Ranked(1, port, *second, cwd=cwd)]
    return [one.end() for one in started]


def records(folder: Path) -> list[dict]:
    return [{key: value for key, value in one.items() if key != "seconds"} for one in RunFolder(folder).metrics()]


def assert_same_end(one: Path, other: Path) -> None:
    """Bit for bit."""
    assert records(one) == records(other)
    first, second = (dict(run.saved(run.checkpoints()[-1])[0]) for run in (RunFolder(one), RunFolder(other)))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def after_checkpoint(folder: Path, count: int = 1):
    """Some steps after a checkpoint, so that there is something to lose."""
    run = RunFolder(folder)
    return lambda: run.checkpoints() and int(run.checkpoints()[-1].name.removeprefix("step-")) >= 5 * count


@pytest.fixture(scope="module")
def unbroken(made, tmp_path_factory) -> Path:
    """A run of two processes that nothing befell."""
    out = tmp_path_factory.mktemp("unbroken") / "run"
    said = Program("train", "gpt2", *STEPS, "--data", made("bpe"), "--out", out, "--processes", 2).end()
    assert said.right() == f"{out}\n"
    assert said.err.count("gpt2 laptop: ") == 1, "only the first process speaks"
    assert "x 2 processes" in said.err
    return out


def test_one_process_killed_is_started_again_and_the_end_is_the_same(made, unbroken, tmp_path) -> None:
    words = ["train", "gpt2", *STEPS, "--data", made("bpe"), "--out", tmp_path / "run"]
    started = Launched(["--standalone", "--nproc-per-node", 2, "--max-restarts", 2], *words)
    ready = after_checkpoint(tmp_path / "run")
    while not ready():
        assert started.process.poll() is None, started.end().err
        time.sleep(0.005)
    time.sleep(random.random() / 5)
    random.choice(started.workers()).kill()
    said = started.end()
    assert said.code == 0, said.err
    assert "goes on from step" in said.err
    assert_same_end(tmp_path / "run", unbroken)


def test_all_killed_while_shards_are_written_leave_the_checkpoint_before_whole(made, tmp_path) -> None:
    words = ["train", "gpt2", *STEPS, "--set", "training.save=1", "--data", made("bpe"), "--processes", 2, "--shard"]
    out = tmp_path / "run"
    started = Program(*words, "--out", out)

    def writing() -> bool:
        return bool(RunFolder(out).checkpoints()) and any((out / "checkpoints").glob(".step-*.partial/*.safetensors"))

    while not writing():
        assert started.process.poll() is None, started.end().err
    every = [*psutil.Process(started.process.pid).children(recursive=True), psutil.Process(started.process.pid)]
    for one in every:
        one.kill()
    started.end()
    assert dict(RunFolder(out).saved(RunFolder(out).checkpoints()[-1])[0]), "the newest checkpoint is whole"
    again = Program(*words, "--out", out).end()
    assert again.right() == f"{out}\n"
    assert "goes on from step" in again.err
    assert not list((out / "checkpoints").glob(".step-*"))
    Program(*words, "--out", tmp_path / "unbroken").end().right()
    assert_same_end(out, tmp_path / "unbroken")


def test_of_two_launchers_one_is_killed_and_the_other_ends_with_a_sentence(made, tmp_path) -> None:
    words = ["train", "gpt2", *STEPS, "--budget", 100_000, "--data", made("bpe"), "--out", tmp_path / "run"]
    meet = ["--nnodes", 2, "--nproc-per-node", 1, "--rdzv-backend", "c10d", "--rdzv-id", "one", "--rdzv-endpoint"]
    meet.append(f"127.0.0.1:{free_port()}")
    first, second = Launched(meet, *words), Launched(meet, *words)
    ready = after_checkpoint(tmp_path / "run")
    while not ready():
        assert first.process.poll() is None, first.end().err
        time.sleep(0.01)
    for one in [*psutil.Process(second.process.pid).children(recursive=True), psutil.Process(second.process.pid)]:
        one.kill()
    second.end()
    said = first.end()
    assert said.code != 0
    assert "another process of this training is gone." in said.err
    saved = RunFolder(tmp_path / "run").checkpoints()[-1]
    step = int(saved.name.removeprefix("step-"))
    alone = Program(*words[:-1], tmp_path / "run", "--budget", step + 3).end()
    assert alone.right() == f"{tmp_path / 'run'}\n"
    assert f"goes on from step {step:,}" in alone.err


def test_an_interrupted_launcher_saves_and_ends_with_130(made, tmp_path) -> None:
    words = ["train", "gpt2", *STEPS, "--budget", 100_000, "--data", made("bpe"), "--out", tmp_path / "run"]
    said = Program(*words, "--processes", 2).when(after_checkpoint(tmp_path / "run"), signal.SIGINT)
    told = said.fault(130)
    at = int(RunFolder(tmp_path / "run").checkpoints()[-1].name.removeprefix("step-"))
    assert told.count(f"stopped at step {at:,}; all of it is saved in") == 1


def test_a_loss_that_is_no_number_on_one_rank_ends_all_told_once(made, tmp_path, monkeypatch) -> None:
    (tmp_path / "broken.py").write_text(
        "from typing import Literal\n"
        "import os\n"
        "from dataclasses import replace\n"
        "from foreword.objectives.causal import Causal\n"
        "class Broken(Causal):\n"
        '    kind: Literal["broken:Broken"] = "broken:Broken"\n'
        "    def loss(self, model, batch, state=None):\n"
        "        found = super().loss(model, batch, state)\n"
        '        if os.environ["RANK"] == "1":\n'
        '            charge = found.charges["tokens"]\n'
        '            found.charges["tokens"] = replace(charge, total=charge.total * float("nan"))\n'
        "        return found\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    words = ["train", "gpt2", *STEPS, "--data", made("bpe"), "--set", 'objective.kind="broken:Broken"']
    said = Program(*words, "--out", tmp_path / "run", "--processes", 2).end()
    assert said.fault(1).count("step 1: the loss is not a number.") == 1
    assert "rank 1" not in said.err


def test_a_full_disk_of_the_first_rank_ends_all_told_once(disk, made) -> None:  # noqa: F811
    words = ["train", "gpt2", *STEPS, "--data", made("bpe"), "--out", disk / "run", "--processes", 2]
    Program(*words, "--budget", 10).end().right()
    filler = fill(disk, 8192)
    said = Program(*words).end()
    assert said.fault(1).count("could not be written") == 1
    assert "another process" not in said.err
    filler.unlink()
    Program(*words).end().right()
    assert RunFolder(disk / "run").passport()["step"] == 60


def test_ranks_that_differ_are_refused_before_the_first_step(made, tmp_path) -> None:
    words = ["train", "gpt2", *STEPS, "--out", tmp_path / "run", "--data"]
    shutil.copytree(Path(foreword.__file__).parent, tmp_path / "other" / "foreword")
    with open(tmp_path / "other/foreword/objectives/causal.py", "a", encoding="utf-8") as file:
        file.write("# another version\n")
    for other, cwd, what in (
        ([made("bpe"), "--seed", 3], None, "the recipe (rank 1)"),
        ([made("bytes")], None, "the text (rank 1)"),
        ([made("bpe")], tmp_path / "other", "the code (rank 1)"),
    ):
        said = both(free_port(), [*words, made("bpe")], [*words, *other], cwd)
        assert [one.code for one in said] == [2, 2], said
        told = "".join(one.err for one in said)
        assert told.count("do not agree with the first one on: ") == 1
        assert what in told
    assert not RunFolder(tmp_path / "run").exists()


def test_a_fault_of_another_rank_is_told_with_its_rank(made, tmp_path) -> None:
    words = ["train", "gpt2", *STEPS, "--out", tmp_path / "run", "--data"]
    said = both(free_port(), [*words, made("bpe")], [*words, tmp_path / "nowhere"])
    assert [one.code for one in said] == [2, 2], said
    assert said[0].err.count("\n") <= 1, "the first rank leaves the telling to the other"
    assert said[1].err.startswith("rank 1: ")
    assert "nowhere" in said[1].err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["gpt2", *STEPS, "--set", "training.batch_size=1"], "training.batch_size 1 cannot be shared by 2 processes."),
        (["gpt2", *STEPS, "--set", "training.batch_size=5"], "training.batch_size 5 cannot be shared by 2 processes."),
        (["kneser-ney", "--shard"], "a model that is not learned by gradient is trained by one process, not by 2."),
    ],
)
def test_what_cannot_be_shared_is_said_once(made, tmp_path, words, told) -> None:
    said = Program("train", *words, "--data", made("bpe"), "--out", tmp_path / "run", "--processes", 2).end()
    assert said.fault().count(told) == 1


def test_bad_options_are_said_without_starting_anything(made, tmp_path) -> None:
    words = ["train", "gpt2", *STEPS, "--data", made("bpe"), "--out", tmp_path / "run"]
    assert "--shard shares the weights out among several processes, and there is one." in run(*words, "--shard").fault()
    assert "--processes many: it can be auto, or a number" in run(*words, "--processes", "many").fault()


def test_an_address_that_does_not_answer_is_given_up_within_a_minute(made, tmp_path) -> None:
    words = ["train", "gpt2", *STEPS, "--data", made("bpe"), "--out", tmp_path / "run"]
    said = Ranked(1, free_port(), *words).end()
    assert "could not meet at 127.0.0.1:" in said.fault()


def test_evaluate_shares_documents_out_and_says_the_same(made) -> None:
    words = ["evaluate", made("gpt2"), made("kneser-ney"), "--json"]
    said = Launched(["--standalone", "--nproc-per-node", 2], *words).end()
    assert json.loads(said.right()) == json.loads(run(*words).right())


def test_finetune_and_study_run_on_several_processes_too(made, tmp_path) -> None:
    words = [("good", "1"), ("bad", "0")]
    lines = [f"{label},the film was {word} number {i}" for i in range(30) for word, label in words]
    (tmp_path / "labels.csv").write_text("label,text\n" + "\n".join(lines) + "\n", encoding="utf-8")
    given = ["finetune", made("gpt2"), tmp_path / "labels.csv", "--epochs", 1, "--batch-size", 8]
    tuned = Program(*given, "--processes", 2, "--out", tmp_path / "tuned").end()
    assert tuned.right().endswith(f"{tmp_path / 'tuned'}\n")
    assert RunFolder(tmp_path / "tuned").passport()["processes"] == 2
    words = ["study", "gpt2", *TINY, "--set", 'training.budget="4"', "--seeds", 2, "--data", made("bpe")]
    said = Launched(["--standalone", "--nproc-per-node", 2], *words, "--out", tmp_path / "launched").end()
    assert said.right().endswith(f"{tmp_path / 'launched'}\n")
    said = Program(*words, "--processes", 2, "--shard", "--out", tmp_path / "sharded").end()
    assert said.right().endswith(f"{tmp_path / 'sharded'}\n")
    for name, how in (("launched", "x 2 processes, float32"), ("sharded", "x 2 processes, the weights shared out")):
        assert (tmp_path / name / "study.json").is_file()
        runs = [RunFolder(path.parent).passport() for path in (tmp_path / name).glob("*/passport.json")]
        assert [run["processes"] for run in runs] == [2, 2]
        assert all(how in run["hardware"] for run in runs)
