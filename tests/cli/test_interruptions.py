"""Killed, interrupted or out of disk: what was saved stays whole, and the same command goes on from there."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from safetensors.torch import load_file

from foreword.runs.folder import RunFolder
from foreword.tokens.store import TokenStore
from tests.cli.program import TINY, Program, run


def checksums(store: Path) -> list[str]:
    content = json.loads((store / "store.json").read_text())
    return [shard["checksum"] for split in content["splits"].values() for shard in split["shards"]]


def large(path: Path, texts: list[str], size: int) -> Path:
    """Varied text: the paragraphs with their words in ever different order."""
    chance = random.Random(4)
    written = 0
    with open(path, "w", encoding="utf-8") as file:
        while written < size:
            words = chance.choice(texts).split()
            chance.shuffle(words)
            written += file.write(json.dumps({"text": f"{written} " + " ".join(words)}) + "\n")
    return path


# --- SIGKILL ---------------------------------------------------------------------------------------------------------


def test_tokens_killed_goes_on_to_the_same_store(tmp_path, texts) -> None:
    """With worker processes, which must not outlive the one that was killed. (A quick tokenizer would not start any.)"""
    data = large(tmp_path / "large.jsonl", texts, 6_000_000)
    words = ["tokens", data, "--tokenizer", "unicode", "--workers", 2]
    started = Program(*words, "--out", tmp_path / "store")
    workers: list[psutil.Process] = []

    def one_part_is_done() -> bool:
        if any((tmp_path / "store.partial/done").glob("*.json")):
            workers.extend(psutil.Process(started.process.pid).children(recursive=True))
            return True
        return False

    assert started.when(one_part_is_done, signal.SIGKILL).code == -signal.SIGKILL
    assert not (tmp_path / "store").exists()
    assert workers
    assert not psutil.wait_procs(workers, timeout=20)[1], "workers went on without their parent"
    done = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "store.partial/done").glob("*.json")}
    said = run(*words, "--out", tmp_path / "store")
    said.right()
    assert f"{len(done)} finished part" in said.err
    assert not (tmp_path / "store.partial").exists()
    run("tokens", data, "--tokenizer", "unicode", "--workers", 1, "--out", tmp_path / "unbroken").right()
    assert checksums(tmp_path / "store") == checksums(tmp_path / "unbroken")
    one, other = (TokenStore.open(tmp_path / name, "test") for name in ("store", "unbroken"))
    assert one.ends.tolist() == other.ends.tolist()


WORDS = [*TINY, "--budget", 200, "--set", "training.save=20", "--set", 'training.evaluate="100"']


def test_train_killed_goes_on_to_the_same_weights(tmp_path, made) -> None:
    words = ["train", "gpt2", *WORDS, "--data", made("bpe")]
    folder = RunFolder(tmp_path / "run")

    def some_steps_after_a_checkpoint() -> bool:
        """So that there are records of steps which the resumed run takes again."""
        saved = [int(path.name.removeprefix("step-")) for path in folder.checkpoints()]
        return bool(saved) and max((record["step"] for record in folder.metrics()), default=0) > saved[-1] + 3

    killed = Program(*words, "--out", folder.path).when(some_steps_after_a_checkpoint, signal.SIGKILL)
    assert killed.code == -signal.SIGKILL
    at = int(folder.checkpoints()[-1].name.removeprefix("step-"))
    assert 20 <= at < 200
    said = run(*words, "--out", folder.path)
    said.right()
    assert f"goes on from step {at}" in said.err
    run(*words, "--out", tmp_path / "unbroken").right()
    assert (folder.path / "model/model.safetensors").read_bytes() == (
        tmp_path / "unbroken/model/model.safetensors"
    ).read_bytes()

    def records(path: Path) -> list[dict]:
        return [
            {key: value for key, value in record.items() if key != "seconds"} for record in RunFolder(path).metrics()
        ]

    assert records(folder.path) == records(tmp_path / "unbroken")


# --- Ctrl-C and SIGTERM ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_saves_first_and_goes_on(tmp_path, made, number) -> None:
    words = ["train", "gpt2", *TINY, "--budget", 200, "--data", made("bpe"), "--out", tmp_path / "run"]
    metrics = tmp_path / "run/metrics.jsonl"
    said = Program(*words).when(lambda: metrics.is_file() and metrics.stat().st_size, number)
    told = said.fault(code=130).splitlines()
    folder = RunFolder(tmp_path / "run")
    at = int(folder.checkpoints()[-1].name.removeprefix("step-"))
    assert told[-3:] == [
        "stopping after this step, and saving ...",
        f"stopped at step {at}; all of it is saved in {tmp_path / 'run'}.",
        "    The same command goes on from there.",
    ]
    assert folder.passport()["finished"] is False
    again = run(*words)
    again.right()
    assert f"goes on from step {at}" in again.err
    assert folder.passport()["step"] == 200


def test_an_interrupted_tokens_ends_with_130(tmp_path, texts) -> None:
    data = large(tmp_path / "large.jsonl", texts, 3_000_000)
    words = ["tokens", data, "--tokenizer", "byte", "--out", tmp_path / "store"]
    said = Program(*words).when(lambda: (tmp_path / "store.partial/plan.json").is_file(), signal.SIGINT)
    assert said.code == 130
    assert "Traceback" not in said.err
    assert not (tmp_path / "store").exists()
    run(*words).right()


# --- a full disk -----------------------------------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 6 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("NOT TESTED: a full disk needs a small tmpfs, which only root can mount")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"NOT TESTED: a full disk; mount says {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path, left: int) -> Path:
    """A file that leaves only so many bytes."""
    free = shutil.disk_usage(disk).free
    with open(disk / "filler", "wb") as file:
        file.write(b"x" * (free - left))
    return disk / "filler"


@pytest.mark.parametrize("left", [0, 8192, 60_000, 200_000, 400_000])
def test_a_full_disk_costs_no_checkpoint(disk, made, left) -> None:
    """Full at once, at the metrics, at the checkpoint, at the model: the run before stays whole and goes on later."""
    words = [
        "train",
        "gpt2",
        *TINY,
        "--data",
        made("bpe"),
        "--out",
        disk / "run",
        "--set",
        "training.save=4",
        "--set",
        'training.evaluate="8"',
    ]
    run(*words, "--budget", 8).right()
    folder = RunFolder(disk / "run")
    before = {path.name: load_file(path / "state.safetensors") for path in folder.checkpoints()}
    model = (disk / "run/model/model.safetensors").read_bytes()
    filler = fill(disk, left)
    said = run(*words, "--budget", 24).fault(code=1)
    assert "could not be written" in said
    assert "Free some space and give the same command again" in said
    newest = folder.checkpoints()[-1]
    assert load_file(newest / "state.safetensors").keys() == next(iter(before.values())).keys()
    assert json.loads((newest / "progress.json").read_text())["step"] >= 8
    assert not list((disk / "run").rglob("*.partial"))
    assert len((disk / "run/model/model.safetensors").read_bytes()) == len(model)
    assert run("generate", disk / "run", "The", "--max-tokens", 3).code == 0
    filler.unlink()
    run(*words, "--budget", 24).right()
    assert folder.passport()["step"] == 24
    steps = [record["step"] for record in folder.metrics() if "loss" in record]
    assert steps == sorted(set(steps))
    assert steps[-1] == 24


def test_tokens_on_a_full_disk_goes_on_when_there_is_space(disk, tmp_path, texts) -> None:
    data = large(tmp_path / "large.jsonl", texts, 3_000_000)
    words = ["tokens", data, "--tokenizer", "byte", "--out", disk / "store"]
    filler = fill(disk, 5_000_000)  # one part of three
    said = run(*words).fault(code=1)
    assert said.startswith("The disk is full: ")
    assert said.endswith(
        "What was written before is whole. Free some space and give the same command again; it goes on from there."
    )
    assert not (disk / "store").exists()
    filler.unlink()
    subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
    again = run(*words)
    again.right()
    assert "finished part" in again.err
    run("tokens", data, "--tokenizer", "byte", "--out", tmp_path / "unbroken").right()
    assert checksums(disk / "store") == checksums(tmp_path / "unbroken")
