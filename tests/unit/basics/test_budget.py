import pytest

from foreword.basics.budget import Budget
from foreword.basics.messages import Fault


@pytest.mark.parametrize(
    ("written", "amount", "unit"),
    [
        ("500", 500, "steps"),
        (500, 500, "steps"),
        ("1_000", 1000, "steps"),
        ("1,000 steps", 1000, "steps"),
        ("2k", 2000, "steps"),
        ("1e3", 1000, "steps"),
        ("2Mtok", 2e6, "tokens"),
        ("10Gtok", 1e10, "tokens"),
        ("1.5M tokens", 1.5e6, "tokens"),
        ("3epochs", 3, "epochs"),
        ("0.5epochs", 0.5, "epochs"),
        ("1epoch", 1, "epochs"),
        ("90s", 90, "seconds"),
        ("10m", 600, "seconds"),
        ("10min", 600, "seconds"),
        ("2h", 7200, "seconds"),
        ("1d", 86400, "seconds"),
        ("90core-s", 90, "seconds"),
        ("10core-m", 600, "seconds"),
    ],
)
def test_a_budget_reads_as_a_person_writes_it(written, amount, unit):
    found = Budget.parse(written)
    assert (found.amount, found.unit) == (amount, unit)
    assert found.cores == ("core" in str(written))


@pytest.mark.parametrize(
    "written", ["", "ten", "-5", "0", "5 parsecs", "1.2.3", "m", "0s", "1e", "５", "5core", "5core-tok"]
)
def test_anything_else_is_a_fault_that_says_what_a_budget_is(written):
    with pytest.raises(Fault, match="is not a budget"):
        Budget.parse(written)


def test_spent_counts_its_own_unit():
    spent = {"steps": 3, "tokens": 500, "epochs": 0.25, "seconds": 30.0}
    assert Budget.parse("6").spent(**spent) == 0.5
    assert Budget.parse("1ktok").spent(**spent) == 0.5
    assert Budget.parse("1epochs").spent(**spent) == 0.25
    assert Budget.parse("1m").spent(**spent) == 0.5
