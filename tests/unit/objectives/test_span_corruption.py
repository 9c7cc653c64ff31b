"""T5's corruption against the numbers of the paper, and back."""

from __future__ import annotations

import numpy as np
import pytest

from foreword.basics.messages import Fault
from foreword.objectives.span_corruption import SpanCorruption


class Names:
    """A tokenizer that has only specials: [end] 1, [pad] 0 and spans from 999 downwards."""

    name = "names"

    def special(self, name):
        known = {"[end]": 1, "[pad]": 0}
        return known[name] if name in known else 999 - int(name.strip("[]span"))

    def has(self, name):
        return name in ("[end]", "[pad]") or int(name.strip("[]span")) < 100


def restored(source, target):
    """The text that both were made of."""
    spans, name = {}, None
    for token in target[:-1]:
        if token > 899:
            name = int(token)
            spans[name] = []
        else:
            spans[name].append(int(token))
    return [token for place in source[:-1] for token in (spans[int(place)] if place > 899 else [int(place)])]


def test_rows_of_512_positions_are_568_tokens_with_targets_of_114():
    objective = SpanCorruption()
    assert objective.row_ids(512, 1) == 568
    assert objective.sizes(568) == (85, 28)
    source, target = objective.corrupted(np.arange(10, 578), Names(), np.random.default_rng(0))
    assert (len(source), len(target)) == (512, 114)


@pytest.mark.parametrize("length", [2, 3, 7, 40, 300])
def test_source_and_target_are_the_whole_text(length):
    draw = np.random.default_rng(length)
    for _ in range(200):
        ids = draw.integers(10, 800, length)
        source, target = SpanCorruption().corrupted(ids, Names(), draw)
        assert restored(source, target) == ids.tolist()
        names = target[target > 899]
        assert names.tolist() == list(range(999, 999 - len(names), -1))
        assert names.tolist() == source[source > 899].tolist()
        places = np.flatnonzero(source > 899)
        assert places[0] > 0
        assert (np.diff(places) > 1).all(), "hidden spans never touch"
        assert source[-1] == target[-1] == 1


def test_every_token_is_hidden_as_often():
    draw, hidden = np.random.default_rng(0), np.zeros(60)
    for _ in range(4000):
        _, target = SpanCorruption().corrupted(np.arange(10, 70), Names(), draw)
        hidden[target[(target >= 10) & (target < 70)] - 10] += 1
    assert hidden.sum() / 4000 == 9
    assert 0.05 < hidden[10:50].min() / 4000 <= hidden[10:50].max() / 4000 < 0.25


def test_more_spans_than_names_is_a_fault():
    with pytest.raises(Fault, match="names fewer"):
        SpanCorruption().corrupted(np.arange(10, 2500), Names(), np.random.default_rng(0))


class WithMask(Names):
    def special(self, name):
        return 2 if name == "[mask]" else super().special(name)


def corrupted(style, length=60, seed=0):
    draw = np.random.default_rng(seed)
    ids = draw.permutation(np.arange(10, 800))[:length]  # no token twice
    objective = SpanCorruption(style=style)
    source, target = objective.corrupted(ids, WithMask(), draw)
    assert source[-1] == target[-1] == 1
    assert len(source) <= length + 1
    assert len(target) <= length + 1 or style == "replace"
    return ids.tolist(), source, target


@pytest.mark.parametrize("seed", range(20))
def test_replaced_tokens_are_the_whole_text_too(seed):
    ids, source, target = corrupted("replace", seed=seed)
    assert restored(source, target) == ids
    assert (target < 900).sum() - 1 == 9
    assert (np.diff(np.flatnonzero(source > 899)) > 1).all(), "neighbours share one name"


@pytest.mark.parametrize("seed", range(5))
def test_every_other_style_leaves_source_and_target_that_make_up_the_text(seed):
    ids, source, target = corrupted("drop", seed=seed)
    gone = set(target[:-1].tolist())
    assert len(gone) == 9
    assert source[:-1].tolist() == [token for token in ids if token not in gone]
    assert target[:-1].tolist() == [token for token in ids if token in gone]
    ids, source, target = corrupted("prefix", seed=seed)
    assert [*source[:-1].tolist(), *target[:-1].tolist()] == ids
    ids, source, target = corrupted("shuffle", seed=seed)
    assert target[:-1].tolist() == ids
    assert source[:-1].tolist() != ids
    assert sorted(source[:-1].tolist()) == sorted(ids)
    ids, source, target = corrupted("mass", seed=seed)
    assert target[:-1].tolist() == ids
    assert (source == 2).sum() == (source[:-1] != np.asarray(ids)).sum() == 9


def test_a_tenth_of_what_bert_style_hides_are_other_tokens():
    hidden = swapped = 0
    for seed in range(300):
        ids, source, target = corrupted("bert", seed=seed)
        assert target[:-1].tolist() == ids
        changed = source[:-1] != np.asarray(ids)
        hidden += 9
        swapped += int((changed & (source[:-1] != 2)).sum())
    assert abs(swapped / hidden - 0.1) < 4 * (0.1 * 0.9 / hidden) ** 0.5 + 0.002  # one in sixty is the token itself


def test_spans_write_far_less_than_the_whole_text_that_bert_style_writes():
    """The paper's reason for them: as many tokens are hidden, and few are written."""
    written = {style: len(corrupted(style)[2]) for style in ("spans", "drop", "bert", "mass")}
    assert written == {"spans": 9 + 3 + 1, "drop": 9 + 1, "bert": 60 + 1, "mass": 60 + 1}
    assert written["spans"] < written["bert"] / 2
