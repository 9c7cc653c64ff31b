"""`--precision int8`: what it costs is measured, and how quickly text comes is said."""

from __future__ import annotations

import json

import pytest

import foreword
from foreword.basics.messages import Fault
from tests.cli.program import run


def test_evaluate_says_what_int8_costs(made) -> None:
    name = str(made("gpt2"))
    found = json.loads(run("evaluate", name, "--precision", "int8", "--json").right())
    fine, coarse = (found["scores"][key]["bits_per_byte"] for key in (name, f"{name}, int8"))
    assert fine == pytest.approx(json.loads(run("evaluate", name, "--json").right())["scores"][name]["bits_per_byte"])
    assert fine != coarse
    assert coarse == pytest.approx(fine, abs=0.01)
    assert found["precision"] == {"name": "int8", "costs": {name: {"cost": coarse - fine, "unit": "bits per byte"}}}
    lines = run("evaluate", name, "--precision", "int8").right().splitlines()
    assert [line.split()[0] for line in lines[2:4]] == [name, f"{name},"]
    assert lines[-1] == f"{name}: int8 costs {round(coarse - fine, 4) + 0.0:.4f} bits per byte"


def test_evaluate_says_what_int8_costs_in_the_unit_of_the_model(made) -> None:
    said = run("evaluate", made("lstm"), "--precision", "int8").right()
    assert said.rstrip().endswith(" bits per byte")  # an LSTM is read in int8 too
    assert run("evaluate", made("bert"), "--precision", "int8").right().rstrip().endswith(" bits per token")


def test_several_models_and_their_mixture_in_int8(made) -> None:
    out = run("evaluate", made("gpt2"), made("lstm"), "--mix", "--precision", "int8", "--json").right()
    found = json.loads(out)
    assert set(found["precision"]["costs"]) == set(found["weights"]) == {str(made("gpt2")), str(made("lstm"))}


def test_generate_in_int8(made) -> None:
    whole, small = (
        run("generate", made("gpt2"), "The class", "--max-tokens", 12, "--precision", precision)
        for precision in ("float32", "int8")
    )
    assert whole.right() == run("generate", made("gpt2"), "The class", "--max-tokens", 12).right()
    assert small.right().startswith("The class")


def test_json_says_how_quickly_it_came(made) -> None:
    for name in ("gpt2", "kneser-ney"):
        lines = (
            run("generate", made(name), "The", "One", "--max-tokens", 6, "--min-tokens", 6, "--json")
            .right()
            .splitlines()
        )
        first, second = map(json.loads, lines)
        assert first["tokens_per_second"] == second["tokens_per_second"] > 0
        assert first["prefill_seconds"] == second["prefill_seconds"] > 0
    alone = json.loads(run("generate", made("gpt2"), "The", "--max-tokens", 1, "--min-tokens", 1, "--json").right())
    assert alone["tokens_per_second"] is None


@pytest.mark.parametrize("verb", ["generate", "evaluate"])
def test_an_unknown_precision_is_answered_with_those_there_are(made, verb) -> None:
    said = run(verb, made("gpt2"), "--precision", "int4").fault()
    assert said == "there is no precision 'int4'. Did you mean int8?\n    Precisions: float32, int8."


@pytest.mark.parametrize("verb", ["generate", "evaluate"])
def test_counts_have_no_precision(made, verb) -> None:
    said = run(verb, made("kneser-ney"), "--precision", "int8").fault()
    assert said == (
        f"{made('kneser-ney')} (kneser-ney) counts: it has no weights that could be int8.\n"
        "    A precision is for networks; leave it out."
    )
    assert run("generate", made("kneser-ney"), "The", "--max-tokens", 2, "--precision", "float32").code == 0


def test_a_loaded_model_says_its_precision(made) -> None:
    small = foreword.load(made("gpt2"), precision="int8")
    assert "parameters in int8; can score" in repr(small)
    assert repr(small).replace(" in int8", "") == repr(foreword.load(made("gpt2")))
    assert small.logits([1, 2, 3]).shape == (3, 500)
    with pytest.raises(Fault, match="from which no other precision can be made"):
        small.at("float32")
