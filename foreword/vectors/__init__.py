"""Tables of word vectors that are learned example by example, without torch."""

from foreword.basics.registry import Table

KINDS = Table("table of vectors", {"vectors": "foreword.vectors.table:VectorTableSpec"})
