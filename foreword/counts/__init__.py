"""Models that count instead of descend: n-grams, their smoothings, mixtures, ARPA files. Numpy only."""

from __future__ import annotations

from foreword.basics.registry import Registry

KINDS = Registry(
    "count model",
    {
        "ngram": "foreword.counts.ngrams:NGram",
        "arpa": "foreword.counts.arpa:BackOffTable",
        "smoothed_ngram": "foreword.counts.smoothed:SmoothedNGram",
    },
)
SMOOTHINGS = Registry(
    "smoothing",
    {
        "kneser_ney": "foreword.counts.smoothing:KneserNey",
        "absolute": "foreword.counts.smoothing:AbsoluteDiscounting",
        "witten_bell": "foreword.counts.smoothing:WittenBell",
        "katz": "foreword.counts.smoothing:Katz",
        "jelinek_mercer": "foreword.counts.smoothing:JelinekMercer",
    },
)
