"""Tasks: labelled examples, how a language model is asked about them, and how answers are scored. No models here."""

from foreword.basics.registry import Registry

SOURCES = Registry(
    "source",
    {
        "jsonl": "foreword.tasks.files:JsonLines",
        "csv": "foreword.tasks.files:Csv",
        "tsv": "foreword.tasks.files:Tsv",
        "lines": "foreword.tasks.files:Lines",
        "whole": "foreword.tasks.files:WholeFile",
        "aristo": "foreword.tasks.formats.aristo:Aristo",
        "winograd": "foreword.tasks.formats.winograd:Winograd",
        "squad": "foreword.tasks.formats.squad:Squad",
        "cbt": "foreword.tasks.formats.childrens_books:ChildrensBooks",
        "race": "foreword.tasks.formats.race:Race",
        "conll": "foreword.tasks.formats.conll:Conll",
        "slashed": "foreword.tasks.formats.conll:SlashTagged",
        "babi": "foreword.tasks.formats.babi:Babi",
        "arithmetic": "foreword.tasks.generators.arithmetic:Arithmetic",
        "scramble": "foreword.tasks.generators.scramble:Scramble",
        "endings": "foreword.tasks.generators.endings:Endings",
        "symbols": "foreword.tasks.generators.symbols:Symbols",
        "stories": "foreword.tasks.generators.stories:Stories",
    },
)

LABELLED_KINDS = Registry(
    "kind of labelled task",
    {  # what a file's columns may fit is tried in this order
        "tag": "foreword.tasks.labelled.tag:Tagging",
        "span": "foreword.tasks.labelled.span:SpanExtraction",
        "choice": "foreword.tasks.labelled.choice:MultipleChoice",
        "rank": "foreword.tasks.labelled.rank:Ranking",
        "similarity": "foreword.tasks.labelled.similarity:Similarity",
        "pair": "foreword.tasks.labelled.classify:PairClassification",
        "classify": "foreword.tasks.labelled.classify:Classification",
    },
)

PROMPTED_KINDS = Registry(
    "kind of request",
    {
        "choice": "foreword.tasks.prompted.multiple_choice:LikeliestChoice",
        "association": "foreword.tasks.prompted.association:AssociationChoice",
        "partial": "foreword.tasks.prompted.winograd:LikeliestContext",
        "last_word": "foreword.tasks.prompted.cloze:LastWord",
        "write": "foreword.tasks.prompted.generation:Generation",
        "minimal_pair": "foreword.tasks.prompted.minimal_pair:MinimalPair",
        "rating": "foreword.tasks.prompted.rating:Rating",
        "acceptable": "foreword.tasks.prompted.acceptability:Acceptability",
        "text": "foreword.tasks.prompted.whole_text:WholeText",
    },
)
