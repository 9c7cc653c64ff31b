"""Settings are resolved without torch, to the same values and the same faults as with it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from foreword.assembly import loader
from foreword.assembly.without_torch import resolved
from foreword.basics.messages import Fault
from tests.tiny import WITH_SIZES

EVERY = """
import json, sys
from foreword.assembly.without_torch import resolved
from foreword.basics.messages import Fault
print(json.dumps([resolved(name, size)[0] for name, size in json.load(sys.stdin)]))
try:
    resolved("gpt2", "", ["network.heads=7", "network.widht=3", "training.kind=adam"])
except Fault as fault:
    print(json.dumps(str(fault)))
assert "torch" not in sys.modules
import foreword.model, torch
from foreword.assembly import loader
from foreword.assembly.build import model_for
from foreword.networks.base import Network
from foreword.tokens.vocabulary import Vocabulary
small = ["network.layers=1", "network.width=8", "network.heads=2", "network.context=4"]
model = model_for(loader.load("gpt2", "", small), Vocabulary(10, -1, ()))
assert issubclass(Network, torch.nn.Module) and model.parameter_count() > 0
"""


@pytest.mark.thorough
def test_every_recipe_resolves_to_the_same_values_and_torch_can_be_imported_afterwards():
    ended = subprocess.run(
        [sys.executable, "-c", EVERY], input=json.dumps(WITH_SIZES), capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    values, fault = map(json.loads, ended.stdout.splitlines())
    for (name, size), found in zip(WITH_SIZES, values, strict=True):
        assert found == json.loads(json.dumps(loader.load(name, size).values())), name
    with pytest.raises(Fault) as caught:
        loader.load("gpt2", "", ["network.heads=7", "network.widht=3", "training.kind=adam"])
    assert fault == str(caught.value)


@pytest.mark.thorough
def test_code_of_the_users_own_is_imported_for_real(tmp_path, monkeypatch):
    (tmp_path / "mine_with_torch.py").write_text(
        "import torch\nfrom foreword.objectives.causal import Causal\n"
        "assert torch.zeros(2).sum() == 0\n\nclass Mine(Causal):\n"
        "    kind: str = 'mine_with_torch:Mine'\n"
    )
    code = (
        "import sys\nfrom foreword.assembly.without_torch import resolved\n"
        "print(resolved('gpt2', '', ['objective.kind=mine_with_torch:Mine'])[0]['objective']['kind'])\n"
        "assert 'torch' in sys.modules"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": f"{tmp_path}:{':'.join(filter(None, sys.path))}"},
    )
    assert ended.stdout == "mine_with_torch:Mine\n", ended.stderr


def test_where_torch_is_there_it_is_used():
    values, source = resolved("gpt2", "laptop", ["training.seed=3"])
    assert values == loader.load("gpt2", "laptop", ["training.seed=3"]).values()
    assert source.places[("training", "seed")] == "--set training.seed=3"
