"""Objectives: what is hidden from the network, and what a wrong guess costs."""

from foreword.basics.registry import Registry

KINDS = Registry(
    "objective",
    {
        "causal": "foreword.objectives.causal:Causal",
        "dialogue": "foreword.objectives.dialogue:Talk",
        "masked": "foreword.objectives.masked:Masked",
        "replaced_token": "foreword.objectives.replaced_token:ReplacedToken",
        "span_corruption": "foreword.objectives.span_corruption:SpanCorruption",
        "skip_gram": "foreword.objectives.skip_gram:SkipGram",
        "next_sentence": "foreword.objectives.next_sentence:NextSentence",
        "together": "foreword.objectives.combine:Together",
    },
)
LABELLED = Registry(
    "objective of labelled examples",
    {
        "classify": "foreword.objectives.classify:Classify",
        "regress": "foreword.objectives.regress:Regress",
        "choose": "foreword.objectives.choose:Choose",
        "span": "foreword.objectives.span:Extract",
        "tag": "foreword.objectives.tag:Tag",
        "rank": "foreword.objectives.rank:Rank",
        "read_along": "foreword.objectives.read_along:ReadAlong",
        "stepwise": "foreword.objectives.stepwise:Stepwise",
        "by_task": "foreword.objectives.by_task:ByTask",
    },
)
EVERY = Registry("objective", {**KINDS.places, **LABELLED.places})
