import math
import subprocess
import sys

import pytest
import torch

from foreword.basics.messages import Fault
from foreword.batches.stream import Prefetched
from foreword.parts.block import layers
from foreword.training import compiling, gradient, hardware, memory
from foreword.training.compiling import Compiling
from foreword.training.hardware import Hardware, precisions, speed
from foreword.training.memory import free_memory
from tests.contracts.test_every_objective import without_chance
from tests.tiny import GRADIENT, learner_for, take_steps, tiny
from tests.widths import torch_compiles


def test_what_is_not_there_is_said_with_what_is():
    missing = next(name for name in ("cuda", "mps") if name not in hardware.devices())
    with pytest.raises(Fault) as fault:
        Hardware.choose(device=missing)
    assert missing in fault.value.what
    assert "cpu" in fault.value.do
    with pytest.raises(Fault, match="no precision 'bf61'"):
        Hardware.choose(precision="bf61")
    with pytest.raises(Fault, match="auto, on or off"):
        Hardware.choose(compile="perhaps")


def test_a_precision_that_kills_its_process_is_not_available(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(hardware, "PROBE", "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    asked = speed.__wrapped__  # what an earlier test was told is kept in a cache
    assert asked("bfloat16") is None
    monkeypatch.setattr(hardware, "speed", lambda name: 1e9 if name == "float32" else asked(name))
    assert precisions("cpu") == ["float32"]
    with pytest.raises(Fault) as fault:
        Hardware.choose("cpu", "bf16")
    assert fault.value.do == "Available here: float32."
    monkeypatch.setattr(hardware, "PROBE", "print(5.0)")
    assert asked("bfloat16") is None, "what was found out is kept"
    (tmp_path / "foreword" / "machine.json").write_text('{"machine": "another"}')
    assert asked("bfloat16") == 5.0, "but not for another machine"


def test_a_precision_that_is_merely_emulated_is_not_offered(monkeypatch):
    monkeypatch.setattr(hardware, "speed", {"float32": 100.0, "bfloat16": 180.0, "float16": 2.0}.get)
    assert precisions("cpu") == ["float32", "bfloat16"]


def test_free_memory_is_what_this_machine_says():
    assert 10**8 < free_memory("cpu") < 10**14


@pytest.mark.parametrize("name", GRADIENT)
def test_a_batch_in_parts_learns_the_same_and_too_large_a_one_is_answered(name, store_of, monkeypatch):
    recipe = without_chance(name)  # each part would draw its own dropout
    whole, stream = learner_for(recipe, store_of(recipe), dtype=torch.float64)
    take_steps(whole, stream, range(2))
    batch = stream.batch(0)
    one, two = memory.kept_by(whole, batch.rows(0, 1)), memory.kept_by(whole, batch.rows(0, 2))
    assert two > one > 0
    fixed = 3 * sum(p.numel() * p.element_size() for p in whole.model.parameters())
    tight = int((fixed + one + 2 * memory.BACKWARD * (two - one)) / memory.SPARE) + 1000  # room for some two rows
    monkeypatch.setattr(gradient, "free_memory", lambda device: tight)
    narrow, _ = learner_for(recipe, store_of(recipe), dtype=torch.float64)
    with pytest.raises(Fault) as fault:
        narrow.step(batch, 0, 0.0)
    fit = memory.largest_part(narrow, batch, tight)
    assert 1 <= fit < batch.size
    assert f"{fit:,} rows do" in fault.value.what
    assert "--auto-batch" in fault.value.do
    narrow.hardware = Hardware(auto_batch=True)
    take_steps(narrow, stream, range(2))
    assert narrow.share <= fit
    for ours, theirs in zip(narrow.model.parameters(), whole.model.parameters()):
        assert torch.allclose(ours, theirs, atol=1e-8)
    monkeypatch.setattr(gradient, "free_memory", lambda device: 1000)
    with pytest.raises(Fault, match="not even one row"):
        learner_for(recipe, store_of(recipe))[0].step(batch, 0, 0.0)


@pytest.mark.parametrize("name", ["gpt2", "bert", "modern-gpt"])
def test_blocks_computed_again_give_the_same_gradient_and_keep_less(name, store_of):
    recipe = tiny(name, "training.recompute=true")
    again, stream = learner_for(recipe, store_of(recipe))
    kept, _ = learner_for(tiny(name), store_of(recipe))
    batch = stream.batch(0)
    assert memory.kept_by(again, batch) < 0.7 * memory.kept_by(kept, batch)
    assert again.step(batch, 0, 0.0).values == kept.step(batch, 0, 0.0).values


def test_batches_made_ahead_are_the_same_batches(store):
    recipe = tiny("gpt2")
    plain, stream = learner_for(recipe, store())
    ahead = Prefetched(learner_for(recipe, store())[1])
    for step in (0, 1, 2, 5, 3):  # also out of order: a resumed run begins anywhere
        assert torch.equal(stream.batch(step).inputs.ids, ahead.batch(step).inputs.ids)
    assert ahead.epochs(7) == stream.epochs(7)
    ahead.close()


@pytest.mark.thorough
@torch_compiles
def test_a_compiled_step_is_the_eager_step(store):
    recipe = tiny("modern-gpt")
    eager, stream = learner_for(recipe, store())
    compiled, _ = learner_for(recipe, store(), hardware=Hardware(compile="on"))
    assert all(block._compiled_call_impl for block in layers(compiled.model))
    for step in range(2):
        plain, quick = (each.step(stream.batch(step), step, 0.1).values for each in (eager, compiled))
        assert quick["loss"] == pytest.approx(plain["loss"], abs=1e-5)
        assert quick["gradient"] == pytest.approx(plain["gradient"], rel=1e-4)
    wanted = eager.measure([stream.batch(5)])
    assert compiled.measure([stream.batch(5)])["nll.tokens"] == pytest.approx(wanted["nll.tokens"], abs=1e-4)


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def run(watching, clock, seconds, share, steps, start=0.0):
    """`steps` steps of so many seconds, each a `share` of the budget."""
    for step in range(steps):
        watching.before(start + share * step)
        clock.now += seconds() if callable(seconds) else seconds
        watching.after(1000)


@pytest.mark.parametrize(("hours", "busy", "repaid"), [(0.001, 0.2, False), (0.05, 0.2, True), (2, 0.8, False)])
def test_compiling_waits_for_a_budget_and_a_step_that_repay_it(store, capsys, monkeypatch, hours, busy, repaid):
    monkeypatch.setattr(compiling.elementwise, "fits", lambda x: False)
    model = learner_for(tiny("gpt2"), store())[0].model
    monkeypatch.setattr(torch.nn.Module, "compile", lambda module: setattr(module, "_compiled_call_impl", len))
    clock = Clock()
    watching = Compiling(model, "auto", None, clock, lambda: watching.operations * 1000 / 0.5 / busy)
    run(watching, clock, 0.5, 0.5 / (hours * 3600), compiling.TRIAL + compiling.WARMING + 1)
    assert watching.compiled == repaid
    said = capsys.readouterr().err
    assert ("not compiled" in said) != repaid
    assert f"{busy:.0%}" in said


def test_where_the_kernels_fuse_nothing_is_compiled_unasked(store, capsys, monkeypatch):
    monkeypatch.setattr(compiling.elementwise, "fits", lambda x: True)
    monkeypatch.setattr(torch.nn.Module, "compile", lambda module: setattr(module, "_compiled_call_impl", len))
    model = learner_for(tiny("gpt2"), store())[0].model
    clock = Clock()
    run(Compiling(model, "auto", clock), clock, 0.5, 1e-6, compiling.TRIAL + compiling.WARMING + 1)
    assert not any(block._compiled_call_impl for block in layers(model))
    assert not capsys.readouterr().err
    assert Compiling(model, "on", clock).compiled


@pytest.mark.parametrize(("after", "kept"), [(0.4, True), (0.6, False)])
def test_what_is_no_faster_is_undone(store, capsys, monkeypatch, after, kept):
    monkeypatch.setattr(compiling.elementwise, "fits", lambda x: False)
    model = learner_for(tiny("gpt2"), store())[0].model
    monkeypatch.setattr(torch.nn.Module, "compile", lambda module: setattr(module, "_compiled_call_impl", len))
    clock = Clock()
    watching = Compiling(model, "auto", None, clock, lambda: 1e20)
    turns = compiling.TRIAL + compiling.WARMING
    run(watching, clock, 0.5, 1e-5, turns)
    times = iter([40.0] + [after] * 1000)
    run(watching, clock, lambda: next(times), 1e-5, turns + 1, start=1e-5 * turns)
    assert all(bool(block._compiled_call_impl) == kept for block in layers(model))
    said = capsys.readouterr().err
    assert ("1.25 times as fast" in said) == kept
    assert ("going on without" in said) != kept


@pytest.mark.thorough
@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
def test_a_lower_precision_learns_too(precision, store):
    if precision not in precisions("cpu"):
        pytest.skip(f"this machine does not multiply in {precision}")
    recipe = tiny("gpt2")
    plain, stream = learner_for(recipe, store())
    low, _ = learner_for(recipe, store(), hardware=Hardware(precision=precision))
    first = [each.step(stream.batch(0), 0, 0.1).values["loss"] for each in (plain, low)]
    assert first[1] == pytest.approx(first[0], rel=0.02)
    later = take_steps(low, stream, range(1, 30))[-1]["loss"]
    assert math.isfinite(later)
    assert later < first[1]


@pytest.mark.thorough
def test_the_probe_runs_alone():
    done = subprocess.run([sys.executable, "-c", hardware.PROBE, "float32"], capture_output=True, text=True, check=True)
    assert float(done.stdout) > 1e8


def test_without_a_compiler_a_run_goes_on_and_one_that_insists_is_told(store, capsys, monkeypatch):
    def none():
        raise torch._inductor.exc.InvalidCxxCompiler()

    import torch._inductor.cpp_builder

    monkeypatch.setattr(torch._inductor.cpp_builder, "get_cpp_compiler", none)
    monkeypatch.setattr(compiling.elementwise, "fits", lambda x: False)
    model = learner_for(tiny("gpt2"), store())[0].model
    assert not Compiling(model, "auto").open
    assert "needs a C++ compiler" in capsys.readouterr().err
    with pytest.raises(Fault, match=r"needs a C\+\+ compiler"):
        Compiling(model, "on")
