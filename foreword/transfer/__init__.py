"""Transfer: what was learned from text, turned to labelled tasks."""

from foreword.basics.registry import Registry

INPUT_FORMATS = Registry(
    "input format of a network",
    {
        "causal_transformer": "foreword.transfer.encoding:GptFormat",
        "recurrent": "foreword.transfer.encoding:GptFormat",
        "bidirectional_recurrent": "foreword.transfer.encoding:GptFormat",
        "recurrent_encoder_decoder": "foreword.transfer.encoding:GptFormat",
        "sentence_context": "foreword.transfer.encoding:GptFormat",
        "sentence_writers": "foreword.transfer.encoding:GptFormat",
        "window": "foreword.transfer.encoding:GptFormat",
        "hybrid_transformer": "foreword.transfer.encoding:BertFormat",
        "bidirectional_transformer": "foreword.transfer.encoding:BertFormat",
        "encoder_decoder": "foreword.transfer.encoding:TextFormat",
        "two_stream_transformer": "foreword.transfer.encoding:XLNetFormat",
    },
)
TRANSFER_KINDS = Registry(
    "kind of labelled task",
    {
        "tag": "foreword.transfer.kinds.tag:TagTransfer",
        "span": "foreword.transfer.kinds.span:SpanTransfer",
        "choice": "foreword.transfer.kinds.choice:ChoiceTransfer",
        "rank": "foreword.transfer.kinds.rank:RankTransfer",
        "similarity": "foreword.transfer.kinds.similarity:SimilarityTransfer",
        "pair": "foreword.transfer.kinds.classify:PairTransfer",
        "classify": "foreword.transfer.kinds.classify:ClassifyTransfer",
    },
)
