"""Block-sparse maps: equal to a dense one with a mask, at the cost of the blocks that there are."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from foreword.parts.block_sparse_lstm import BlockSparseLstmCell
from foreword.parts.cells import carried
from foreword.parts.layouts import Balanced, BarabasiAlbert, Diagonal, Full, WattsStrogatz, mixing_steps
from foreword.parts.linear import BlockSparseLinear, BlockSparseSpec, DenseSpec

LAYOUTS = {
    "random": np.random.default_rng(0).random((5, 7)) < 0.4,
    "empty row and column": np.array([[1, 0, 0, 1], [0, 0, 0, 0], [1, 0, 1, 0]], bool),
    "nothing": np.zeros((2, 3), bool),
    "full": np.ones((3, 4), bool),
    "small world": WattsStrogatz(neighbours=4).blocks(8, 8),
    "hubs": BarabasiAlbert(attached=2).blocks(9, 9),
    "wide": Balanced(each=2).blocks(4, 12),
    "tall": Balanced(each=2).blocks(12, 4),
}
every_layout = pytest.mark.parametrize("name", LAYOUTS)


def made(name: str, block: int = 3, bias: bool = True) -> BlockSparseLinear:
    torch.manual_seed(0)
    part = BlockSparseLinear(LAYOUTS[name], block, bias).double()
    nn.init.normal_(part.weight)
    return part


@every_layout
def test_it_is_a_dense_map_with_a_mask(name):
    """Forward, the gradient of what enters and that of every block; a mask one block off gives other numbers."""
    part, layout = made(name), LAYOUTS[name]
    x = torch.randn(2, 6, layout.shape[0] * 3, dtype=torch.float64, requires_grad=True)
    dense = torch.randn(layout.shape[1] * 3, layout.shape[0] * 3, dtype=torch.float64)
    mask = torch.from_numpy(np.kron(layout.T, np.ones((3, 3)))).bool()
    dense[mask] = part.matrix().detach()[mask]
    whole = dense.clone().requires_grad_()
    ours, theirs = part(x), nn.functional.linear(x, whole * mask, part.bias)
    assert (ours - theirs).abs().max() < 1e-10
    slope = torch.randn_like(ours)
    (dx, dw), (wanted, dense_slope) = (
        torch.autograd.grad(y, [x, w], slope) for y, w in ((ours, part.weight), (theirs, whole))
    )
    assert (dx - wanted).abs().max() < 1e-10
    part.weight.data.copy_(dw)
    assert (part.matrix() - dense_slope).abs().max() < 1e-10
    assert dw.numel() == layout.sum() * 9, "absent blocks have no gradient, and no room for one"
    if layout.any() and not layout.all():
        other = nn.functional.linear(x, dense * mask.roll(3, 1), part.bias)
        assert (ours - other).abs().max() > 1e-3


def test_gradients_are_those_of_finite_differences():
    part = made("random", 2)
    x = torch.randn(3, 10, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda x, w: torch.func.functional_call(part, {"weight": w}, (x,)), (x, part.weight.detach().requires_grad_())
    )


def test_a_full_layout_is_a_linear_map():
    part, linear = made("full"), nn.Linear(9, 12).double()
    with torch.no_grad():
        linear.weight.copy_(part.matrix())
        linear.bias.copy_(part.bias)
    x = torch.randn(4, 9, dtype=torch.float64)
    assert torch.allclose(part(x), linear(x), atol=1e-12)


def test_operations_are_those_of_the_blocks_there_are():
    spec, found = BlockSparseSpec(block=4), {}
    for each in (1, 2, 8):
        part = spec.model_copy(update={"layout": Balanced(each=each)}).build(32, 32, False)
        assert part.weight.numel() == each * 8 * 16
        with FlopCounterMode(display=False) as counter:
            part(torch.randn(5, 32, requires_grad=True)).sum().backward()
        found[each] = counter.get_total_flops()
    assert found[1] == 3 * 2 * 5 * 8 * 16
    assert found[2] == 2 * found[1]
    assert found[8] == 8 * found[1]


def test_autocast_leaves_it_in_float32():
    part = BlockSparseLinear(LAYOUTS["random"], 3)
    with torch.autocast("cpu", torch.bfloat16):
        out = part(torch.randn(2, 15).bfloat16())
    assert out.dtype == torch.float32
    out.sum().backward()
    assert part.weight.grad.dtype == torch.float32


# ----------------------------------------------------------------------------------------------------------- layouts


def test_without_rewiring_a_small_world_is_a_ring():
    tied = WattsStrogatz(neighbours=4, rewired=0.0).graph(10, 0)
    apart = (np.arange(10)[:, None] - np.arange(10)) % 10
    assert (tied == np.isin(apart, [1, 2, 8, 9])).all()


def test_rewiring_keeps_the_number_of_ties():
    for rewired in (0.2, 1.0):
        tied = WattsStrogatz(neighbours=6, rewired=rewired).graph(64, 3)
        assert (tied == tied.T).all()
        assert not tied.diagonal().any()
        assert tied.sum() == 64 * 6
    assert not (tied == WattsStrogatz(neighbours=6, rewired=0.0).graph(64, 3)).all()


def test_a_small_world_is_clustered_and_everyone_is_near():
    """networkx says how: short ways of a random graph, clustering of a ring."""
    shown = {}
    for rewired in (0.0, 0.1, 1.0):
        graph = networkx.from_numpy_array(WattsStrogatz(neighbours=6, rewired=rewired).graph(128, 0))
        shown[rewired] = networkx.average_clustering(graph), networkx.average_shortest_path_length(graph)
    ring = networkx.watts_strogatz_graph(128, 6, 0.0)
    assert shown[0.0] == (networkx.average_clustering(ring), networkx.average_shortest_path_length(ring))
    theirs = [networkx.watts_strogatz_graph(128, 6, 0.1, seed) for seed in range(12)]
    for measure in (networkx.average_clustering, networkx.average_shortest_path_length):
        ours = np.mean(
            [
                measure(networkx.from_numpy_array(WattsStrogatz(neighbours=6, rewired=0.1).graph(128, seed)))
                for seed in range(12)
            ]
        )
        assert ours == pytest.approx(np.mean([measure(one) for one in theirs]), rel=0.1)
    assert shown[1.0][0] < 0.5 * shown[0.1][0]


def test_newcomers_make_hubs_and_everyone_is_reached():
    for seed in range(3):
        tied = BarabasiAlbert(attached=3).graph(64, seed)
        graph = networkx.from_numpy_array(tied)
        assert networkx.is_connected(graph)
        assert graph.number_of_edges() == networkx.barabasi_albert_graph(64, 3, seed=seed).number_of_edges()
        assert tied.sum(0).max() > 3 * np.median(tied.sum(0)) > 0
    square = BarabasiAlbert(attached=3).square(64, 0)
    assert square.diagonal().all()
    assert square[:3, :3].all()


@pytest.mark.parametrize(("inputs", "outputs"), [(16, 16), (16, 48), (48, 16)])
def test_a_balanced_layout_has_as_many_blocks_everywhere(inputs, outputs):
    found = Balanced(each=5).blocks(inputs, outputs)
    small = min(inputs, outputs)
    assert set(found.sum(0)) == {5 * inputs // small}
    assert set(found.sum(1)) == {5 * outputs // small}


@pytest.mark.parametrize("layout", [WattsStrogatz(), BarabasiAlbert(), Balanced()])
def test_a_layout_is_the_same_from_the_same_seed(layout):
    other = layout.model_copy(update={"seed": 1})
    assert (layout.blocks(64, 64) == layout.blocks(64, 64)).all()
    assert not (layout.blocks(64, 64) == other.blocks(64, 64)).all()
    assert layout.blocks(4, 4).all(), "more blocks than there are: all of them"


def test_how_soon_everything_meets():
    """The number of products is the largest distance of the graph; a small world needs fewer than its ring."""
    for rewired in (0.0, 0.2):
        layout = WattsStrogatz(neighbours=6, rewired=rewired)
        graph = networkx.from_numpy_array(layout.graph(64, 0))
        assert mixing_steps(layout.square(64, 0)) == networkx.diameter(graph)
    assert mixing_steps(WattsStrogatz().square(64, 0)) < mixing_steps(WattsStrogatz(rewired=0.0).square(64, 0))
    assert mixing_steps(Diagonal().square(8, 0)) is None
    assert mixing_steps(Full().square(8, 0)) == 1


# -------------------------------------------------------------------------------------------------------------- cell


def test_with_all_blocks_the_cell_is_the_dense_one():
    """And with a step fewer, it is another."""
    x = torch.randn(2, 4, 3, dtype=torch.float64)
    sparse = BlockSparseLstmCell(steps=2, linear=BlockSparseSpec(block=2, layout=Full())).build(8, 3, 1).double()
    dense = BlockSparseLstmCell(steps=2, linear=DenseSpec()).build(8, 3, 1).double()
    for weight in sparse.parameters():
        nn.init.normal_(weight, 0, 0.5)
    pairs = dict(sparse.named_modules())
    with torch.no_grad():
        for name, part in dense.named_modules():
            ours = pairs[name]
            if isinstance(ours, BlockSparseLinear):
                part.weight.copy_(ours.matrix())
            elif isinstance(part, (nn.Linear, nn.LayerNorm)):
                part.load_state_dict(ours.state_dict())
    assert torch.allclose(sparse(x, sparse.start(2, x))[0][-1], dense(x, dense.start(2, x))[0][-1], atol=1e-12)


def test_the_cell_is_its_formula():
    torch.manual_seed(0)
    layer = (
        BlockSparseLstmCell(steps=3, linear=BlockSparseSpec(block=2, layout=WattsStrogatz(neighbours=2, rewired=1.0)))
        .layer(3, 16)
        .double()
    )
    for weight in layer.parameters():
        nn.init.normal_(weight, 0, 0.5)
    x = torch.randn(5, 2, 3, dtype=torch.float64)
    outputs, _ = layer(x, layer.start(2, x))
    h = c = torch.zeros(2, 16, dtype=torch.float64)
    for t in range(5):
        m, a = (norm(word(x[t])) for word, norm in zip(layer.words, layer.word_norms))
        maps = [part.matrix() for part in (*layer.steps, *layer.gates)]
        h = layer.step_norms[0](h @ maps[0].T) * m
        h = (layer.step_norms[1](h @ maps[1].T) + a).relu()
        h = layer.step_norms[2](h @ maps[2].T).relu()
        i, f, o, u = (norm(h @ one.T) for norm, one in zip(layer.gate_norms, maps[3:]))
        c = f.sigmoid() * c + i.sigmoid() * u.tanh()
        h = o.sigmoid() * c.tanh()
        assert torch.allclose(outputs[t], h, atol=1e-12)
    assert all(torch.equal(gate.rows, layer.gates[0].rows) for gate in layer.gates), "gates share a layout"
    assert not torch.equal(layer.steps[0].rows, layer.steps[1].rows), "steps have their own"


def test_blocks_that_do_not_divide_are_refused():
    spec = BlockSparseSpec(block=32)
    assert not spec.misfits(64, 256)
    assert spec.misfits(100, 64)[0] == ("block", "blocks of 32 do not divide a width of 100.")
    assert spec.misfits(64, 96)[0][0] == "layout"
    assert "blocks of 32 do not divide" in BlockSparseLstmCell().misfits(100, 64, 1)[0][1]
    assert WattsStrogatz(neighbours=3).faults()


def test_a_held_unit_is_held_in_this_cell_too():
    torch.manual_seed(0)
    cell = BlockSparseLstmCell(steps=2, linear=DenseSpec()).build(32, 8, 1)
    x = torch.randn(2, 3, 8)
    free = cell(x, cell.start(2, x))[0][0]
    cell.hold({0: lambda units: torch.full_like(units, 0.25)})
    (out,), after = cell(x, cell.start(2, x))
    assert torch.equal(carried(after)[0], torch.full((2, 32), 0.25))
    assert not torch.allclose(out, free)
