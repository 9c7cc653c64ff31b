"""Models that count instead of descend: n-grams, mixtures of orders, Kneser-Ney, ARPA files. Numpy only."""

from __future__ import annotations

from foreword.basics.registry import Registry

KINDS = Registry(
    "count model",
    {
        "ngram": "foreword.counts.ngrams:NGram",
        "ngram_mixture": "foreword.counts.ngrams:MixtureOfOrders",
        "kneser_ney": "foreword.counts.kneser_ney:KneserNey",
    },
)
