"""The side of a split depends on the text and nothing else."""

from foreword.text.splits import split_of


def test_the_fractions_are_met_and_copies_stay_together():
    sides = [split_of(f"document {number}", (0.8, 0.15, 0.05)) for number in range(4000)]
    assert abs(sides.count("train") / 4000 - 0.8) < 0.03
    assert abs(sides.count("valid") / 4000 - 0.15) < 0.03
    assert abs(sides.count("test") / 4000 - 0.05) < 0.02
    assert all(split_of(f"\n document {number}\t ", (0.8, 0.15, 0.05)) == sides[number] for number in range(100))


def test_a_fraction_of_zero_gets_nothing():
    assert {split_of(str(number), (1.0, 0.0, 0.0)) for number in range(500)} == {"train"}
    assert {split_of(str(number), (0.5, 0.0, 0.5)) for number in range(500)} == {"train", "test"}
    assert {split_of(str(number), (0.5, 0.5, 0.0)) for number in range(500)} == {"train", "valid"}


def test_the_sides_are_the_same_on_every_machine():
    assert [split_of(text, (0.5, 0.25, 0.25)) for text in ("a", "b", "c", "d", "e", "你好")] == [
        "train",
        "test",
        "train",
        "train",
        "train",
        "valid",
    ]
