"""Transfer: what was learned from text, turned to labelled tasks."""

from foreword.basics.registry import Table

INPUT_FORMATS = Table("input format of a network", {
    "causal_transformer": "foreword.transfer.encoding:GptFormat",
    "recurrent": "foreword.transfer.encoding:GptFormat",
    "bidirectional_transformer": "foreword.transfer.encoding:BertFormat",
})
TRANSFER_KINDS = Table("kind of labelled task", {
    "classify": "foreword.transfer.kinds.classify:ClassifyTransfer",
    "pair": "foreword.transfer.kinds.classify:ClassifyTransfer",
    "similarity": "foreword.transfer.kinds.similarity:SimilarityTransfer",
    "choice": "foreword.transfer.kinds.choice:ChoiceTransfer",
    "span": "foreword.transfer.kinds.span:SpanTransfer",
    "tag": "foreword.transfer.kinds.tag:TagTransfer",
    "rank": "foreword.transfer.kinds.rank:RankTransfer",
})
