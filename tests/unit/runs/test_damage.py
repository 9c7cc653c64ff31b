"""What was damaged on disk is seen: the checkpoint before it is taken, a store is refused, and a folder has one writer."""

from __future__ import annotations

import json
import os
import shutil
import socket

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from foreword.basics import hold
from foreword.basics.messages import Fault
from foreword.runs.folder import RunFolder
from foreword.runs.train import train
from foreword.tokens.store import TokenStore
from foreword.tokens.verify import verify_store
from tests.tiny import tiny

WORDS = ('training.budget="9"', 'training.save="3"', "training.keep=3")


def flip(path) -> None:
    content = bytearray(path.read_bytes())
    content[-40] ^= 0x10
    path.write_bytes(content)


def without_a_tensor(path) -> None:
    tensors = load_file(path)
    save_file({name: tensors[name] for name in sorted(tensors)[:-1]}, path)


def says(path, **changes) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


DAMAGE = {
    "a flipped bit": lambda folder: flip(folder / "state.safetensors"),
    "a missing tensor": lambda folder: without_a_tensor(folder / "state.safetensors"),
    "a missing file": lambda folder: (folder / "state.safetensors").unlink(),
    "another file": lambda folder: shutil.copy(folder / "state.safetensors", folder / "more.safetensors"),
    "a negative step": lambda folder: says(folder / "progress.json", step=-3),
    "a step in words": lambda folder: says(folder / "progress.json", step="three"),
    "no object": lambda folder: (folder / "progress.json").write_text("[]"),
    "half a file": lambda folder: (folder / "progress.json").write_text('{"form'),
    "nothing": lambda folder: (folder / "progress.json").unlink(),
}


@pytest.fixture(scope="module")
def finished(stores, tmp_path_factory):
    return train(tiny("gpt2", *WORDS), stores["byte_bpe"], tmp_path_factory.mktemp("run") / "run").path


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_checkpoint_before_a_damaged_one_is_taken(finished, stores, tmp_path, capsys, damage) -> None:
    run = RunFolder(shutil.copytree(finished, tmp_path / "run"))
    newest = run.checkpoints()[-1]
    DAMAGE[damage](newest)
    train(tiny("gpt2", *WORDS), stores["byte_bpe"], run.path)
    told = capsys.readouterr().err
    assert f"The run goes on from step-000000006; {newest.name} is removed." in told
    assert "goes on from step 6" in told
    unbroken = load_file(finished / "checkpoints" / newest.name / "state.safetensors")
    for name, tensor in load_file(newest / "state.safetensors").items():
        assert (tensor == unbroken[name]).all(), name


def test_a_run_without_a_whole_checkpoint_says_so_and_keeps_them(finished, stores, tmp_path) -> None:
    run = RunFolder(shutil.copytree(finished, tmp_path / "run"))
    for checkpoint in run.checkpoints():
        flip(checkpoint / "state.safetensors")
    with pytest.raises(Fault, match="no checkpoint of .* is whole: .*its checksum is not the one it was saved with"):
        train(tiny("gpt2", *WORDS), stores["byte_bpe"], run.path)
    assert len(run.checkpoints()) == 3


def test_a_checkpoint_of_an_earlier_version_has_no_checksums_and_opens(finished, stores, tmp_path, capsys) -> None:
    run = RunFolder(shutil.copytree(finished, tmp_path / "run"))
    newest = run.checkpoints()[-1] / "progress.json"
    content = json.loads(newest.read_text())
    del content["files"]
    newest.write_text(json.dumps(content))
    train(tiny("gpt2", *WORDS), stores["byte_bpe"], run.path)
    assert "goes on from step 9" in capsys.readouterr().err


