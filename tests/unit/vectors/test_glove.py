"""GloVe: the C loop against numpy, numpy against the formulas, and what can be recovered from a table."""

from __future__ import annotations

import numpy as np
import pytest

from foreword.assembly import loader
from foreword.basics.columns import Scratch
from foreword.basics.messages import Diverged, Fault, Faults
from foreword.batches.row import Row
from foreword.kernels import glove
from foreword.kernels.glove import Entries, Parameters, fit, fit_in_numpy
from foreword.objectives.glove import Glove
from foreword.tokens.vocabulary import Vocabulary
from foreword.vectors.glove import GloveSpec, GloveTable
from foreword.vectors.triples import TripleCutter, shuffle
from tests.unit.vectors.test_cooccurrence import BORDER, dense, table, text

NAMES = (
    "own",
    "outputs",
    "own_squares",
    "output_squares",
    "biases",
    "output_biases",
    "bias_squares",
    "output_bias_squares",
)


def glove_table(words: int = 30, width: int = 20, seed: int = 0) -> GloveTable:
    made = GloveSpec(width=width).build(Vocabulary(words, 0, ()))
    made.begin(seed)
    return made


def entries(words: int, number: int, seed: int = 0) -> Entries:
    draw = np.random.default_rng(seed)
    counts = draw.gamma(1.0, 8.0, number).astype(np.float32) + 0.01
    i, j = (draw.integers(0, words, number).astype(np.int32) for _ in range(2))
    return Entries(i, j, np.log(counts), Glove(x_max=10.0).weights(counts).astype(np.float32))


@pytest.mark.parametrize("width", [1, 16, 20, 100])
def test_the_c_loop_learns_what_numpy_learns(width):
    quick, plain, given = glove_table(30, width), glove_table(30, width), entries(30, 800)
    cost, wanted = fit(quick.fitted, given, 0.05), fit_in_numpy(plain.fitted, given, 0.05)
    assert cost == pytest.approx(wanted, rel=1e-5)
    for name in NAMES:
        assert np.allclose(getattr(quick.fitted, name), getattr(plain.fitted, name), atol=1e-5), name
    assert not np.allclose(quick.fitted.own, glove_table(30, width).fitted.own, atol=1e-3)


def test_one_thread_gives_the_same_bytes_and_two_learn_as_well():
    """Threads that write the same row lose an update now and then; how many, no test can say. So: what they take off the cost."""
    one, again, two = glove_table(300), glove_table(300), glove_table(300)
    removed = []
    for made, threads in ((one, 1), (again, 1), (two, 2)):
        costs = [fit(made.fitted, entries(300, 2000, number % 3), 0.05, threads) for number in range(60)]
        removed.append(costs[0] - costs[-1])
    assert np.array_equal(one.fitted.own, again.fitted.own)
    assert removed[2] > 0.95 * removed[0]


def test_kernels_that_are_off_leave_it_to_numpy(monkeypatch):
    quick, plain, given = glove_table(), glove_table(), entries(30, 50)
    monkeypatch.setattr(glove, "library", lambda: None)
    fit(quick.fitted, given, 0.05, threads=2)
    fit_in_numpy(plain.fitted, given, 0.05)
    assert np.array_equal(quick.fitted.own, plain.fitted.own)


def in_float64(words: int, width: int, seed: int = 0) -> Parameters:
    draw = np.random.default_rng(seed)
    vectors = [(draw.random((words, width)) - 0.5) / (width + 1) for _ in range(2)]
    biases = [(draw.random(words) - 0.5) / (width + 1) for _ in range(2)]
    squares = [np.ones((words, width)), np.ones((words, width))]
    return Parameters(*vectors, *squares, *biases, np.ones(words), np.ones(words))


def test_one_step_is_adagrad_to_the_last_digit():
    """Squares begin with 1 and gather (rate times gradient), as the original program has it."""
    what, before = in_float64(5, 3), in_float64(5, 3)
    given = Entries(np.array([1]), np.array([4]), np.array([2.5]), np.array([0.7]))
    cost = fit_in_numpy(what, given, 0.05)
    apart = before.own[1] @ before.outputs[4] + before.biases[1] + before.output_biases[4] - 2.5
    assert cost == pytest.approx(0.5 * 0.7 * apart**2, abs=1e-12)
    slope = 0.7 * apart  # of half the weighted square, by the inner product and by each bias
    assert np.abs(what.own[1] - (before.own[1] - 0.05 * slope * before.outputs[4])).max() < 1e-12
    assert np.abs(what.outputs[4] - (before.outputs[4] - 0.05 * slope * before.own[1])).max() < 1e-12
    assert abs(what.biases[1] - (before.biases[1] - 0.05 * slope)) < 1e-12
    assert np.abs(what.own_squares[1] - (1 + (0.05 * slope * before.outputs[4]) ** 2)).max() < 1e-12
    again = in_float64(5, 3)
    fit_in_numpy(again, given, 0.05)
    fit_in_numpy(again, given, 0.05)
    second = what.own[1] @ what.outputs[4] + what.biases[1] + what.output_biases[4] - 2.5
    moved = 0.05 * 0.7 * second * what.outputs[4] / np.sqrt(what.own_squares[1])
    assert np.abs(again.own[1] - (what.own[1] - moved)).max() < 1e-12
    assert np.array_equal(what.own[[0, 2, 3]], before.own[[0, 2, 3]])


def cost_of(own, outputs, biases, output_biases, logs, weights):
    """J of equation 8 over a whole table, and its gradients."""
    apart = own @ outputs.T + biases[:, None] + output_biases - logs
    slope = 2 * weights * apart
    return (weights * apart**2).sum(), (slope @ outputs, slope.T @ own, slope.sum(1), slope.sum(0))


