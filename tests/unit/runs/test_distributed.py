"""A plan for several processes against closed forms, torch's own cutting, and the whole that its shares add up to."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from foreword.assembly import loader
from foreword.assembly.build import model_for
from foreword.basics.messages import Fault
from foreword.runs.distributed import (
    COPIES,
    PROGRAM,
    REACHED,
    Devices,
    distributed,
    enough,
    hardware_elsewhere,
    replicated,
    sharded,
)
from foreword.runs.needs import Needs, needs
from foreword.runs.plan import lines, plan
from foreword.tokens.vocabulary import Vocabulary
from foreword.training.hardware import Hardware
from tests.unit.runs.test_plan import WORDS, small

GPT = Vocabulary(50257, -1, ())
WIDTH, LAYERS, CONTEXT = 12288, 96, 2048  # of GPT-3 175B
BLOCK = 4 * (12 * WIDTH**2 + 13 * WIDTH)  # bytes: four maps of attention and two of the feedforward, biases, two norms
OUTSIDE = 4 * ((50257 + CONTEXT) * WIDTH + 2 * WIDTH)  # the tables and the last norm
WHOLE = LAYERS * BLOCK + OUTSIDE


@pytest.fixture(scope="module")
def gpt3() -> Needs:
    return needs(loader.load("gpt3", "175b"), GPT, hardware_elsewhere("auto"))


def test_gpt3_is_its_blocks_and_its_tables(gpt3):
    assert (gpt3.layout.block, gpt3.layout.outside, gpt3.weights) == (BLOCK, OUTSIDE, WHOLE)
    assert gpt3.layout.largest == 4 * 50257 * WIDTH


@pytest.mark.parametrize("processes", [2, 64, 1024])
def test_what_gpt3_takes_of_each_process(gpt3, processes):
    """Weights, gradients and Adam's two moments are shared; a block, the next, and a gradient twice, and the tables are whole."""
    every, share = replicated(gpt3, processes), sharded(gpt3, processes)
    assert (every.weights, every.gradients, every.optimizer) == (WHOLE, WHOLE, 2 * WHOLE)
    assert share.gradients == share.weights == pytest.approx(WHOLE / processes, rel=1e-3)
    assert share.optimizer == 2 * share.weights
    assert share.passing == 4 * BLOCK + 2 * OUTSIDE
    assert every.stepping == share.stepping == 0, "Adam needs nothing whole"


@pytest.mark.parametrize("processes", [1, 2, 64, 1024])
def test_what_gpt3_sends(gpt3, processes):
    others = (processes - 1) / processes
    assert replicated(gpt3, processes).sent(7) == pytest.approx(2 * others * WHOLE), "once, however many passes"
    gathered = WHOLE + LAYERS * BLOCK  # all of it on the way there, the blocks again on the way back
    assert sharded(gpt3, processes).sent(7) == pytest.approx(7 * others * (gathered + WHOLE))


def test_gpt3_does_not_fit_64_devices_and_fits_as_many_as_are_said(gpt3):
    found = distributed(gpt3, Devices(64, 80e9, 312e12, 100e9), 1600, False, 80e9, None)["ways"]
    assert not found["ddp"]["fits"]
    assert not found["fsdp"]["fits"]
    count = found["fsdp"]["processes_that_fit"]
    assert count == enough(gpt3, 1600, 80e9) == 160
    divisors = [n for n in range(1, 1601) if 1600 % n == 0]
    before = divisors[divisors.index(count) - 1]
    assert sharded(gpt3, count).fits(80e9, gpt3.row_recomputed) == 1
    assert sharded(gpt3, before).fits(80e9, gpt3.row_recomputed) == 0
    assert enough(gpt3, 1600, 30e9) is None, "what is whole for a moment does not fit, however many share the rest"


def test_time_is_work_by_speed_and_bytes_by_the_interconnect(gpt3):
    found = distributed(gpt3, Devices(320, 80e9, 312e12, 25e9), 1600, False, 80e9, None)["ways"]["fsdp"]
    assert found["recompute"], "nothing else fits"
    assert (found["rows_at_once"], found["passes"]) == (2, 3)
    seconds = found["seconds"]
    assert seconds["computing"] == pytest.approx(5 * CONTEXT * gpt3.flops_recomputed / (REACHED * 312e12))
    assert seconds["sending"] == pytest.approx(found["sent_each_step"] / 25e9)
    assert found["step_seconds"] == [max(seconds.values()), sum(seconds.values())]
    timed = distributed(gpt3, Devices(320, 80e9), 1600, False, 80e9, 100.0)["ways"]["fsdp"]
    assert timed["seconds"] == {"computing": 5 * CONTEXT / 100.0, "sending": None}
    assert distributed(gpt3, Devices(320, 80e9), 1600, False, 80e9, None)["ways"]["fsdp"]["step_seconds"] is None


