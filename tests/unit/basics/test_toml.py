import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.basics import toml

scalars = st.one_of(
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)
keys = st.from_regex(r"[a-z][a-z_0-9\-]{0,8}", fullmatch=True)
inline = st.dictionaries(keys, scalars, max_size=3)
tables = st.recursive(
    st.dictionaries(keys, st.one_of(scalars, st.lists(scalars, max_size=3), st.lists(inline, max_size=2)), max_size=4),
    lambda inner: st.dictionaries(keys, st.one_of(scalars, inner), max_size=4),
    max_leaves=8,
)


@settings(max_examples=80, deadline=None)
@given(tables)
def test_what_is_written_reads_as_the_same(values):
    assert tomllib.loads(toml.write(values)) == values


def test_lines_are_where_keys_stand(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text('a = 1\n\n[b.c]   # comment\nd = { e = 2 }\n"f" = 3\n[[g]]\nh.i = 4\n[[g]]\n', encoding="utf-8")
    values, lines = toml.read(path)
    assert values == {"a": 1, "b": {"c": {"d": {"e": 2}, "f": 3}}, "g": [{"h": {"i": 4}}, {}]}
    assert lines == {("a",): 1, ("b", "c"): 3, ("b", "c", "d"): 4, ("b", "c", "f"): 5} | {
        ("g",): 6,
        ("g", "0"): 6,
        ("g", "0", "h", "i"): 7,
        ("g", "1"): 8,
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("1e-3", 0.001),
        ("true", True),
        ("plain words", "plain words"),
        ("[1, 2]", [1, 2]),
        ('"60s"', "60s"),
        ("60s", "60s"),
        ('{ kind = "sgd" }', {"kind": "sgd"}),
        ("", ""),
    ],
)
def test_what_is_written_after_set(text, value):
    assert toml.value(text) == value
