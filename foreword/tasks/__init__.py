"""Tasks: labelled examples, how each becomes a question to a language model, and what the answers are worth. No models here."""

from foreword.basics.registry import Table

SOURCES = Table("source", {
    "jsonl": "foreword.tasks.sources:JsonLines",
    "csv": "foreword.tasks.sources:Csv",
    "tsv": "foreword.tasks.sources:Tsv",
    "lines": "foreword.tasks.sources:Lines",
    "whole": "foreword.tasks.text:Whole",
    "aristo": "foreword.tasks.published:Aristo",
    "winograd": "foreword.tasks.published:Winograd",
    "squad": "foreword.tasks.published:Squad",
    "cbt": "foreword.tasks.published:ChildrensBooks",
    "race": "foreword.tasks.published:Race",
    "conll": "foreword.tasks.conll:Conll",
    "slashed": "foreword.tasks.conll:Slashed",
    "arithmetic": "foreword.tasks.arithmetic:Arithmetic",
    "scramble": "foreword.tasks.scramble:Scramble",
})

LEARN = Table("kind of labelled task", {
    "classify": "foreword.tasks.learn:Classify",
    "pair": "foreword.tasks.learn:Pair",
    "similarity": "foreword.tasks.learn:Similarity",
    "choice": "foreword.tasks.learn:Choose",
    "span": "foreword.tasks.learn:Extract",
    "tag": "foreword.tasks.learn:Tag",
    "rank": "foreword.tasks.learn:Rank",
})

KINDS = Table("request kind", {
    "choice": "foreword.tasks.choice:Choice",
    "partial": "foreword.tasks.partial:Partial",
    "last_word": "foreword.tasks.last_word:LastWord",
    "write": "foreword.tasks.write:Write",
    "acceptable": "foreword.tasks.acceptable:Acceptable",
    "text": "foreword.tasks.text:Text",
})
