import math

import pytest

from foreword.training.schedules import Constant, Cosine, InverseRoot, Linear

N = 200


def factors(schedule, steps=N):
    return [schedule.factor(step, step / steps) for step in range(steps)]


@pytest.mark.parametrize("floor", [0.0, 0.1])
@pytest.mark.parametrize("warmup", [0, 20])
@pytest.mark.parametrize(
    ("schedule", "shape"),
    [
        (Constant, lambda done: 1.0),
        (Linear, lambda done: 1.0 - done),
        (Cosine, lambda done: (1 + math.cos(math.pi * done)) / 2),
    ],
)
def test_counted_steps_follow_the_closed_form(schedule, shape, warmup, floor):
    wanted = [
        (step + 1) / warmup if step < warmup else floor + (1 - floor) * shape((step - warmup) / (N - warmup))
        for step in range(N)
    ]
    assert factors(schedule(warmup=warmup, floor=floor)) == pytest.approx(wanted, abs=1e-9)


def test_inverse_root_falls_with_the_root_of_the_step():
    wanted = [min((step + 1) / 40, math.sqrt(40 / (step + 1))) for step in range(N)]
    assert factors(InverseRoot(warmup=40)) == pytest.approx(wanted, abs=1e-9)
    assert InverseRoot(warmup=0.1).faults()
    assert InverseRoot(warmup=0).faults()
    assert not InverseRoot(warmup=1).faults()


def test_a_share_warms_up_and_comes_down():
    found = factors(Cosine(warmup=0.1))
    assert found[1:21] == pytest.approx([step / 20 for step in range(1, 21)], abs=1e-9)
    assert found[0] > 0
    assert found[20:] == pytest.approx(
        [(1 + math.cos(math.pi * (step - 20) / 180)) / 2 for step in range(20, N)], abs=1e-9
    )


def test_a_warm_up_longer_than_the_budget_only_rises():
    found = factors(Linear(warmup=1000))
    assert found == pytest.approx([(step + 1) / 1000 for step in range(N)])


@pytest.mark.parametrize(
    "schedule", [Constant(), Linear(warmup=3), Cosine(warmup=0.3, floor=0.2), InverseRoot(warmup=5)]
)
@pytest.mark.parametrize("spent", [0.0, 0.5, 0.999, 1.0, 1.7])
def test_a_factor_lies_between_0_and_1_whatever_the_budget(schedule, spent):
    for step in (0, 1, 10, 10_000):
        assert 0.0 <= schedule.factor(step, spent) <= 1.0


GPT3 = Cosine(warmup="375Mtok", floor=0.1, until=260 / 300)


@pytest.mark.parametrize("until", [260 / 300, "260Gtok"])
@pytest.mark.parametrize(
    ("tokens", "factor"),
    [
        (187.5e6, 0.5),
        (375e6, 1.0),
        (375e6 + (260e9 - 375e6) / 2, 0.55),
        (375e6 + (260e9 - 375e6) / 4, 0.1 + 0.9 * (1 + math.cos(math.pi / 4)) / 2),
        (260e9, 0.1),
        (299e9, 0.1),
    ],
)
def test_gpt3s_schedule_counts_tokens(tokens, factor, until):
    """Brown et al. 2020, appendix B: warm-up over 375M tokens, cosine to 10% at 260B, level to 300B. Steps do not matter."""
    schedule = GPT3.model_copy(update={"until": until})
    for step in (1, 1000, 10**6):
        assert schedule.factor(step, tokens / 300e9, int(tokens)) == pytest.approx(factor, abs=1e-9)


def test_nothing_read_yet_is_the_start_of_the_warm_up():
    assert GPT3.factor(0, 0.0, 0) == pytest.approx(1e-3)
    assert Cosine(until="5Mtok").factor(0, 0.0, 0) == 1.0


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({"warmup": "500"}, ["warmup"]),
        ({"warmup": "soon"}, ["warmup"]),
        ({"until": "3epochs"}, ["until"]),
        ({"until": 0.0}, ["until"]),
        ({"until": 1.5}, ["until"]),
        ({"warmup": "1Mtok", "until": "2Mtok"}, []),
        ({"warmup": 10, "until": 0.5}, []),
    ],
)
def test_amounts_are_said_in_tokens(settings, where):
    assert [name for name, _ in Cosine(**settings).faults()] == where
