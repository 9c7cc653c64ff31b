"""Batches: a store is cut into rows, rows are gathered into batches; batch n is always the same batch."""

from foreword.basics.registry import Registry

CUTS = Registry(
    "cut",
    {
        "windows": "foreword.batches.cuts:Windows",
        "lanes": "foreword.batches.cuts:Lanes",
        "runs": "foreword.batches.cuts:Runs",
        "documents": "foreword.batches.cuts:Documents",
        "sessions": "foreword.batches.sessions:Sessions",
        "sentence_pairs": "foreword.batches.sentence_pairs:SentencePairs",
    },
)

LABELLED = Registry("cut of labelled examples", {"examples": "foreword.batches.examples:Examples"})
