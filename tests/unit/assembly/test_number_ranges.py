"""Every number that a recipe can hold has a range: no part takes one that nobody could mean."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from typing import Annotated, Any

import pytest

from foreword.assembly import loader
from foreword.assembly.recipe import Recipe
from foreword.basics.messages import Fault
from foreword.basics.spec import Spec


def parts(found: set[type[Spec]], cls: type[Spec]) -> set[type[Spec]]:
    """Every class of settings that a recipe may hold, at any depth."""
    if cls not in found:
        found.add(cls)
        for table in cls.chosen.values():
            for name in table.names():
                parts(found, table.find(name))
        for field in cls.model_fields.values():
            for inside in nested(field.annotation):
                if isinstance(inside, type) and issubclass(inside, Spec):
                    parts(found, inside)
    return found


def nested(annotation: Any) -> Iterator[Any]:
    yield annotation
    for inside in typing.get_args(annotation):
        yield from nested(inside)


def whole_numbers(annotation: Any, bounded: bool) -> Iterator[bool]:
    """Of each whole number in a type, whether it has bounds."""
    origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is int:
        yield bounded
    elif origin is Annotated:
        yield from whole_numbers(inside[0], True)
    elif origin in (typing.Union, types.UnionType, list, tuple, dict):
        for one in inside:
            yield from whole_numbers(one, False)


def test_every_whole_number_has_bounds():
    free = []
    for cls in parts(set(), Recipe):
        for name, field in cls.model_fields.items():
            if not all(whole_numbers(field.annotation, bool(field.metadata))):
                free.append(f"{cls.__name__}.{name}")
    assert not free, "a number without a range: foreword/basics/numbers.py has them"


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_no_setting_is_nan_or_infinite(value):
    for key in (
        "training.optimizer.learning_rate",
        "training.clip",
        "network.dropout.attention",
        "network.norm_epsilon",
    ):
        with pytest.raises(Fault, match=r"must be (a finite number|at least|more than|below)"):
            loader.load("gpt2", "laptop", [f"{key}={value}"])


def test_a_range_is_said_with_its_number():
    for setting, said in (
        ("network.width=1000000000", "width must be at most 16777216 (it says 1000000000)"),
        ("network.dropout.attention=2.0", "attention must be below 1.0 (it says 2.0)"),
        ("training.optimizer.betas=[0.9, 1.5]", "betas must be below 1.0 (it says 1.5)"),
        (f"training.seed={2**70}", f"seed must be below {2**63} (it says {2**70})"),
        ("training.clip=-1.0", "clip must be at least 0.0 (it says -1.0)"),
    ):
        with pytest.raises(Fault) as caught:
            loader.load("gpt2", "", [setting])
        assert said in str(caught.value)


def test_the_heads_that_divide_a_width_are_found_at_once():
    """Every number up to the width was once tried."""
    with pytest.raises(Fault) as caught:
        loader.load("gpt2", "laptop", [f"network.width={2**24 - 3}", "network.heads=7"])
    assert "does not divide into 7 heads" in str(caught.value)
    with pytest.raises(Fault, match=r"Heads that do: \[1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96\]"):
        loader.load("gpt2", "laptop", ["network.width=768", "network.heads=10"])


@pytest.mark.parametrize("name", ["../../x", "a/b", "", ".hidden", "a\\b", "a\nb", "x" * 101, " a"])
def test_a_name_is_one_part_of_a_path(name):
    values = loader.load("gpt2", "laptop").values()
    with pytest.raises(Fault, match="name"):
        loader.from_values({**values, "name": name}, "here")
    assert loader.from_values({**values, "name": "my model (2)"}, "here").name == "my model (2)"
