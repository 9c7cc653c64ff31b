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
        "full_sentences": "foreword.batches.full_sentences:FullSentences",
        "doc_sentences": "foreword.batches.full_sentences:DocSentences",
        "text_tasks": "foreword.batches.text_tasks:TextTasks",
        "reordering": "foreword.batches.reordering:Reordering",
        "distance": "foreword.batches.sentences:Distance",
        "discourse": "foreword.batches.sentences:Discourse",
        "elsewhere": "foreword.batches.elsewhere:Elsewhere",
        "labelled_pairs": "foreword.batches.labelled_pairs:LabelledPairs",
        "triples": "foreword.batches.excerpts:Triples",
        "excerpts": "foreword.batches.excerpts:Excerpts",
        "pairs_and_dialogues": "foreword.batches.roles:PairsAndDialogues",
        "pairs": "foreword.batches.pairs:Pairs",
        "recalled_pairs": "foreword.batches.pairs_with_memory:PairsWithMemory",
        "sentence_pairs": "foreword.batches.sentence_pairs:SentencePairs",
    },
)

LABELLED = Registry("cut of labelled examples", {"examples": "foreword.batches.examples:Examples"})
