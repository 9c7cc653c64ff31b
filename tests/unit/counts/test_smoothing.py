"""Every smoothing against its formula, written again the slow way; and pruning against its definition."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from foreword.counts.smoothed import SmoothedNGram
from foreword.counts.smoothing import AbsoluteDiscounting, JelinekMercer, Katz, KneserNey, WittenBell, good_turing

EVENTS = [*range(12), "</s>"]


class BruteForce:
    """Counts as tuples of tokens; p(w | h) is the textbook's recursion. Nothing shared with the package."""

    def __init__(self, documents: list[list[int]], order: int):
        self.order = order
        self.counts = [Counter() for _ in range(order + 1)]
        for document in documents:
            sentence = ["<s>", *document, "</s>"]
            for n in range(1, order + 1):
                for at in range(len(sentence) - n + 1):
                    self.counts[n][tuple(sentence[at : at + n])] += 1
        del self.counts[1][("<s>",)]

    def following(self, history: tuple) -> dict:
        n = len(history) + 1
        return {w: self.counts[n][(*history, w)] for w in EVENTS if self.counts[n][(*history, w)]}

    def p(self, word, history: tuple) -> float:
        history = history[max(0, len(history) - self.order + 1) :]
        following = self.following(history)
        lower = (lambda w: self.p(w, history[1:])) if history else (lambda w: 1 / len(EVENTS))
        return self.seen(word, following, lower, len(history) + 1) if following else lower(word)


class WittenBellSlow(BruteForce):
    def seen(self, word, following, lower, n):
        return (following.get(word, 0) + len(following) * lower(word)) / (sum(following.values()) + len(following))


class AbsoluteSlow(BruteForce):
    def seen(self, word, following, lower, n):
        sizes = Counter(self.counts[n].values())
        one = sizes[1] / (sizes[1] + 2 * sizes[2]) if sizes[1] and sizes[2] else None
        d = {c: (0.5, 1, 1.5)[min(c, 3) - 1] if one is None else one for c in following.values()}
        total, own = sum(following.values()), following.get(word, 0)
        return (own - d.get(own, 0) + sum(d[c] for c in following.values()) * lower(word)) / total


class KatzSlow(BruteForce):
    k = 5

    def seen(self, word, following, lower, n):
        sizes, k = Counter(self.counts[n].values()), self.k
        try:
            cut = (k + 1) * sizes[k + 1] / sizes[1]
            d = {r: ((r + 1) * sizes[r + 1] / sizes[r] / r - cut) / (1 - cut) for r in range(1, k + 1)}
        except ZeroDivisionError:
            d = {1: -1}
        if any(not 0 < one <= 1 for one in d.values()):
            d = {r: (r - 0.5) / r for r in range(1, k + 1)}
        total = sum(following.values())
        kept = {w: d.get(c, 1) * c / total for w, c in following.items()}
        if sum(kept.values()) > 1 - 1e-12:
            kept = {w: c / (total + 1) for w, c in following.items()}
        if len(following) == len(EVENTS):
            return kept[word] / sum(kept.values())
        if word in kept:
            return kept[word]
        return (1 - sum(kept.values())) / (1 - sum(lower(w) for w in kept)) * lower(word)


class JelinekMercerSlow(BruteForce):
    shares: np.ndarray

    def seen(self, word, following, lower, n):
        total = sum(following.values())
        bucket = min(int(2 * np.log2(total / len(following))), self.shares.shape[1] - 1)
        share = self.shares[n, bucket]
        return share * following.get(word, 0) / total + (1 - share) * lower(word)


def split(ids: np.ndarray, end: int) -> list[list[int]]:
    return [part[part != end].tolist() for part in np.split(ids, np.flatnonzero(ids == end) + 1)][:-1]


def trained(spec, vocabulary, train, held_out=None):
    model = spec.build(vocabulary)
    model.count(train)
    model.estimate(held_out)
    return model


def compare(model, slow, vocabulary, held_out):
    end = vocabulary.end
    for document in [*split(held_out, end), [], [11], [0, 10, 0]]:
        mine = np.exp(model.score([np.array([end, *document, end])], [1])[0])
        sentence = ["<s>", *document, "</s>"]
        theirs = [slow.p(word, tuple(sentence[:at])) for at, word in enumerate(sentence) if at]
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("smoothing", "slow"),
    [(WittenBell(), WittenBellSlow), (AbsoluteDiscounting(), AbsoluteSlow), (Katz(), KatzSlow)],
    ids=lambda one: getattr(one, "kind", ""),
)
def test_it_equals_the_formulas_by_brute_force(smoothing, slow, order, vocabulary, train, held_out):
    model = trained(SmoothedNGram(order=order, smoothing=smoothing), vocabulary, train)
    compare(model, slow(split(train, vocabulary.end), order), vocabulary, held_out)


@pytest.mark.parametrize("buckets", [1, 5])
def test_jelinek_mercer_equals_the_formula_with_its_fitted_shares(buckets, vocabulary, train, held_out):
    spec = SmoothedNGram(order=3, smoothing=JelinekMercer(buckets=buckets))
    model = trained(spec, vocabulary, train, held_out)
    slow = JelinekMercerSlow(split(train, vocabulary.end), 3)
    slow.shares = model.fitted["shares"]
    assert slow.shares.shape == (4, buckets)
    compare(model, slow, vocabulary, held_out)