def test_the_gradient_is_that_of_the_cost():
    draw = np.random.default_rng(0)
    given = [draw.standard_normal(shape) for shape in ((6, 4), (6, 4), (6,), (6,))]
    logs, weights = draw.standard_normal((6, 6)), draw.random((6, 6))
    _, slopes = cost_of(*given, logs, weights)
    for part, slope in zip(given, slopes):
        at = tuple(draw.integers(0, size) for size in part.shape)
        kept, near = part[at], []
        for shift in (1e-5, -1e-5):
            part[at] = kept + shift
            near.append(cost_of(*given, logs, weights)[0])
        part[at] = kept
        assert (near[0] - near[1]) / 2e-5 == pytest.approx(slope[at], rel=1e-6)
    what = in_float64(3, 2)
    apart = what.own[0] @ what.outputs[1] + what.biases[0] + what.output_biases[1] - 1.5
    one = np.zeros((3, 3))
    one[0, 1] = 0.3
    logs = np.full((3, 3), 1.5)
    _, (slope, *_) = cost_of(what.own, what.outputs, what.biases, what.output_biases, logs, one)
    assert np.allclose(slope[0], 2 * 0.3 * apart * what.outputs[1], atol=1e-12)
    assert not slope[1:].any()  # a cell of weight 0 teaches nothing


def test_weights_are_continuous_and_nothing_for_what_never_met():
    objective = Glove(x_max=100.0)
    assert objective.weights(np.zeros(1))[0] == 0
    assert objective.weights(np.array([100 - 1e-9, 100, 101])) == pytest.approx(1, abs=1e-9)
    assert objective.weights(np.array([1.0]))[0] == pytest.approx(100**-0.75)


def recovered(width: int) -> float:
    """How much of the first pass's cost is left, of a table that rank 5 made."""
    draw = np.random.default_rng(0)
    left, right = (draw.standard_normal((60, 5)) * 0.5 for _ in range(2))
    logs = left @ right.T + draw.standard_normal((60, 1)) * 0.3 + draw.standard_normal(60) * 0.3
    order = draw.permutation(3600)
    counts = np.exp(logs).ravel()[order].astype(np.float32)
    words, others = (part.astype(np.int32) for part in np.divmod(order, 60))
    made = glove_table(60, width)
    given = Entries(words, others, np.log(counts), Glove(x_max=10.0).weights(counts).astype(np.float32))
    costs = [fit(made.fitted, given, 0.05) for _ in range(400)]
    return costs[-1] / costs[0]


def test_a_table_of_rank_five_is_recovered_by_five_dimensions_and_not_by_two():
    assert recovered(5) < 1e-6
    assert recovered(2) > 1e-2


def cutter(memory: int | None, seed: int = 0) -> TripleCutter:
    found = table(text(5000), weighting="distance")
    scratch = Scratch(memory)
    keys = scratch.column(np.int64).append(found._keys)
    counts = scratch.column(np.float64).append(found.counts)
    return TripleCutter(shuffle(keys, counts, 1, BORDER, seed), 100, 1, seed)


@pytest.mark.parametrize("memory", [None, 40_000])
def test_an_epoch_is_every_entry_of_both_halves_once_in_random_order(memory):
    made, wanted = cutter(memory), dense(table(text(5000), weighting="distance"))
    rows = made.rows(0, 0, made.count)
    found = np.zeros((BORDER, BORDER))
    np.add.at(found, tuple(np.concatenate([getattr(row, name) for row in rows]) for name in ("ids", "second")), 1)
    assert np.array_equal(found, wanted > 0)
    for row in rows:
        assert np.allclose(wanted[row.ids, row.second], row.counts, rtol=1e-6)
    first = rows[0].ids
    assert len(set(first.tolist())) > 10  # not one word after the other
    assert made.rows(1, 0, 1)[0].ids.tolist() == rows[1].ids.tolist()  # row n is a function of n
    other = cutter(memory, seed=1).rows(0, 0, 1)[0]
    assert other.ids.tolist() != first.tolist()


def test_a_rate_that_is_too_high_says_so():
    made, given = glove_table(), entries(30, 800)
    row = Row(given.words, 0, 0, second=given.others, counts=np.exp(given.logs))
    made.fitted.own[:] = 1e30
    with pytest.raises(Diverged, match=r"not a number.*\n.*training.learning_rate=0.025"):
        Glove().learn(made, None, [row], 0.05, 0)


def test_the_sum_of_both_tables_is_looked_up_or_its_own_alone():
    made = glove_table()
    assert np.allclose(made.arrays()["vectors"], made.fitted.own + made.fitted.outputs)
    alone = GloveSpec(width=20, lookup="own").build(Vocabulary(30, 0, ()))
    alone.restore(made.arrays())
    assert np.array_equal(alone.vectors, made.fitted.own)
    assert GloveSpec(width=20).parameters(30) == made.parameter_count() == 2 * 30 * 21


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("objective.x_max=0.0", "x_max must be more than 0"),
        ("batches.window=0", "window must be at least 1"),
        ('batches.memory="much"', "'much' is not an amount of memory"),
        ('network.kind="vectors"', "is for network.kind = 'glove'"),
    ],
)
def test_wrong_settings_are_sentences(setting, said):
    with pytest.raises(Faults, match=said):
        loader.load("glove", "", [setting])


def test_several_stores_are_one_table_or_none(stores):
    from foreword.batches.mixture import MixtureSource, open_data

    mixed = open_data(
        [MixtureSource("a", stores["byte_bpe"], 0.5), MixtureSource("b", stores["byte_bpe"], 0.5)], "train"
    )
    with pytest.raises(Fault, match=r"cannot be mixed.*\n.*one store of all"):
        mixed.over(loader.load("glove").batches, 1, 0)
