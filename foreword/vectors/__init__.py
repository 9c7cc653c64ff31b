"""Tables of word vectors, learned example by example or counted, without torch."""

from foreword.basics.registry import Registry

KINDS = Registry(
    "table of vectors",
    {
        "vectors": "foreword.vectors.table:VectorTableSpec",
        "document_vectors": "foreword.vectors.table:DocumentTableSpec",
        "pmi": "foreword.vectors.pmi:Pmi",
        "glove": "foreword.vectors.glove:GloveSpec",
    },
)
CUTS = Registry("cut of co-occurrences", {"cooccurrences": "foreword.vectors.triples:Cooccurrences"})
