"""A plan's numbers against torch's own counters, real optimizers and what a forward pass really keeps."""

from __future__ import annotations

import json

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from foreword.assembly import loader
from foreword.assembly.build import model_for
from foreword.basics.messages import Fault
from foreword.networks.base import Inputs
from foreword.objectives.base import NOTHING, Batch
from foreword.runs import pace as pacing
from foreword.runs.needs import flops_of, guessed, needs, positions_in, scores
from foreword.runs.pace import Pace
from foreword.runs.plan import lines, plan
from foreword.tokens.vocabulary import Vocabulary
from foreword.training import memory
from foreword.training.hardware import Hardware

WORDS = Vocabulary(97, -1, ())
STILL = "network.dropout={ table = 0.0, embeddings = 0.0, attention = 0.0, residual = 0.0 }"
SHAPES = {
    "gpt2": ("gpt2", "network.layers=3", "network.width=48", "network.heads=4", "network.context=40", STILL),
    "gpt1, untied": (
        "gpt1",
        "network.layers=2",
        "network.width=32",
        "network.heads=2",
        "network.context=24",
        "head.tied=false",
        STILL,
    ),
    "gpt3": (
        "gpt3",
        "network.layers=4",
        "network.width=32",
        "network.heads=4",
        "network.context=50",
        "network.visible.window=8",
    ),
    "a wide band": (
        "gpt3",
        "network.layers=3",
        "network.width=32",
        "network.heads=4",
        "network.context=30",
        "network.visible.window=20",
    ),
    "modern-gpt": ("modern-gpt", "network.layers=2", "network.width=32", "network.heads=2", "network.context=32"),
    "bert": (
        "bert",
        "network.layers=2",
        "network.width=32",
        "network.heads=2",
        "network.context=64",
        STILL,
        "objective.parts=[{kind='masked'}]",
    ),
}
every_shape = pytest.mark.parametrize("name", SHAPES)


def small(name: str, *more: str):
    recipe, *settings = SHAPES[name]
    return loader.load(recipe, "", [*settings, *more])


def batch_for(recipe, rows: int) -> Batch:
    torch.manual_seed(0)
    ids = torch.randint(WORDS.size, (rows, positions_in(recipe)))
    targets = torch.full_like(ids, NOTHING)
    places = torch.randperm(ids.size(1))[: round(guessed(recipe) * ids.size(1))]
    targets[:, places] = ids[:, places]
    return Batch(Inputs(ids), {"tokens": targets})


@every_shape
def test_work_is_what_torch_counts(name):
    """Forward and backward of a batch; attention and head by plain products, which torch's counter knows."""
    recipe = small(name)
    model = model_for(recipe, WORDS).train()
    batch = batch_for(recipe, 3)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        there = batch.targets["tokens"] != NOTHING
        model.heads["tokens"].nll(
            model.network(batch.inputs).last[there], batch.targets["tokens"][there]
        ).sum().backward()
    all_of_it, attention = flops_of(recipe, model)
    assert 3 * positions_in(recipe) * all_of_it == pytest.approx(counter.get_total_flops(), rel=0.01)
    counts = counter.get_flop_counts()["Global"]
    products = sum(
        count for operation, count in counts.items() if "bmm" in str(operation) and "baddbmm" not in str(operation)
    )
    assert 3 * positions_in(recipe) * attention == pytest.approx(products, rel=0.01)


def test_a_band_costs_what_its_blocks_cost():
    assert scores(10, None) == scores(10, 10) == scores(10, 99) == 100
    assert scores(12, 4) == 4 * 4 + 2 * 4 * 8
    assert scores(13, 4) == 4 * 4 + 3 * 4 * 8  # the last block is short, and computed whole
    doubled = [scores(2 * n, 256) / scores(n, 256) for n in (1024, 4096, 16384)]
    assert all(2 <= ratio < 2.2 for ratio in doubled)


@every_shape
def test_memory_kept_for_the_way_back_is_what_a_real_pass_keeps(name):
    """The learner measures real tensors before its first step (training/memory.py); here none exist."""
    recipe = small(name)
    learner = recipe.training.learner(model_for(recipe, WORDS), recipe.objective, None, Hardware())
    one, two = (memory.kept_by(learner, batch_for(recipe, rows)) for rows in (1, 2))
    assert needs(recipe, WORDS, Hardware()).row == pytest.approx(two - one, rel=0.1)


@pytest.mark.parametrize(
    "optimizer",
    [
        "{kind='adamw', learning_rate=1e-3}",
        "{kind='adam', learning_rate=1e-3}",
        "{kind='adamax', learning_rate=1e-3}",
        "{kind='sgd', learning_rate=1e-3}",
        "{kind='sgd', learning_rate=1e-3, momentum=0.9}",
        "{kind='muon', learning_rate=1e-3}",
    ],
)
def test_the_optimizer_remembers_as_much_as_it_does(optimizer):
    recipe = small("gpt2", f"training.optimizer={optimizer}")
    model = model_for(recipe, WORDS)
    recipe.objective.loss(model, batch_for(recipe, 1)).charges["tokens"].total.backward()
    kept = 0
    for each in recipe.training.optimizer.build(model):
        each.step()
        kept += sum(
            value.numel()
            for memory in each.state.values()
            for value in memory.values()
            if torch.is_tensor(value) and value.dim()
        )
    assert recipe.training.optimizer.remembers(model) == kept
    found = needs(recipe, WORDS, Hardware())
    assert (found.optimizer, found.weights) == (4 * kept, 4 * model.parameter_count())


