"""Templates put fields in their places and say which they do not find."""

from __future__ import annotations

import pytest

from foreword.tasks import template


def test_fields_are_put_in_their_places():
    row = {"a": 1, "b": {"c": ["x", "y"]}, "n": None}
    assert template.render("{a}-{b.c.1} {{a}} {n}", row) == "1-y {a} None"
    assert template.names("{a} {{b}} {b.c}") == ["a", "b.c"]
    assert template.items("{b.c}", row) == ["x", "y"]


@pytest.mark.parametrize("name", ["z", "a.b", "b.c.2", "b.c.x"])
def test_a_missing_field_is_named(name):
    with pytest.raises(template.MissingField) as found:
        template.render(f"{{{name}}}", {"a": 1, "b": {"c": [1, 2]}})
    assert found.value.name == name


@pytest.mark.parametrize("text", ["{a", "a}", "{}", "{ }"])
def test_a_badly_written_template_is_said(text):
    assert template.wrong(text)


def test_a_good_template_is_not():
    assert not template.wrong("{a} {{b}} c")


def test_values_are_never_templates_themselves():
    assert template.render("{a}", {"a": "{b}", "b": "x"}) == "{b}"
