"""A run saved by some processes goes on with others: fewer, more, the weights shared out or not."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
import torch

from foreword.assembly import loader
from foreword.batches.by_task import TaskCutter
from foreword.runs.folder import RunFolder
from foreword.runs.opening import open_model
from foreword.runs.train import train
from foreword.tasks import LABELLED_KINDS
from foreword.training.hardware import Hardware
from foreword.training.ranks import Ranks, Replicas, Shards
from foreword.transfer.labelled_run import labelled_run, opened
from foreword.transfer.multitask import multitask, recipe_for_tasks
from foreword.transfer.tuning import FinetuneSettings
from tests.labelled import folder, task
from tests.ranks import on_ranks
from tests.tiny import interrupted_at, store_kind, tiny

pytestmark = pytest.mark.thorough
WAYS = {"1": (Ranks, 1), "2": (Replicas, 2), "3": (Replicas, 3), "2 sharded": (Shards, 2), "3 sharded": (Shards, 3)}
LAST = 4  # the step in which a broken run stops


def trained(way, recipe, data, out, tmp_path, stop=False):
    """The run as so many processes leave it."""
    kind, world = WAYS[way]

    def work(rank):
        hardware = Hardware(ranks=Ranks() if world == 1 else kind(rank, world), prefetch=False)
        if not stop:
            train(recipe, data, out, hardware=hardware)
            return
        with pytest.MonkeyPatch.context() as patch, interrupted_at(LAST, patch):
            train(recipe, data, out, hardware=hardware)
        return

    count = len(list(tmp_path.glob("group-*")))
    on_ranks(world, work, tmp_path / f"group-{count}")
    return RunFolder(out)


def losses(run):
    return [(record["step"], record.get("loss") or record["valid"]) for record in run.metrics()]


def tensors(run):
    return dict(run.saved(run.checkpoints()[-1])[0])


def assert_same_numbers(one, other, exact):
    assert [step for step, _ in losses(one)] == [step for step, _ in losses(other)]
    for (_, loss), (_, again) in zip(losses(one), losses(other)):
        assert again == (loss if exact else pytest.approx(loss, rel=1e-6))
    first, second = tensors(one), tensors(other)
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        assert tensor.shape == second[name].shape, name
        if exact:
            assert torch.equal(tensor, second[name]), name
        else:
            assert torch.allclose(tensor.double(), second[name].double(), rtol=1e-4, atol=1e-5), name


@pytest.mark.parametrize("name", ["gpt2", "modern-gpt", "lstm", "transformer-xl", "t5"])
def test_it_goes_on_with_other_processes(name, stores, tmp_path):
    recipe = tiny(name, "training.batch_size=6", "training.log=1", 'training.save="2"')
    recipe = recipe.model_copy(update={"network": recipe.network.model_copy(update={"dropout": without(recipe)})})
    data = stores[store_kind(recipe)]
    unbroken = {way: trained(way, recipe, data, tmp_path / way, tmp_path) for way in ("1", "2", "2 sharded")}
    assert_same_numbers(unbroken["1"], unbroken["2"], exact=False)
    assert_same_numbers(unbroken["1"], unbroken["2 sharded"], exact=False)
    for begun in ("1", "2", "2 sharded"):
        broken = tmp_path / f"begun with {begun}"
        trained(begun, recipe, data, broken, tmp_path, stop=True)
        for way in WAYS:
            out = tmp_path / f"{begun} then {way}"
            shutil.copytree(broken, out)
            assert_same_numbers(
                unbroken.get(way, unbroken["1"]), trained(way, recipe, data, out, tmp_path), way == begun
            )


def without(recipe):
    dropout = recipe.network.dropout
    return 0.0 if isinstance(dropout, float) else type(dropout)()


def test_a_sharded_step_and_model_open_like_any_other(stores, tmp_path):
    recipe = tiny("gpt2", "training.batch_size=6", 'training.save="2"')
    data = stores[store_kind(recipe)]
    run = trained("2 sharded", recipe, data, tmp_path / "run", tmp_path)
    step = run.checkpoints()[-1]
    assert len(list(step.glob("shard-*.safetensors"))) == 2
    assert not [path for path in step.rglob("*") if path.suffix not in (".safetensors", ".json")], "nothing is pickled"
    last = open_model(f"{run.path}@{int(step.name.removeprefix('step-'))}").model
    saved = tensors(run)
    assert all(torch.equal(weight, saved[f"model/{name}"]) for name, weight in last.weights().items())
    assert open_model(run.path).model.parameter_count() == last.parameter_count()


@pytest.mark.parametrize("kind", [Replicas, Shards])
def test_labelled_tasks_learn_the_same_on_two_processes(kind, tmp_path):
    """Several tasks with a head each, batches of unequal size among them: the last share is a row smaller. In float64."""
    tasks = [replace(task(one, 23, 9, 9), name=one) for one in LABELLED_KINDS.places]
    start = folder("bert", tmp_path / "base")
    settings = ('training.budget="2epochs"', "training.batch_size=8", "training.log=1", "network.dropout={}")
    even = ", ".join(f"{one.name} = 0.0" for one in tasks)  # what is dropped depends on the rank
    recipe = loader.load("mt-dnn", "", [f"objective.dropouts={{ {even} }}", 'objective.pairs="classify"'])
    cutter = TaskCutter(trained_on(recipe_for_tasks(recipe, opened(start), tasks, settings), tasks, start), 8, 0)
    assert {end - first for _, first, end in map(cutter.batch, range(9))} == {7, 8}

    def run(out, hardware=None):
        return multitask(start, tasks, out, settings, recipe, hardware=hardware)

    torch.set_default_dtype(torch.float64)
    try:
        on_ranks(2, lambda rank: run(tmp_path / "two", Hardware(ranks=kind(rank, 2))) and None, tmp_path / "group")
        alone, two = run(tmp_path / "one"), RunFolder(tmp_path / "two")
    finally:
        torch.set_default_dtype(torch.float32)
    assert [record["tokens"] for record in alone.metrics()] == [record["tokens"] for record in two.metrics()]
    for one, other in zip(alone.metrics(), two.metrics()):
        values = {key: value for key, value in one.items() if key.startswith(("loss", "nll", "gradient"))}
        assert {key: other[key] for key in values} == pytest.approx(values, rel=1e-9)
    assert alone.passport()["scores"].keys() == two.passport()["scores"].keys()
    assert open_model(two.path).model.parameter_count() == open_model(alone.path).model.parameter_count()


def trained_on(recipe, tasks, start):
    loaded = opened(start)
    loop = labelled_run(recipe, tasks, RunFolder(start / "nowhere"), loaded, FinetuneSettings())
    return {one.name: one.train for one in loop.workload.subjects}
