"""From files to recipes: `extends`, `sizes`, `--set`, and every fault with its file and line, all at once."""

from __future__ import annotations

import pytest

from foreword.assembly import catalogue, loader
from foreword.basics.messages import Fault, Faults
from tests.tiny import SYSTEMS

PARENT = """\
name = "parent"
[network]
kind = "causal_transformer"
norm = "after"
layers = 2
width = 32
heads = 2
context = 16
[head]
kind = "softmax"
[objective]
kind = "causal"
[batches]
kind = "windows"
[tokenizer]
kind = "byte_bpe"
vocabulary = 600
[training]
kind = "gradient"
[training.optimizer]
kind = "adamw"
learning_rate = 0.1
weight_decay = 0.3
[training.schedule]
kind = "cosine"
[sizes.big.network]
layers = 7
width = 64
[sizes.small.network]
layers = 1
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, text):
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
        return f"{name}.toml"

    write("parent", PARENT)
    return write


def test_a_child_says_only_what_it_changes(files):
    child = loader.load(files("child", 'extends = "parent.toml"\nname = "child"\n[network]\nnorm = "before"\n'))
    parent = loader.load("parent.toml")
    assert child.network == parent.network.model_copy(update={"norm": "before"})
    assert child.training == parent.training
    assert (child.name, child.extends) == ("child", "parent.toml")


def test_a_new_kind_drops_every_setting_of_the_old(files):
    text = (
        'extends = "parent.toml"\nname = "child"\n[network]\nkind = "recurrent"\nwidth = 20\ncell = { kind = "lstm" }\n'
        '[batches]\nlength = 9\n[training.optimizer]\nkind = "sgd"\nlearning_rate = 0.5\n'
    )
    child = loader.load(files("child", text))
    assert child.network.model_dump(exclude_unset=True) == {"kind": "recurrent", "width": 20, "cell": {"kind": "lstm"}}
    assert child.training.optimizer.model_dump() == {
        "kind": "sgd",
        "learning_rate": 0.5,
        "momentum": 0.0,
        "weight_decay": 0.0,
    }
    with pytest.raises(Faults) as caught:  # `learning_rate` of adamw is gone too: it was meant for adamw
        loader.load("parent.toml", settings=["training.optimizer.kind=sgd"])
    assert "learning_rate is not given" in str(caught.value)
    same = loader.load("parent.toml", settings=["training.optimizer.kind=adamw", "network.kind=causal_transformer"])
    assert same == loader.load("parent.toml"), "the same kind drops nothing"


def test_sizes_merge_with_the_parents(files):
    files(
        "child",
        'extends = "parent.toml"\nname = "child"\n[sizes.big.network]\nlayers = 9\n[sizes.huge.network]\nlayers = 20\n',
    )
    big = loader.load("child.toml", "big")
    assert (big.network.layers, big.network.width, big.size) == (9, 64, "big")
    assert loader.load("child.toml", "small").network.layers == 1
    assert loader.load("child.toml", "huge").network.layers == 20
    assert loader.load("child.toml").network.layers == 2
    with pytest.raises(Fault, match=r"has no size 'bgi'. Did you mean big\? Sizes: big, small, huge"):
        loader.load("child.toml", "bgi")


def test_a_size_of_the_parent_can_be_left_out(files):
    files("child", 'extends = "parent.toml"\nname = "child"\n[sizes]\nbig = false\n')
    files(
        "grandchild",
        'extends = "child.toml"\nname = "grandchild"\n[training.optimizer]\nkind = "sgd"\nlearning_rate = 0.5\n',
    )
    for name in ("child.toml", "grandchild.toml"):
        assert loader.load(name, "small").network.layers == 1
        with pytest.raises(Fault, match=r"has no size 'big'\..*Sizes: small\."):
            loader.load(name, "big")


def test_settings_come_last_and_are_checked_like_the_file(files):
    recipe = loader.load(
        "parent.toml", "big", ["network.layers=3", "training.optimizer.learning_rate=1e-2", "name=other"]
    )
    assert (recipe.network.layers, recipe.network.width) == (3, 64)
    assert recipe.training.optimizer.learning_rate == 0.01
    assert recipe.name == "other"
    with pytest.raises(Faults, match="--set network.layers=six  network.layers"):
        loader.load("parent.toml", settings=["network.layers=six"])
    for wrong in ("network.layers", "=3"):
        with pytest.raises(Fault, match="a setting is written section.key=value"):
            loader.load("parent.toml", settings=[wrong])


def test_three_faults_at_once_each_with_its_line(files):
    text = (
        PARENT.replace("layers = 2\n", 'layers = "six"\n')
        .replace("width = 32", "widht = 32")
        .replace('kind = "gradient"', 'kind = "adam"')
    )
    with pytest.raises(Faults) as caught:
        loader.load(files("wrong", text))
    said = str(caught.value)
    assert len(caught.value.faults) == 4
    assert "wrong.toml:5  network.layers" in said
    assert "(it says 'six')" in said
    assert "wrong.toml:6  network.widht\n    there is no setting 'widht' here. Did you mean width?" in said
    assert "width is not given" in said
    assert "wrong.toml:19  training.kind\n    'adam' is not one of 'counting', 'gradient'" in said
    assert caught.value.code == 2


def test_a_fault_in_the_parent_is_shown_in_the_parents_file(files):
    files("parent", PARENT.replace("heads = 2", "heads = 5"))
    with pytest.raises(Faults) as caught:
        loader.load(files("child", 'extends = "parent.toml"\nname = "child"\n'))
    assert "parent.toml:7  network.heads\n    width 32 does not divide into 5 heads. Heads that do: [1, 2, 4]" in str(
        caught.value
    )
    with pytest.raises(Faults) as caught:
        loader.load("child.toml", "big", ["network.heads=2", "batches.length=99"])
    assert (
        "--set batches.length=99  batches.length\n    rows of 99 positions do not fit the network's context of 16: length can be at most 16."
        in str(caught.value)
    )


def test_circles_and_deep_chains_are_refused(files):
    files("a", 'extends = "b.toml"\nname = "a"\n')
    files("b", 'extends = "a.toml"\nname = "b"\n')
    files("self", 'extends = "self.toml"\nname = "self"\n')
    for name in ("a.toml", "self.toml"):
        with pytest.raises(Fault, match="circle"):
            loader.load(name)
    for i in range(6):
        files(f"c{i}", f'extends = "{f"c{i + 1}" if i < 5 else "parent"}.toml"\nname = "c{i}"\n')
    with pytest.raises(Fault, match="more than 3 deep"):
        loader.load("c0.toml")
    assert loader.load("c3.toml").network.layers == 2


def test_parts_that_do_not_fit_together_are_faults(files):
    for settings, where in (
        (["objective.kind=masked"], "objective"),
        (["training.kind=counting"], "training"),
        (["network.kind=ngram", "network.order=2"], "training.kind"),
    ):
        with pytest.raises(Faults) as caught:
            loader.load("parent.toml", settings=settings)
        assert where in str(caught.value)
    with pytest.raises(Faults, match="a network needs a head"):
        loader.load(files("headless", PARENT.replace('[head]\nkind = "softmax"\n', "")))


def test_names_are_found_and_misspelt_ones_are_told(files):
    assert catalogue.find("gpt2") == catalogue.built_in()["gpt2"]
    with pytest.raises(Fault, match=r"no recipe is called 'bret'. Did you mean bert\?"):
        loader.load("bret")
    with pytest.raises(Fault, match="is not there"):
        loader.load("nothing.toml")
    with pytest.raises(Fault, match=r"broken.toml:2\s+not valid TOML"):
        loader.load(files("broken", 'name = "x"\n[network\n'))


def test_the_catalogue_is_the_history():
    entries = catalogue.entries()
    assert [entry.year for entry in entries] == sorted(entry.year for entry in entries)
    assert {entry.name for entry in entries} == set(catalogue.built_in())
    assert all(entry.about and entry.paper for entry in entries)
    assert {entry.name: entry.sizes for entry in entries}["gpt2"] == ("laptop", "small", "medium", "large", "xl")
    assert {entry.name: entry.sizes for entry in entries}["dialogpt-backward"] == ("laptop", "small", "medium", "large")


def test_a_setting_of_an_earlier_version_is_read_if_it_changed_nothing(files):
    old = files(
        "old", PARENT.replace('[training]\nkind = "gradient"\n', '[training]\nkind = "gradient"\nnoise = false\n')
    )
    assert loader.load(old) == loader.load("parent.toml")
    with pytest.raises(Fault, match=r"training.noise\s+there is no setting 'noise' any more; leave it out"):
        loader.load(old, settings=["training.noise=true"])


def test_a_size_can_be_like_a_shared_one(files):
    name = files("mine", PARENT + '\n[sizes.laptop]\nlike = "laptop"\n\n[sizes.laptop.training]\nbatch_size = 3\n')
    recipe = loader.load(name, "laptop")
    assert (recipe.network.width, recipe.training.batch_size, recipe.training.optimizer.kind) == (128, 3, "muon")
    source = loader.written(name, "laptop")
    assert source.places[("network", "width")].startswith("foreword/recipes/sizes/laptop.toml:")
    assert "mine.toml" in source.places[("training", "batch_size")]
    with pytest.raises(Fault, match="no size 'lapotp' to be like. Did you mean laptop"):
        loader.load(files("mine", PARENT + '\n[sizes.small]\nlike = "lapotp"\n'), "small")


@pytest.mark.parametrize(
    ("name", "objective", "said"),
    [
        (
            "gpt2",
            "replaced_token",
            "'replaced_token' is for network.kind = 'generator_discriminator' or 'bidirectional_transformer', not for 'causal",
        ),
        ("gpt2", "skip_gram", "'skip_gram' is for network.kind = 'vectors', not for 'causal_transformer'"),
        ("word2vec", "causal", "'causal' is for networks, not for 'vectors'"),
    ],
)
def test_an_objective_for_another_network_is_a_fault_before_anything_is_built(name, objective, said):
    with pytest.raises(Faults) as caught:
        loader.load(SYSTEMS.get(name, name), "", [f"objective.kind={objective}"])
    assert said in str(caught.value)