def test_no_change_of_a_fitted_share_makes_the_held_out_text_likelier(vocabulary, train, held_out):
    slow, text = JelinekMercerSlow(split(train, vocabulary.end), 3), split(held_out, vocabulary.end)[:6]
    model = trained(
        SmoothedNGram(order=3, smoothing=JelinekMercer(buckets=3)),
        vocabulary,
        train,
        np.concatenate([[*d, 13] for d in text]),
    )

    def likelihood(shares):
        slow.shares = shares
        sentences = [["<s>", *document, "</s>"] for document in text]
        return sum(np.log(slow.p(w, tuple(s[:at]))) for s in sentences for at, w in enumerate(s) if at)

    best = likelihood(model.fitted["shares"])
    for place in np.ndindex(3, 3):
        for step in (0.02, -0.02):
            moved = model.fitted["shares"].copy()
            share = moved[1 + place[0], place[1]]
            if step > 0 and np.isclose(round(1 / (1 - share)) * (1 - share), 1):
                continue  # (n + 1) / (n + 2): right each time it was asked, and held below certainty
            moved[1 + place[0], place[1]] = np.clip(share + step, 0, 1)
            assert likelihood(moved) <= best + 1e-5


def test_good_turing_gives_away_what_occurred_once():
    """sum_r (1 - d_r) r n_r = n_1: the unseen get as much as n-grams seen once had."""
    n = np.array([0, 1000, 400, 200, 120, 80, 50, 30, 20, 10, 90], float)
    d = good_turing(n, 5)
    r = np.arange(1, 6)
    assert np.isclose(((1 - d) * r * n[1:6]).sum(), n[1])
    assert good_turing(np.array([0, 10, 0, 5, 3, 2, 1, 1.0]), 5) is None
    assert good_turing(np.array([0, 10, 30, 5, 3, 2, 1, 1.0]), 5) is None  # twice more often than once


def test_what_cannot_be_estimated_is_said(vocabulary, capsys):
    for smoothing, words in ((Katz(), "do not lie between 0 and 1"), (KneserNey(), "using 0.5/1.0/1.5")):
        trained(SmoothedNGram(order=2, smoothing=smoothing), vocabulary, np.array([1, 1, 1, 13]))
        assert words in capsys.readouterr().err


# --- pruning ------------------------------------------------------------------------------------------------


def grams(model) -> list[dict[tuple, tuple[float, float]]]:
    """Every n-gram of a model by its tokens: (p, back-off)."""
    found, names = [], [(token,) for token in range(model.vocabulary.size + 1)]
    for length in range(1, model.trie.order + 1):
        if length > 1:
            keys = model.trie.keys[length - 2]
            names = [(*names[key // model.trie.base], int(key % model.trie.base)) for key in keys]
        weights = model.back_off[length - 1] if length < model.trie.order else np.ones(len(names))
        found.append({name: (p, b) for name, p, b in zip(names, model.probability[length - 1], weights)})
    return found


@pytest.mark.parametrize("smoothing", [KneserNey(), Katz(), WittenBell()], ids=lambda one: one.kind)
def test_exactly_the_rare_n_grams_are_pruned(smoothing, vocabulary, train):
    whole = BruteForce(split(train, 13), 4)
    named = {"<s>": 13, "</s>": 13}
    model = trained(SmoothedNGram(order=4, smoothing=smoothing, prune=[0, 0, 1, 2]), vocabulary, train)
    for length, least in ((2, 0), (3, 1), (4, 2)):
        wanted = {tuple(named.get(t, t) for t in gram) for gram, c in whole.counts[length].items() if c > least}
        assert set(grams(model)[length - 1]) == wanted


def test_pruning_nothing_changes_nothing(vocabulary, train, held_out):
    text = np.append(vocabulary.end, held_out)
    whole = trained(SmoothedNGram(order=4), vocabulary, train).score([text], [1])[0]
    for spec in (SmoothedNGram(order=4, prune=[0, 0, 0]), SmoothedNGram(order=4, entropy=1e-300)):
        np.testing.assert_allclose(trained(spec, vocabulary, train).score([text], [1])[0], whole, rtol=0, atol=1e-12)
    alone = trained(SmoothedNGram(order=4, entropy=1e9), vocabulary, train)
    assert [len(level) for level in alone.trie.keys] == [0, 0, 0]


def test_entropy_pruning_drops_what_the_definition_says(vocabulary, train):
    """Relative entropy between the model and the same without one n-gram, summed over every token after its history."""
    threshold, model = 3e-3, trained(SmoothedNGram(order=2), vocabulary, train)
    pairs, single = grams(model)[1], model.probability[0]
    expected = set()
    for (history, word), _ in pairs.items():
        before = np.exp(model.begin([np.array([history])])[0][0])[[*range(12), 13]]
        seen = [w for (h, w) in pairs if h == history and w != word]
        own = {w: pairs[history, w][0] for w in seen}
        weight = (1 - sum(own.values())) / (1 - sum(single[w] for w in seen))
        after = np.array([own.get(w, weight * single[w]) for w in [*range(12), 13]])
        marginal = 1.0 if history == 13 else single[history]
        if np.expm1(marginal * (before * np.log(before / after)).sum()) >= threshold:
            expected.add((history, word))
    pruned = trained(SmoothedNGram(order=2, entropy=threshold), vocabulary, train)
    assert 5 < len(expected) < len(pairs) - 5
    assert set(grams(pruned)[1]) == expected
    for gram in expected:
        assert grams(pruned)[1][gram][0] == pairs[gram][0]  # what is kept keeps its probability


def test_a_looser_threshold_keeps_less_and_never_orphans(vocabulary, train, held_out):
    text, sizes, costs = np.append(vocabulary.end, held_out), [], []
    for entropy in (0.0, 1e-5, 1e-3, 1e-2, 1.0):
        model = trained(SmoothedNGram(order=5, entropy=entropy), vocabulary, train)
        found = grams(model)
        for shorter, longer in zip(found, found[1:]):
            assert all(gram[:-1] in shorter for gram in longer)
        sizes.append(sum(map(len, found)))
        costs.append(-model.score([text], [1])[0].mean())
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0] / 3
