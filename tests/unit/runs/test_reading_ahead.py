import pytest

from foreword.runs.train import train
from foreword.training.hardware import Hardware
from tests.tiny import store_kind, tiny


@pytest.mark.parametrize("name", ["gpt2", "bert", "lstm"])
def test_a_run_with_and_without_reading_ahead_is_the_same_to_the_last_bit(name, stores, tmp_path):
    recipe = tiny(name, "training.budget=6", "training.evaluate=0.5")
    saved = []
    for ahead in (True, False):
        run = train(recipe, stores[store_kind(recipe)], tmp_path / str(ahead), hardware=Hardware(prefetch=ahead))
        saved.append(run.latest()[0])
    assert saved[0].keys() == saved[1].keys()
    assert all(saved[0][key].equal(saved[1][key]) for key in saved[0])
