"""The filter against an exact set: nothing known is missed, little that is new is taken for known, and copies are found."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.text import overlap
from foreword.text.overlap import NgramFilter, codes, passages, runs, seen_in, size_for, words

pytest.importorskip("rbloom")


def prose(seed: int, length: int, distinct: int = 400) -> str:
    draw = random.Random(seed)
    return " ".join(f"w{draw.randrange(distinct)}" for _ in range(length))


def grams(text: str, size: int) -> list[tuple[str, ...]]:
    there = words(text)
    return [tuple(there[at : at + size]) for at in range(len(there) - size + 1)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Don't stop, U.S. citizens!", ["don", "t", "stop", "u", "s", "citizens"]),
        ("a_b  C-3\n", ["a", "b", "c", "3"]),
        ("今天天气好。GPT2很好", ["今", "天", "天", "气", "好", "gpt2", "很", "好"]),
        ("Éa ñ", ["éa", "ñ"]),
        ("...", []),
    ],
)
def test_words_are_lower_case_and_alphanumeric(text: str, found: list[str]) -> None:
    assert words(text) == found


@pytest.mark.parametrize("size", [1, 8, 13])
def test_runs_are_equal_when_their_words_are(size: int) -> None:
    text = prose(1, 3000, distinct=2 if size > 1 else 50)
    hashes, exact = runs(codes(text), size), grams(text, size)
    assert len(hashes) == len(exact)
    assert len(set(hashes.tolist())) == len(set(exact))
    assert len(set(zip(hashes.tolist(), exact))) == len(set(exact))
    assert np.array_equal(runs(codes(f"- {text.upper()} !"), size), hashes)
    assert not len(runs(codes("a b c"), 4))


def test_hashes_do_not_change_from_process_to_process() -> None:
    text = "the quick brown fox jumps over the lazy dog"
    code = f"from foreword.text.overlap import codes, runs; print(runs(codes({text!r}), 8).tolist())"
    said = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert said == {f"{runs(codes(text), 8).tolist()}\n"}


def test_nothing_known_is_missed() -> None:
    texts = [prose(seed, 500) for seed in range(40)]
    seen = seen_in(lambda: texts, [8, 13], rate=1e-2)
    for text in texts:
        assert all(seen[size].known(text).all() for size in seen)


@pytest.mark.parametrize("rate", [0.05, 0.01, 0.001])
def test_what_is_new_is_rarely_taken_for_known(rate: float) -> None:
    seen = seen_in(lambda: [prose(1, 20_000, 10**6)], [8], rate)[8]
    wrong = seen.known(prose(2, 100_000, 10**6)).mean()
    assert wrong <= 2 * rate
    assert wrong > 0, "a filter that large was not asked for"


def test_at_gpt2_rate_a_hundred_thousand_new_runs_are_all_new() -> None:
    seen = seen_in(lambda: [prose(1, 20_000, 10**6)], [8])[8]
    assert not seen.known(prose(2, 100_000, 10**6)).any()


def test_overlap_is_that_of_the_exact_sets() -> None:
    """Few distinct words, so that 8-grams really recur without being planted."""
    draw = random.Random(3)
    train = [" ".join(draw.choice("ab") for _ in range(60)) for _ in range(6)]
    examples = [" ".join(draw.choice("ab") for _ in range(draw.randrange(5, 40))) for _ in range(60)]
    found = overlap.overlap(examples, seen_in(lambda: train, [8, size_for(examples)]))
    exact = {size: {gram for text in train for gram in grams(text, size)} for size in (8, found.size)}
    every = [gram for example in examples for gram in grams(example, 8)]
    assert found.runs == len(every)
    assert found.known == sum(gram in exact[8] for gram in every)
    assert 0 < found.known < found.runs
    assert found.dirty == [
        any(gram in exact[found.size] for gram in grams(example, found.size)) for example in examples
    ]
    assert found.short == sum(len(words(example)) < found.size for example in examples)
    assert 0 < sum(found.dirty) < len(examples)


@pytest.mark.parametrize(
    ("lengths", "size"),
    [([3] * 20, 8), ([40] * 20, 13), ([11] * 100, 11), ([9] + [50] * 99, 13), ([10] * 10 + [50] * 90, 10)],
)
def test_n_is_the_fifth_percentile_within_bounds(lengths: list[int], size: int) -> None:
    assert size_for([prose(1, length) for length in lengths]) == size


def test_planted_copies_are_found_whatever_their_case_and_punctuation() -> None:
    train = [prose(seed, 200, 10**6) for seed in range(5)]
    clean, copy = prose(90, 60, 10**6), " ".join(words(train[3])[50:70])
    shouted = f"{prose(91, 20, 10**6)}: {copy.upper().replace(' ', ', ')}! {prose(92, 20, 10**6)}"
    seen = seen_in(lambda: train, [8, 13])
    assert overlap.overlap([clean, shouted], seen).dirty == [False, True]
    assert passages(shouted, seen[13]) == [copy]
    assert passages(clean, seen[8]) == []


def test_chinese_is_compared_character_by_character() -> None:
    train = ["今天天气很好我们去公园看花他在家里看书"]
    seen = seen_in(lambda: train, [8, 11])
    assert overlap.overlap(["你说今天天气很好我们去公园看", "明天天气不好我们在家里"], seen).dirty == [True, False]


def test_a_filter_comes_back_from_disk(tmp_path) -> None:
    text = prose(1, 300)
    seen_in(lambda: [text], [8])[8].save(tmp_path / "a.bloom")
    assert NgramFilter.load(8, tmp_path / "a.bloom").known(text).all()


def test_without_rbloom_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rbloom", None)
    with pytest.raises(Fault, match=r"foreword\[data\]"):
        seen_in(lambda: ["a"], [8])