def test_recomputing_keeps_less_and_works_more():
    found = needs(small("gpt2"), WORDS, Hardware())
    assert found.row_recomputed < 0.6 * found.row
    assert found.flops < found.flops_recomputed < 4 / 3 * found.flops
    free = 10**9
    assert found.rows_that_fit(free, True) > found.rows_that_fit(free, False) > 0
    most = found.rows_that_fit(free, False)
    assert found.peak(most, False) <= 0.9 * free < found.peak(most + 1, False)
    assert found.rows_that_fit(10**5, True) == 0


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["xlnet", "elmo"])
def test_a_recipe_is_planned_without_its_numbers(name):
    """In its published size: nothing on the way may ask for the value of a tensor."""
    found = needs(loader.load(name), Vocabulary(1000, -1, ()), Hardware())
    assert found.parameters > 0
    assert found.row > 0


def test_175_billion_parameters_are_planned_without_memory():
    """3.14e23 operations for 300 billion tokens is the paper's own count (appendix D), by 6 N."""
    recipe = loader.load("gpt3", "175b")
    found = plan(recipe, Vocabulary(50257, -1, ()), Hardware(), timed=False)
    assert found["parameters"] == 174_604_259_328
    assert found["memory"]["weights"] == 4 * 174_604_259_328
    assert found["budget"]["flops"] == pytest.approx(3.14e23, rel=0.03)
    assert found["memory"]["rows_that_fit"] == found["memory"]["rows_that_fit_recomputed"] == 0
    said = "\n".join(lines(found))
    assert "not one row, even with training.recompute=true" in said
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize(
    ("budget", "tokens", "seconds"),
    [("10", 10 * 8 * 40, 32.0), ("32000tok", 32000, 320.0), ("2epochs", 10000, 100.0), ("50s", 5000, 50.0)],
)
def test_a_budget_is_known_in_every_unit(monkeypatch, budget, tokens, seconds):
    monkeypatch.setattr("foreword.runs.plan.pace", lambda *given: Pace(100.0, "nothing", 1e9))
    recipe = small("gpt2", "training.batch_size=8", f'training.budget="{budget}"')
    found = plan(recipe, WORDS, Hardware(), {"web": (4000, 0.75), "books": (1000, 0.25)})["budget"]
    assert (found["tokens"], found["seconds"], found["steps"]) == (tokens, seconds, tokens / 320)
    assert found["tokens_per_epoch"] == 5000
    assert found["sources"]["web"]["epochs"] == pytest.approx(0.75 * tokens / 4000)


def test_a_plan_knows_that_a_text_is_read_so_many_times_at_most(monkeypatch):
    monkeypatch.setattr("foreword.runs.plan.pace", lambda *given: Pace(100.0, "nothing", 1e9))

    def tokens(budget, *more):
        recipe = small("gpt2", "training.batch_size=8", f'training.budget="{budget}"', *more)
        return plan(recipe, WORDS, Hardware(), {"web": (4000, 1.0)})["budget"]["tokens"]

    assert tokens("10m") == 60_000
    assert tokens("10m", "training.passes=10") == 40_000
    assert tokens("5m", "training.passes=10") == 30_000, "the time is over before"
    assert tokens("20epochs", "training.passes=10") == 80_000, "who asks for epochs gets them"


def test_what_is_not_known_is_said():
    found = plan(small("gpt2", 'training.budget="3epochs"'), WORDS, Hardware(), timed=False)
    assert found["budget"]["tokens"] is found["pace"] is None
    assert list(lines(found))[-1] == "budget   3epochs: --data says how many tokens that is"
    with pytest.raises(Fault, match="kneser-ney counts; it has nothing to plan"):
        plan(loader.load("kneser-ney"), WORDS, Hardware())


@pytest.mark.parametrize(
    ("seconds", "products", "timed"),
    [
        (3.0, 1e15, "steps of the model itself"),
        (1e-3, 1e12, "one layer of each kind"),
        (1e-12, 1e9, "a matrix product"),
    ],
)
@pytest.mark.parametrize("name", ["gpt3", "modern-gpt"])
def test_as_much_is_timed_as_there_is_time_for(monkeypatch, name, seconds, products, timed):
    monkeypatch.setattr(pacing, "SECONDS", seconds)
    monkeypatch.setattr(pacing, "products_a_second", lambda device: products)
    recipe = small(name, "network.width=64", "network.context=256", "network.layers=8", "training.batch_size=2")
    found = pacing.pace(recipe, WORDS, needs(recipe, WORDS, Hardware()), Hardware())
    assert found.how.startswith(timed)
    assert found.tokens_a_second > 0


@pytest.mark.parametrize("positions", ["distance_bias", "relative"])
def test_a_layer_is_timed_several_times_whatever_its_positions_learn(monkeypatch, positions):
    recipe = small("gpt2", f"network.positions.kind={positions}")
    calls = []
    plain = pacing._seconds
    monkeypatch.setattr(
        pacing, "_seconds", lambda work, hardware: calls.append([work(), work()]) or plain(work, hardware, 1)
    )
    assert pacing._in_parts(recipe, WORDS, needs(recipe, WORDS, Hardware()), Hardware()) > 0
    assert len(calls) == 2, "of the layer, and of the head"
