"""Tables of word vectors that are learned example by example, without torch."""

from foreword.basics.registry import Registry

KINDS = Registry("table of vectors", {"vectors": "foreword.vectors.table:VectorTableSpec"})
