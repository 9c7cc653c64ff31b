"""What every recipe promises: it loads, learns, saves, reloads, and goes on after a kill as if there had been none."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from foreword.assembly import loader
from foreword.assembly.build import model_for
from foreword.basics import toml
from foreword.basics.seeds import number_of
from foreword.cli.main import main
from foreword.exchange import hugging_face
from foreword.networks.base import Model
from foreword.runs.folder import RunFolder
from foreword.runs.opening import open_model
from foreword.runs.train import text_run, train
from foreword.tasks import LABELLED_KINDS
from foreword.transfer.multitask import multitask
from tests.golden.__main__ import path, text, write
from tests.labelled import folder, task
from tests.tiny import (
    COUNTING,
    FROM_LABELS,
    GRADIENT,
    READERS,
    RECIPES,
    WITH_SIZES,
    counted,
    interrupted_at,
    learner_for,
    store_kind,
    take_steps,
    tiny,
)

every_recipe = pytest.mark.parametrize("name", RECIPES)
every_size = pytest.mark.parametrize(("name", "size"), WITH_SIZES)
FAST = 'training.optimizer={ kind = "adam", learning_rate = 0.02 }'
STEADY = 'training.schedule={ kind = "constant" }'


@every_size
def test_it_resolves_to_its_golden_file(name, size, request):
    if request.config.getoption("--golden"):
        write()
    assert path(name, size).is_file(), "a new recipe: look at what it resolves to, then `python -m tests.golden`"
    assert text(name, size) == path(name, size).read_text(encoding="utf-8"), "meant? then `python -m tests.golden`"


def test_no_golden_file_is_left_of_a_recipe_that_is_gone():
    known = {path(name, size) for name, size in WITH_SIZES}
    assert set(path("x", "").parent.glob("*.toml")) == known


@every_size
def test_a_written_recipe_reads_as_the_same_recipe(name, size, tmp_path):
    recipe = loader.load(name, size)
    (tmp_path / "recipe.toml").write_text(toml.write(recipe.values()), encoding="utf-8")
    assert loader.load(str(tmp_path / "recipe.toml")) == recipe
    assert loader.from_values(json.loads(json.dumps(recipe.values())), "values") == recipe


@pytest.mark.parametrize("name", GRADIENT)
def test_it_overfits_one_batch(name, store_of):
    plain = ["network.dropout=0.0"] if isinstance(getattr(tiny(name).network, "dropout", None), float) else []
    recipe = tiny(name, FAST, STEADY, "training.clip=1.0", *plain)
    learner, stream = learner_for(recipe, store_of(recipe))
    batch = stream.batch(0)
    before = learner.measure([batch])  # without dropout
    take_steps(learner, stream, range(100), same=True)
    after = learner.measure([batch])
    learned = [f"nll.{head}" for head in batch.targets]  # what is only measured beside it is not learned from
    assert all(after[head] < 0.5 * before[head] for head in learned), (before, after)


@pytest.mark.parametrize("name", [name for name in COUNTING if name in READERS])
def test_counts_make_seen_text_likelier_than_chance(name, store_of):
    recipe = tiny(name)
    seen = store_of(recipe)
    model = counted(recipe, seen, store_of(recipe, "valid"))
    nats = -float(model.score([seen.document(0)], [1])[0].mean())
    vocabulary = seen.tokenizer.vocabulary()
    chance = np.log(vocabulary.size - len(vocabulary.silent) - 1)
    assert nats <= chance + 1e-9
    if getattr(recipe.network, "order", 1) > 0:
        assert nats < 0.9 * chance


@pytest.mark.parametrize("name", GRADIENT)
def test_weights_are_drawn_from_the_seed_alone(name, store_of):
    recipe, other = tiny(name), tiny(name, "training.seed=1")
    store, valid = store_of(recipe), store_of(recipe, "valid")

    def weights(recipe, before):
        torch.manual_seed(before)  # whatever chance was used before
        torch.rand(before % 100)
        return text_run(recipe, store, valid, RunFolder("nowhere")).model.weights()

    first, again, different = weights(recipe, 1), weights(recipe, 77), weights(other, 1)
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert any(not torch.equal(first[key], different[key]) for key in first)


def answers(model, recipe, store):
    """Numbers that depend on all that a model has learned."""
    if isinstance(model, Model):
        batch = recipe.objective.collate(recipe.batches.over(store, 4, 0).rows(0, 0, 4), store.tokenizer)
        with torch.no_grad():
            charges = recipe.objective.loss(model.eval(), batch).charges
            return {
                "last": model.network(batch.inputs).last,
                **{name: charge.total for name, charge in charges.items()},
            }
    found = {name: torch.as_tensor(array) for name, array in model.arrays().items()}
    if "score" in recipe.abilities():
        ids = store.document(0)[:30]
        found |= {
            "begin": torch.as_tensor(np.asarray(model.begin([ids])[0])),
            "score": torch.as_tensor(model.score([ids], [1])[0]),
        }
    return found


@every_recipe
def test_a_saved_model_reloads_to_the_same_numbers(name, store_of, tmp_path):
    recipe = tiny(name)
    store = store_of(recipe)
    if name in COUNTING:
        model = counted(recipe, store, store_of(recipe, "valid"))
    else:
        learner, stream = learner_for(recipe, store)
        take_steps(learner, stream, range(3))
        model = learner.model
    hugging_face.write(tmp_path / "model", recipe, model, store.tokenizer)
    loaded = hugging_face.read(tmp_path / "model")
    before, after = answers(model, recipe, store), answers(loaded.model, recipe, store)
    assert before.keys() == after.keys()
    for key in before:
        assert torch.equal(before[key], after[key]), key
    assert loaded.tokenizer.fingerprint == store.tokenizer.fingerprint
    if isinstance(model, Model):
        assert all(torch.equal(weight, loaded.model.weights()[key]) for key, weight in model.weights().items())


# ---------------------------------------------------------------------------------------------------------- resuming


def metrics(run: RunFolder) -> list[dict]:
    return [{key: value for key, value in record.items() if key != "seconds"} for record in run.metrics()]


def assert_same_run(one: RunFolder, other: RunFolder) -> None:
    """Bit for bit: weights, optimizer, carried state, the published model, and every record but its clock."""
    assert metrics(one) == metrics(other)
    saved, again = one.checkpoints()[-1], other.checkpoints()[-1]
    assert saved.name == again.name
    for a, b in (
        (saved / "state.safetensors", again / "state.safetensors"),
        (one.model / "model.safetensors", other.model / "model.safetensors"),
    ):
        first, second = load_file(a), load_file(b)
        assert first.keys() == second.keys()
        for key in first:
            assert torch.equal(first[key], second[key]), key
    progress = [json.loads((folder / "progress.json").read_text()) for folder in (saved, again)]
    assert {**progress[0], "seconds": 0} == {**progress[1], "seconds": 0}


class Killed(BaseException):
    """Stands for SIGKILL: nothing in the program may catch it."""


@contextmanager
def killed_at(number: int, after: bool) -> Iterator[None]:
    """The run dies just before its n-th write, or just after it."""
    count = 0

    def dying(real):
        def call(*args, **kwargs):
            nonlocal count
            count += 1
            if count == number and not after:
                raise Killed
            result = real(*args, **kwargs)
            if count == number:
                raise Killed
            return result

        return call

    with pytest.MonkeyPatch.context() as patch:
        for attribute in ("note", "save", "publish", "sign"):
            patch.setattr(RunFolder, attribute, dying(getattr(RunFolder, attribute)))
        yield


@every_recipe
def test_a_resumed_run_equals_an_unbroken_one(name, stores, tmp_path):
    """Killed again and again, a little further each time."""
    recipe = tiny(name)
    data = stores[store_kind(recipe)]
    unbroken = train(recipe, data, tmp_path / "unbroken")
    for number in itertools.count(1, 3):
        try:
            with killed_at(number, after=number % 2 == 0):
                broken = train(recipe, data, tmp_path / "broken")
            break
        except Killed:
            continue
    assert number > 1
    assert_same_run(unbroken, broken)


@pytest.mark.parametrize("name", ["gpt2", "bigram"])
def test_no_write_is_a_bad_moment_to_die(name, stores, tmp_path):
    """Killed once, before each single write of a run in turn, the very last ones included."""
    recipe = tiny(
        name, 'training.evaluate="2"', "training.batch_size=4", *(['training.budget="3"'] if name in GRADIENT else [])
    )
    data = stores[store_kind(recipe)]
    unbroken = train(recipe, data, tmp_path / "unbroken")
    for number in itertools.count(1):
        out = tmp_path / str(number)
        try:
            with killed_at(number, after=False):
                train(recipe, data, out)
            break
        except Killed:
            assert_same_run(unbroken, train(recipe, data, out))
    assert number > 5


def forked(work) -> int:
    """A process of its own that does `work`, at once: everything it needs is already imported."""
    child = os.fork()
    if child:
        return child
    try:
        work()
    except SystemExit as ended:
        sys.stderr.flush()
        os._exit(ended.code or 0)
    except BaseException:  # noqa: BLE001  it must not go on as a second pytest
        traceback.print_exc()
        os._exit(99)
    os._exit(0)


def ended(child: int) -> int | None:
    """The exit code (minus the signal's number) of a process, None while it runs."""
    found, status = os.waitpid(child, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def until(ready, child: int) -> int | None:
    """Wait for something to be true, or for the process to end."""
    while (code := ended(child)) is None and not ready():
        time.sleep(0.005)
    return code


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["gpt2", "lstm"])
def test_a_run_killed_at_random_moments_ends_the_same(name, stores, tmp_path):
    recipe = tiny(name, 'training.budget="40"', "training.log=4", 'training.evaluate="7"')
    data, run = stores[store_kind(recipe)], RunFolder(tmp_path / "killed")
    unbroken = train(recipe, data, tmp_path / "unbroken")
    draw, code, kills = random.Random(name), None, 0
    while code != 0:
        before = [path.name for path in run.checkpoints()][-1:]
        child = forked(lambda: train(recipe, data, run.path))
        code = until(lambda old=before: [path.name for path in run.checkpoints()][-1:] != old, child)
        if code is None and kills < 5:  # it has got further than the last time: now, at any moment
            time.sleep(draw.random() * 0.05)
            os.kill(child, signal.SIGKILL)
        code = until(lambda: False, child) if code is None else code
        assert code in (0, -signal.SIGKILL)
        kills += code != 0
    assert kills >= 2, "it finished before it could be killed"
    assert_same_run(unbroken, run)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_first_and_ends_with_130(number, stores, tmp_path):
    recipe, run = tiny("gpt2", 'training.budget="100000"', 'training.save="100000"'), RunFolder(tmp_path / "run")
    (tmp_path / "mine.toml").write_text(toml.write(recipe.values()), encoding="utf-8")

    def program():
        os.dup2(os.open(tmp_path / "said", os.O_CREAT | os.O_WRONLY), 2)
        sys.stderr = os.fdopen(2, "w", closefd=False)
        sys.argv = [
            "foreword",
            "train",
            str(tmp_path / "mine.toml"),
            "--data",
            str(stores["byte_bpe"]),
            "--out",
            str(run.path),
            "--processes",
            "1",  # a forked process cannot try more threads: OpenMP's are those of the one it comes from
        ]
        main()

    child = forked(program)
    code = until(run.metrics, child)
    assert code is None, (tmp_path / "said").read_text()
    os.kill(child, number)
    code, said = until(lambda: False, child), (tmp_path / "said").read_text()
    assert code == 130, said
    assert "all of it is saved" in said
    tensors, progress = run.latest()
    assert progress.step >= 2
    assert f"stopped at step {progress.step:,}" in said
    assert all(torch.isfinite(tensor).all() for tensor in tensors.values())
    assert (run.model / "config.json").is_file()


@pytest.mark.parametrize("name", GRADIENT)
def test_an_interrupted_run_goes_on_to_the_same_end(name, stores, tmp_path, monkeypatch):
    recipe = tiny(name)
    data = stores[store_kind(recipe)]
    unbroken = train(recipe, data, tmp_path / "unbroken")
    with interrupted_at(4, monkeypatch):
        train(recipe, data, tmp_path / "stopped")
    assert RunFolder(tmp_path / "stopped").latest()[1].step == 5
    assert_same_run(unbroken, train(recipe, data, tmp_path / "stopped"))


def test_a_finished_run_asked_again_changes_nothing(stores, tmp_path):
    recipe = tiny("gpt2")
    once = train(recipe, stores["byte_bpe"], tmp_path / "run")
    before = (metrics(once), load_file(once.model / "model.safetensors"))
    again = train(recipe, stores["byte_bpe"], tmp_path / "run")
    assert metrics(again) == before[0]
    assert all(
        torch.equal(before[1][key], value) for key, value in load_file(again.model / "model.safetensors").items()
    )


@pytest.mark.parametrize("name", GRADIENT)
def test_resuming_far_on_costs_no_more(name, store_of, monkeypatch):
    """Step ten million is taken without the steps before: as many rows are cut for it as for one of the first."""
    recipe = tiny(name)
    learner, stream = learner_for(recipe, store_of(recipe))
    reads = []
    store = stream.cutter.store
    real = store.read
    monkeypatch.setattr(store, "read", lambda start, stop: (reads.append(stop - start), real(start, stop))[1])
    near = 0
    for step in range(12 if recipe.objective.takes_turns else 1):  # of several tasks some read more than others
        stream.batch(step)
        near, reads[:] = max(near, sum(reads)), []
    learner.step(stream.batch(10_000_000), 10_000_000, 0.5)
    assert sum(reads) <= 2 * near


def test_the_model_is_made_before_the_folder(stores, tmp_path):
    """Faults of the recipe against the text leave nothing behind."""
    from foreword.basics.messages import Fault

    with pytest.raises(Fault, match="too few"):
        train(tiny("gpt2", "network.context=1000000"), stores["byte_bpe"], tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_every_recipe_builds_for_its_own_vocabulary():
    """The published sizes of the smallest recipes, counted without allocating them."""
    from foreword.tokens.vocabulary import Vocabulary

    with torch.device("meta"):
        gpt2 = model_for(loader.load("gpt2"), Vocabulary(50257, 50256, ()))
        bert = model_for(loader.load("bert"), Vocabulary(30522, 102, ()))
        gpt1 = model_for(loader.load("gpt1"), Vocabulary(40478, -1, ()))
    assert gpt2.parameter_count() == 124_439_808
    assert gpt1.parameter_count() == 116_534_784
    assert sum(p.numel() for p in bert.network.parameters()) + 768 * 769 == 109_482_240  # with the pooler
    assert number_of("weights", 0) != number_of("weights", 1)


@pytest.mark.parametrize("name", FROM_LABELS)
def test_a_recipe_of_labelled_tasks_learns_resumes_exactly_and_opens_again(name, tmp_path, monkeypatch):
    """What the others promise on text, on the tasks that it is given."""
    tasks = [replace(task(kind, 24, 9, 9), name=kind) for kind in LABELLED_KINDS.places]
    start, settings = (
        folder("bert", tmp_path / "base"),
        ('training.budget="6epochs"', "training.optimizer.learning_rate=2e-3"),
    )
    unbroken = multitask(start, tasks, tmp_path / "unbroken", settings, loader.load(name))
    with interrupted_at(3, monkeypatch):
        multitask(start, tasks, tmp_path / "broken", settings, loader.load(name))
    broken = multitask(start, tasks, tmp_path / "broken", settings, loader.load(name))
    assert same_lines(unbroken) == same_lines(broken)
    assert unbroken.passport()["scores"] == broken.passport()["scores"]
    assert unbroken.recipe().name == name
    dev = [sum(line["valid"].values()) for line in unbroken.metrics() if "valid" in line]
    assert dev[-1] < dev[0]
    for first, second in zip(open_model(unbroken.path).model.parameters(), open_model(broken.path).model.parameters()):
        assert torch.equal(first, second)


def same_lines(run):
    return [{key: value for key, value in line.items() if key != "seconds"} for line in run.metrics()]
