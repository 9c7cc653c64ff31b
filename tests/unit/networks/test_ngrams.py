"""Tables of n-grams below a network and before its head: what they add, and that only rows that were read learn."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from foreword.assembly.build import network_for
from foreword.basics.messages import Fault
from foreword.exchange.hugging_face import family_of
from foreword.networks.base import Inputs
from foreword.networks.ngrams import WithNgrams
from foreword.parts.frozen import freeze
from foreword.parts.ngrams import NONE, NgramsSpec, NgramTables, row_tables
from foreword.runs.needs import needs
from foreword.tokens.vocabulary import Vocabulary
from foreword.training.hardware import Hardware
from foreword.training.ranks import Ranks, Replicas
from tests.ranks import on_ranks
from tests.tiny import learner_for, take_steps, tiny

TABLES = "network.ngrams={ orders = [2, 3], slots = 61 }"
NETWORKS = ("gpt2", "modern-gpt", "lstm", "mlstm", "transformer-xl", "universal-transformer")
VOCABULARY = Vocabulary(97, 0, ())


def tables(**settings) -> NgramTables:
    made = NgramTables(NgramsSpec(**{"slots": 1009, **settings}), {"bottom": 4, "head": 6})
    for table in row_tables(made):
        torch.nn.init.normal_(table.weight[:-1].detach())
    return made


def model(name: str, *more: str, filled: bool = True):
    torch.manual_seed(0)
    made = network_for(tiny(name, *more), VOCABULARY).double().eval()
    for table in row_tables(made) if filled else ():
        torch.nn.init.normal_(table.weight[:-1].detach())
    return made


def given(network, ids):
    return Inputs(ids, source=torch.arange(1, 6).expand(len(ids), 5) if "source" in network.reads else None)


@pytest.mark.parametrize("name", NETWORKS)
def test_tables_that_have_learned_nothing_are_the_network_without_them(name):
    ids = torch.randint(97, (2, 8), generator=torch.Generator().manual_seed(1))
    plain, empty, full = model(name), model(name, TABLES, filled=False), model(name, TABLES)
    weights = {f"network.inner.{key}": value for key, value in plain.network.state_dict().items()}
    for one in (empty, full):
        one.load_state_dict(weights, strict=False)
    with torch.no_grad():
        without, nothing, something = (one.network(given(one.network, ids)).last for one in (plain, empty, full))
    assert torch.equal(without, nothing)
    assert not torch.allclose(without, something)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("piece", [1, 3])
def test_read_in_pieces_equals_read_at_once(name, piece):
    ids = torch.randint(97, (2, 7), generator=torch.Generator().manual_seed(2))
    made = model(name, TABLES, "network.dropout=0.0" if name == "lstm" else "training.seed=0")
    with torch.no_grad():
        whole, state, parts = made.network(given(made.network, ids)).last, None, []
        forgetful = []
        for start in range(0, 7, piece):
            output = made.network(given(made.network, ids[:, start : start + piece]), state)
            parts.append(output.last)
            if state is not None:  # the control: ids before the piece are forgotten, the rest is remembered
                lost = state._replace(ids=torch.full_like(state.ids, NONE))
                forgetful.append(made.network(given(made.network, ids[:, start : start + piece]), lost).last)
            state = output.state
    assert torch.allclose(torch.cat(parts, 1), whole, atol=1e-10)
    assert not torch.allclose(torch.cat(forgetful, 1), whole[:, piece:], atol=1e-3)


def test_an_n_gram_has_its_row_wherever_it_stands_and_none_over_the_edge_of_a_text():
    made = tables()
    rows = made.numbers(torch.tensor([[NONE, NONE, 5, 6, 7, 5, 6, 8, 6, 7]]))[0]
    two, three = rows.unbind(-1)
    assert two[0] == three[0] == three[1] == made.rows
    assert two[1] == two[4]  # 5 6, twice
    assert two[2] == two[7]  # 6 7, twice
    assert three[2] != three[7]  # 5 6 7 and 8 6 7
    assert len({*two[1:].tolist()}) == 5
    assert two[1:].max() < 1009 <= three[2:].min()  # a range of rows for each order


def test_hashes_spread_over_all_rows():
    made = tables(orders=[2], slots=4096)
    pairs = torch.cartesian_prod(
        torch.arange(64), torch.arange(64)
    )  # small, dense ids: a poor hash leaves most rows empty
    rows = made.numbers(pairs)[:, 0, 0]
    assert 0.61 < len(set(rows.tolist())) / 4096 < 0.66  # 1 - 1/e of them, as by chance: 0.632
    poor = (pairs[:, 0] + 64 * (pairs[:, 1] % 8)) % 4096
    assert len(set(poor.tolist())) / 4096 < 0.2


def test_dropout_leaves_out_its_share_while_it_learns_and_none_afterwards():
    made, ids = tables(dropout=0.25), torch.randint(97, (64, 66), generator=torch.Generator().manual_seed(3))
    torch.manual_seed(0)
    gone = (made.train().numbers(ids) == made.rows).double().mean()
    assert 0.22 < gone < 0.28
    assert (made.eval().numbers(ids) == made.rows).sum() == 0


def dense_adagrad(weight, slopes, rates):
    """One number for each row, over the whole table, as it would be written without sparse gradients."""
    squares = torch.zeros(len(weight), dtype=weight.dtype)
    for slope, rate in zip(slopes, rates):
        squares = squares + slope.square().mean(1)
        weight = weight - rate * slope / (squares.sqrt() + 1e-10)[:, None]
    return weight


def test_sparse_updates_equal_dense_ones_and_other_rows_stay(store):
    recipe = tiny("gpt2", TABLES.replace("61", "997"), "training.clip=0.0")
    recipe = recipe.model_copy(update={"network": recipe.network.without_chance()})
    learner, stream = learner_for(recipe, store(), torch.float64)
    table = row_tables(learner.model)[0]
    begin, slopes, own = table.weight.detach().clone(), [], learner.ranks.mean_of_rows
    learner.ranks.mean_of_rows = lambda weight: (
        (slopes.append(weight.grad.to_dense()) if weight is table.weight else None) or own(weight)
    )
    take_steps(learner, stream, range(3))
    rates = [table.learning_rate * learner.spec.schedule.factor(step, 0.0, 0) for step in range(3)]
    wanted = dense_adagrad(begin, slopes, rates)
    assert torch.allclose(table.weight, wanted, atol=1e-6)
    assert not torch.allclose(table.weight, dense_adagrad(begin, slopes[::-1], rates), atol=1e-6)
    read = torch.stack(slopes).abs().sum((0, 2)) > 0
    assert 0 < read.sum() < len(read)
    assert torch.equal(table.weight[~read], begin[~read])
    assert (table.weight[read] != 0).any(1).all()
    assert torch.equal(table.weight[-1], torch.zeros(table.embedding_dim, dtype=torch.float64))


@pytest.mark.parametrize("name", ["gpt2", "lstm", "transformer-xl"])
def test_a_resumed_run_equals_an_unbroken_one_bit_for_bit(name, store_of):
    recipe = tiny(name, TABLES, "training.micro_batch=3")
    unbroken, stream = learner_for(recipe, store_of(recipe))
    take_steps(unbroken, stream, range(4))
    first, _ = learner_for(recipe, store_of(recipe))
    take_steps(first, stream, range(2))
    again, _ = learner_for(recipe, store_of(recipe))
    saved = first.save()
    again.restore(saved)
    take_steps(again, stream, range(2, 4))
    wanted, found = unbroken.save(), again.save()
    assert wanted.keys() == found.keys()
    assert all(torch.equal(wanted[key], found[key]) for key in wanted)
    forgetful, _ = learner_for(recipe, store_of(recipe))
    forgetful.restore({key: value for key, value in saved.items() if not key.endswith("squares")})
    take_steps(forgetful, stream, range(2, 4))
    key = "model/network.ngrams.places.head.weight"
    assert not torch.equal(forgetful.save()[key], wanted[key])


def test_parts_of_a_batch_and_two_processes_learn_what_one_learns(store, tmp_path):
    recipe = tiny("gpt2", TABLES)
    recipe = recipe.model_copy(update={"network": recipe.network.without_chance()})
    parted = recipe.model_copy(update={"training": recipe.training.model_copy(update={"micro_batch": 3})})

    def learned(recipe, ranks, exchange=True):
        learner, stream = learner_for(recipe, store(), torch.float64, Hardware(ranks=ranks))
        stream.rank, stream.world = ranks.rank, ranks.world
        if not exchange:
            ranks.mean_of_rows = lambda weight: weight.grad
        take_steps(learner, stream, range(2))
        return {key: value for key, value in learner.save().items() if not key.startswith("state/")}

    def work(rank):
        return learned(recipe, Replicas(rank, 2)), learned(recipe, Replicas(rank, 2), exchange=False)

    alone = learned(recipe, Ranks())
    both = on_ranks(2, work, tmp_path / "group")
    for other in (learned(parted, Ranks()), both[0][0], both[1][0]):
        assert alone.keys() == other.keys()
        for key, value in alone.items():
            assert torch.allclose(value, other[key], atol=1e-8), key
    key = "model/network.ngrams.places.head.weight"
    assert not torch.allclose(alone[key], both[0][1][key], atol=1e-8)  # each with its own rows only


def test_cached_decoding_equals_reading_all_again_in_int8_too():
    made = model("ngram-gpt").float()
    ids = torch.randint(1, 97, (1, 12), generator=torch.Generator().manual_seed(4))[0].numpy()
    for precision in ("float32", "int8"):
        reader = freeze(made, precision).language_model(VOCABULARY)
        logs, state = reader.begin([ids[:4]])
        for at in range(4, 12):
            assert torch.allclose(logs, reader.begin([ids[:at]])[0], atol=5e-3), (precision, at)
            lost = replace(state, state=state.state._replace(ids=torch.full_like(state.state.ids, NONE)))
            forgetful, _ = reader.advance(ids[at : at + 1], lost)
            logs, state = reader.advance(ids[at : at + 1], state)
            assert not torch.allclose(logs, forgetful, atol=5e-2)


def test_a_plan_counts_rows_once_and_no_work():
    small, large = (
        needs(tiny("gpt2", TABLES.replace("61", slots)), VOCABULARY, Hardware()) for slots in ("1000", "9000")
    )
    plain = needs(tiny("gpt2"), VOCABULARY, Hardware())
    rows = 2 * 2 * 8000  # places and orders
    assert large.parameters - small.parameters == rows * 32
    assert large.gradients == small.gradients == plain.gradients
    assert large.optimizer - small.optimizer == rows * 4
    assert large.flops == small.flops == plain.flops


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("{ orders = [2, 2] }", "orders must be different"),
        ("{ orders = [0] }", "orders must be different"),
        ("{ slots = 0 }", "slots must be at least 1"),
        ("{ places = [] }", "places must be"),
        ("{ dropout = 1.0 }", "dropout must be"),
        ("{ learning_rate = 0.0 }", "learning_rate must be"),
        ("{ passes = 0.0 }", "passes must be"),
    ],
)
def test_settings_that_cannot_be_are_named(settings, words):
    with pytest.raises(Fault, match=words) as found:
        tiny("gpt2", f"network.ngrams={settings}")
    assert "network.ngrams" in str(found.value)


def test_a_network_that_looks_both_ways_takes_no_n_grams():
    with pytest.raises(Fault, match="for networks that read tokens in order"):
        tiny("bert", TABLES)


def test_no_family_of_hugging_face_has_room_for_tables():
    assert family_of(tiny("modern-gpt")) is not None
    assert family_of(tiny("modern-gpt", TABLES)) is None
    assert isinstance(model("modern-gpt", TABLES).network, WithNgrams)
