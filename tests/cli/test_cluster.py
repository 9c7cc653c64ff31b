"""On a Ray cluster: the bytes of one process, also when a worker is killed or the whole is begun again."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from foreword.assembly import loader
from foreword.basics.cluster import RayPool
from foreword.basics.shards import Pool, Workers
from foreword.compare.parallel import JobRunner
from foreword.compare.training_study import TrainingJob
from foreword.runs.folder import RunFolder
from foreword.training.hardware import Hardware
from tests.cli.program import TINY, Program, run
from tests.cli.test_interruptions import large

pytest.importorskip("ray")
WORDS = ["--tokenizer", "unicode", "--workers", 2]  # slow enough to be interrupted


@pytest.fixture(scope="session")
def cluster() -> Iterator[Pool]:
    """One start for all tests of the session; commands in this process work on it."""
    with Workers(2, "auto").start() as pool:
        yield pool
    assert not [one for one in psutil.Process().children(recursive=True) if "ray" in one.name()]


def content(place: Path) -> dict[str, bytes]:
    files = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
    return {str(path.relative_to(place)): path.read_bytes() for path in files}


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> Path:
    """Varied text with some copies."""
    path = large(tmp_path_factory.mktemp("cluster") / "text.jsonl", texts, 6_000_000)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines, *lines[:50], *(line.replace(" the ", " a ", 1) for line in lines[50:100])]))
    return path


@pytest.fixture(scope="session")
def reddit(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> Path:
    path = tmp_path_factory.mktemp("reddit") / "RC"
    with open(path, "w", encoding="utf-8") as file:
        for number in range(60_000):
            parent = f"t1_{number - number % 7}" if number % 7 else "t3_x"
            row = {"id": str(number), "parent_id": parent, "body": texts[number % len(texts)][:300] + f" {number}"}
            file.write(json.dumps({**row, "created_utc": number, "subreddit": "talk"}) + "\n")
    return path


def test_tokens_dedup_and_reddit_give_the_bytes_of_one_process(cluster, text, reddit, tmp_path) -> None:
    plan = tmp_path / "plan.toml"
    stages = '[[stages]]\nkind = "dedup"\n[[stages]]\nkind = "repeats"\n[[stages]]\nkind = "private"\n'
    plan.write_text(f'[[sources]]\nkind = "text"\npath = "{text}"\n{stages}')
    for name, words in (
        ("built", ["corpus", "build", plan]),
        ("store", ["tokens", text, "--tokenizer", "byte_bpe", "--vocabulary", 400]),
        ("kept", ["corpus", "dedup", text]),
        ("dialogues.jsonl", ["corpus", "reddit", reddit, "--often", 20]),
    ):
        one, two = tmp_path / "one" / name, tmp_path / "two" / name
        run(*words, "--workers", 1, "--out", one).right()
        said = run(*words, "--workers", 2, "--cluster", "auto", "--out", two)
        said.right()
        assert "Ray: 2 workers on 1 machine" in said.err
        assert content(one) == content(two)
        assert not two.with_name(f"{name}.partial").exists()


def kill_one_at_work(done: Path, killed: list[int]) -> None:
    """SIGKILL to a Ray worker that has a shard, once others are done."""
    for _ in range(2000):
        if any(done.glob("*.json")):
            for one in psutil.Process().children(recursive=True):
                try:
                    if " ".join(one.cmdline()).startswith("ray::attempt"):
                        one.send_signal(signal.SIGKILL)
                        killed.append(one.pid)
                        return
                except psutil.NoSuchProcess:
                    pass
        time.sleep(0.02)


def test_a_worker_that_is_killed_is_replaced_and_nothing_is_lost(cluster, text, tmp_path) -> None:
    run("tokens", text, "--tokenizer", "unicode", "--workers", 1, "--out", tmp_path / "one").right()
    killed: list[int] = []
    killer = threading.Thread(target=kill_one_at_work, args=(tmp_path / "two.partial" / "done", killed))
    killer.start()
    run("tokens", text, *WORDS, "--cluster", "auto", "--out", tmp_path / "two").right()
    killer.join()
    assert killed, "none was at work"
    assert not psutil.pid_exists(killed[0])
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_after_a_kill_of_all_what_is_finished_is_not_done_again(cluster, text, tmp_path) -> None:
    started = Program("tokens", text, *WORDS, "--cluster", "auto", "--out", tmp_path / "two")
    done, others = tmp_path / "two.partial" / "done", list[psutil.Process]()

    def some_are_done() -> bool:
        if len(list(done.glob("*.json"))) < 2:
            return False
        others.extend(psutil.Process(started.process.pid).children(recursive=True))
        return True

    assert started.when(some_are_done, signal.SIGKILL).code == -signal.SIGKILL
    assert others
    agents = [one for one in psutil.wait_procs(others, timeout=10)[1] if "Agent" in one.name()]
    for one in agents:  # Ray's own, which end by themselves after a while
        one.kill()
    assert not psutil.wait_procs(others, timeout=20)[1], "workers went on without their parent"
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "two.partial").glob("*/*.ids.npy")}
    finished = len(list(done.glob("*.json")))
    said = run("tokens", text, *WORDS, "--cluster", "auto", "--out", tmp_path / "two")
    said.right()
    assert f"{finished} finished parts found" in said.err
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "two").glob("*/*.ids.npy")}
    assert sum(after[name] == time for name, time in before.items()) >= 2, "they are the files of the first run"
    run("tokens", text, "--tokenizer", "unicode", "--workers", 1, "--out", tmp_path / "one").right()
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_a_cluster_is_joined_by_its_address_and_ctrl_c_leaves_it_as_it_was(
    cluster, text, tmp_path, monkeypatch
) -> None:
    """From another folder than the cluster was started in: names of files are relative to that of the command."""
    address = cluster.ray.get_runtime_context().gcs_address
    words = ["tokens", text.name, *WORDS, "--cluster", address, "--out", tmp_path / "two"]
    started = Program(*words, cwd=text.parent)
    done = tmp_path / "two.partial" / "done"
    said = started.when(lambda: any(done.glob("*.json")), signal.SIGINT)
    assert said.code == 130, said.err
    assert "Traceback" not in said.err
    finished = len(list(done.glob("*.json")))
    again = Program(*words, cwd=text.parent).end()
    again.right()
    assert f"{finished} finished part" in again.err
    assert list(cluster.map(abs, [-1, 2])) == [1, 2]


@pytest.mark.parametrize("address", ["ray://127.0.0.1:1", "127.0.0.1:1"])
def test_an_address_where_nobody_answers_is_a_sentence(address, text, tmp_path) -> None:
    said = Program("tokens", text, "--cluster", address, "--out", tmp_path / "store").end()
    assert said.fault(2).startswith(f"--cluster {address}: no Ray cluster can be reached there (")
    assert not list(tmp_path.iterdir())


def test_the_runs_of_a_study_go_to_the_cluster(cluster, made, tmp_path) -> None:
    words = ["study", "gpt2", *TINY, "--data", made("bpe"), "--set", "budget=4", "--seeds", 2, "--json"]
    alone = json.loads(run(*words, "--jobs", 1, "--out", tmp_path / "one").right())
    said = run(*words, "--set", "cluster=auto", "--out", tmp_path / "two")
    assert json.loads(said.right()) == alone
    assert "Ray: 2 workers on 1 machine" in said.err
    assert not list(tmp_path.rglob("*.log")), "what finished has nothing left to say"


def test_runs_that_are_interrupted_on_the_cluster_are_saved(cluster, made, tmp_path) -> None:
    recipe = loader.load("gpt2", "laptop", [*TINY[3::2], 'training.budget="100000"'])
    jobs = [TrainingJob((), seed, recipe, tmp_path / f"seed-{seed}") for seed in range(3)]
    runs = JobRunner(made("bpe"), Hardware(), "auto")
    runs.start(jobs, 2)
    while not all(RunFolder(job.folder).metrics() for job in jobs[:2]):
        time.sleep(0.1)
    runs.close()
    for job in jobs[:2]:
        assert RunFolder(job.folder).latest() is not None
        assert not RunFolder(job.folder).passport()["finished"]
    assert not jobs[2].folder.exists(), "no other is begun"


@pytest.mark.parametrize("model", ["gpt2", "kneser-ney"])
def test_bits_of_many_documents_are_those_of_one_process(model, cluster, made, text, tmp_path) -> None:
    words = ["evaluate", made(model), "--data", text, "--limit", 100_000, "--json"]
    alone = run(*words).right()
    assert run(*words, "--workers", 2).right() == alone
    assert run(*words, "--workers", 2, "--cluster", "auto").right() == alone


def test_workers_mean_nothing_to_tasks(made) -> None:
    said = run("evaluate", made("gpt2"), "arithmetic", "--workers", 2, "--cluster", "auto")
    assert said.fault() == "--workers and --cluster mean nothing to tasks.\n    Leave it out."


def test_ngrams_counted_on_the_cluster_are_those_of_one_process(cluster, made, tmp_path) -> None:
    words = ["train", "kneser-ney", "--data", made("bpe"), "--set", "training.memory=2MB"]
    run(*words, "--out", tmp_path / "one").right()
    said = run(*words, "--set", "training.cluster=auto", "--out", tmp_path / "two")
    said.right()
    assert "Ray: 2 workers on 1 machine" in said.err
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / name).rglob("*.safetensors")} for name in ("one", "two")
    )
    assert one
    assert one == two


def test_no_more_runs_are_under_way_than_jobs_says(cluster, tmp_path) -> None:
    """The cluster has two cores, and one is asked for."""
    pool = RayPool("auto", 1)
    begun = pool.begin(Overlap(tmp_path), range(4))
    assert [future.result() for future in begun] == [(1, None)] * 4


@dataclass(frozen=True)
class Overlap:
    """How many shards are under way while one is."""

    folder: Path

    def __call__(self, shard: int) -> int:
        mine = self.folder / str(shard)
        mine.touch()
        time.sleep(0.3)
        together = len(list(self.folder.iterdir()))
        mine.unlink()
        return together