def test_lines_of_metrics_that_are_no_records_are_said(finished, tmp_path, capsys) -> None:
    run = RunFolder(shutil.copytree(finished, tmp_path / "run"))
    whole = run.metrics()
    lines = (run.path / "metrics.jsonl").read_bytes()
    (run.path / "metrics.jsonl").write_bytes(b"\xff\xe9\n[1]\n" + lines + b'{"step": 1')
    capsys.readouterr()
    assert run.metrics() == whole
    told = capsys.readouterr().err
    assert "metrics.jsonl:1 is damaged" in told
    assert "metrics.jsonl:2 is damaged" in told
    assert told.count("damaged") == 2, "a last line that was cut short is what a kill leaves"


def test_a_passport_of_another_shape_is_a_fault(finished, tmp_path) -> None:
    run = RunFolder(shutil.copytree(finished, tmp_path / "run"))
    for said in ("[]", "5", '{"start": 5}', '{"finished": "yes"}', '{"data": 7}'):
        (run.path / "passport.json").write_text(said)
        with pytest.raises(Fault, match="passport.json"):
            run.passport()


# --- stores ----------------------------------------------------------------------------------------------------------


def test_verifying_finds_one_flipped_id(stores, tmp_path) -> None:
    folder = shutil.copytree(stores["byte_bpe"], tmp_path / "store")
    assert verify_store(folder).endswith("all checksums match")
    flip(next((folder / "train").glob("*.ids.npy")))
    TokenStore.open(folder)  # which does not read all ids
    with pytest.raises(Fault, match=r"ids\.npy is damaged: its checksum(.|\n)*its counts are not those of the ids"):
        verify_store(folder)


@pytest.mark.parametrize(("name", "change"), [("bytes", 2), ("ends", 2), ("counts", 0)])
def test_a_store_is_added_up_when_it_is_opened(stores, tmp_path, name, change) -> None:
    """Doubled sizes once halved the bits per byte without a word."""
    folder = shutil.copytree(stores["byte_bpe"], tmp_path / "store")
    path = folder / "train" / f"{name}.npy"
    np.save(path, np.load(path) * change)
    with pytest.raises(Fault, match=f"{name}.npy is damaged: its .* is .*; store.json says"):
        TokenStore.open(folder)


# --- one writer ------------------------------------------------------------------------------------------------------


def test_the_second_writer_is_told_who_holds_the_folder(tmp_path) -> None:
    with hold.held(tmp_path / "run"):
        with pytest.raises(Fault) as caught, hold.held(tmp_path / "run"):
            pass
        assert f"is being written by process {os.getpid()} on {socket.gethostname()} since 2" in str(caught.value)
        assert (tmp_path / "run" / hold.NAME).is_file()
    assert not (tmp_path / "run").exists(), "what held nothing leaves nothing"
    with hold.held(tmp_path / "run"):
        pass


def test_the_lock_of_a_process_that_died_is_taken_over(tmp_path, capsys) -> None:
    child = os.fork()
    if not child:
        holding = hold.held(tmp_path / "run")
        holding.__enter__()
        os._exit(9)
    os.waitpid(child, 0)
    assert (tmp_path / "run" / hold.NAME).is_file()
    with hold.held(tmp_path / "run"):
        assert f"process {child}, which wrote it, is gone; taken over" in capsys.readouterr().err


def test_the_lock_of_another_host_is_not_taken_over(tmp_path) -> None:
    (tmp_path / hold.NAME).write_text(json.dumps({"pid": 7, "host": "elsewhere", "since": "2026-01-01"}))
    with pytest.raises(Fault, match="process 7 on elsewhere since 2026-01-01"), hold.held(tmp_path):
        pass
    assert (tmp_path / hold.NAME).is_file()


def test_two_trainings_do_not_write_one_folder(finished, stores, tmp_path) -> None:
    run = RunFolder(shutil.copytree(finished, tmp_path / "run"))
    with run.held(), pytest.raises(Fault, match=f"{run.path} is being written by process"):
        train(tiny("gpt2", *WORDS), stores["byte_bpe"], run.path)