@pytest.mark.parametrize("processes", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("name", ["gpt2", "gpt1, untied", "modern-gpt", "bert"])
def test_shares_are_cut_as_torch_cuts_and_add_up_to_the_whole(name, processes):
    recipe = small(name)
    found, model = needs(recipe, WORDS, Hardware()), model_for(recipe, WORDS)
    ranks = [found.layout.shard(processes, rank) for rank in range(processes)]
    assert sum(ranks) == found.weights
    assert ranks[0] == max(ranks)
    cut = [torch.chunk(parameter, processes) for parameter in model.parameters()]
    assert ranks == [4 * sum(one[rank].numel() for one in cut if rank < len(one)) for rank in range(processes)]


def test_one_process_holds_everything_and_sends_nothing():
    found = needs(small("gpt2"), WORDS, Hardware())
    alone = distributed(found, Devices(1, 1e9), 8, False, 1e9, None)["ways"]
    assert list(alone) == ["alone"]
    assert alone["alone"]["sent_each_step"] == 0
    share = replicated(found, 1)
    assert share.peak(8, found.row, 2) == PROGRAM + found.layout.largest + found.peak(8, False), (
        "gradients and activations"
    )
    assert alone["alone"]["memory"]["peak"] == share.peak(8, found.row, 2) - found.gradients, (
        "one pass: they come as these go"
    )
    assert share.peak(0, 0) == PROGRAM + found.fixed - found.beside + found.layout.largest, "at the end of a pass"
    assert replicated(found, 2).peak(8, found.row) == share.peak(8, found.row, 2), "buckets are there throughout"


def test_muon_takes_whole_matrices_of_one_shape_together():
    """Queries, keys and values stack three of one shape with what reads attention; the feedforward has two shapes."""
    recipe = small("gpt2", "training.optimizer={kind='muon', learning_rate=1e-3}")
    found = needs(recipe, WORDS, Hardware())
    assert sorted(found.layout.stepping) == sorted(4 * 3 * 48 * 48 * each for each in (4, 4, 4))
    for share in (replicated(found, 4), sharded(found, 4)):
        assert share.stepping == COPIES * max(found.layout.stepping)
    assert sharded(found, 4).sent_each_step == 3 / 4 * sum(found.layout.stepping)
    tight = replace(sharded(found, 4), stepping=10**9)
    assert tight.fits(5 * 10**8, 1) == 0
    assert tight.peak(1, 1) > 10**9


def test_more_memory_never_fits_fewer_rows_and_recomputing_fits_more():
    found = needs(small("gpt2"), WORDS, Hardware())
    share = sharded(found, 4)
    fit = [share.fits(memory, found.row) for memory in (1e8, 4e8, 8e8, 2e9)]
    assert fit == sorted(fit)
    assert fit[0] == 0
    assert share.fits(8e8, found.row_recomputed) > share.fits(8e8, found.row) > 0
    most = share.fits(8e8, found.row)
    assert share.peak(most, found.row, 2) <= 0.9 * 8e8 < share.peak(most + 1, found.row, 2)


def test_a_batch_that_cannot_be_shared_is_said():
    with pytest.raises(Fault, match=r"batch_size 8 cannot be shared by 3 processes.\n.*--set training.batch_size=9"):
        plan(small("gpt2", "training.batch_size=8"), WORDS, Hardware(), None, False, Devices(3))
    with pytest.raises(Fault, match="there is no precision 'bf8'"):
        hardware_elsewhere("bf8")


def test_a_plan_on_paper_as_a_person_reads_it():
    devices = Devices(320, 80e9, 312e12, 25e9)
    found = plan(loader.load("gpt3", "175b"), GPT, hardware_elsewhere("auto"), None, True, devices)
    assert found["pace"] is None, "nothing is timed here for devices elsewhere"
    assert json.loads(json.dumps(found)) == found
    said = "\n".join(lines(found))
    assert "on other devices, bfloat16" in said
    assert "shared   by 320 processes, 5 rows each, 80.0 GB each, 25.0 GB/s between them" in said
    assert "a batch that begins with 16 rows cannot be: training.ramp.start must be a multiple of 320" in said
    assert "does not fit: one row, recomputed, takes 2.8 TB, and there are 80.0 GB" in said
    assert "2 at once with training.recompute=true take" in said
    assert "computing takes" in said
    assert " days" in said.split("The budget: ")[1]
    assert not any(line.startswith(("fits", "pace", "time")) for line in lines(found)), "those are of this machine"
    one, two = found["distributed"]["ways"]["fsdp"]["budgets"]
    assert one["seconds"] < two["seconds"]
    assert two["tokens"] == 300e9


def test_attention_with_dropout_keeps_no_weights_elsewhere():
    recipe = small("gpt2", "network.dropout={ table = 0.0, embeddings = 0.0, attention = 0.1, residual = 0.0 }")
    here, there = (
        plan(recipe, WORDS, hardware, None, False, devices)["memory"]["row"]
        for hardware, devices in ((Hardware(), None), (Hardware(), Devices(2, 1e9)))
    )
    assert there == needs(small("gpt2"), WORDS, Hardware()).row <= here
