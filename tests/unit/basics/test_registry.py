import sys

import pytest

from foreword.basics.messages import Fault
from foreword.basics.registry import Registry

TABLE = Registry("thing", {"fraction": "fractions:Fraction", "gone": "fractions:Gone", "away": "no_such_module:X"})


def test_a_name_is_imported_when_asked_for():
    from fractions import Fraction

    assert TABLE.find("fraction") is Fraction
    assert TABLE.find("fractions:Fraction", dotted=True) is Fraction
    assert TABLE.about("fraction").startswith("This class implements rational numbers")
    assert "no_such_module" not in sys.modules


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(Fault, match="'fractoin' is not one of 'away', 'fraction', 'gone'. Did you mean fraction?"):
        TABLE.find("fractoin")
    for name in ("gone", "away", "json:nothing"):
        with pytest.raises(Fault, match="could not be imported"):
            TABLE.find(name, dotted=True)


def test_a_dotted_name_needs_permission():
    with pytest.raises(
        Fault, match="'fractions:Fraction' is code from outside Foreword.*a run or a model folder may not"
    ):
        TABLE.find("fractions:Fraction")
