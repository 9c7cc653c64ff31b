"""Objectives: what is hidden from the network, and what a wrong guess costs."""

from foreword.basics.registry import Registry

KINDS = Registry(
    "objective",
    {
        "causal": "foreword.objectives.causal:Causal",
        "autoencode": "foreword.objectives.autoencode:Autoencode",
        "future_sentences": "foreword.objectives.future:FutureSentences",
        "surrounding_sentences": "foreword.objectives.surrounding:SurroundingSentences",
        "both_directions": "foreword.objectives.both_directions:BothDirections",
        "dialogue": "foreword.objectives.dialogue:DialogueTurns",
        "masked": "foreword.objectives.masked:Masked",
        "masked_next_token": "foreword.objectives.masked_next_token:MaskedNextToken",
        "text_tasks": "foreword.objectives.text_tasks:TextTasks",
        "token_label": "foreword.objectives.derived_labels:TokenLabel",
        "sequence_label": "foreword.objectives.derived_labels:SequenceLabel",
        "staged_masking": "foreword.objectives.staged_masking:StagedMasking",
        "permutation": "foreword.objectives.permutation:PermutationObjective",
        "replaced_token": "foreword.objectives.replaced_token:ReplacedToken",
        "span_corruption": "foreword.objectives.span_corruption:SpanCorruption",
        "translation": "foreword.objectives.translation:Translation",
        "skip_gram": "foreword.objectives.skip_gram:SkipGram",
        "cbow": "foreword.objectives.skip_gram:ContinuousBagOfWords",
        "distributed_memory": "foreword.objectives.paragraph:DistributedMemory",
        "distributed_bag_of_words": "foreword.objectives.paragraph:DistributedBagOfWords",
        "cooccurrence": "foreword.objectives.cooccurrence:Cooccurrence",
        "glove": "foreword.objectives.glove:Glove",
        "next_sentence": "foreword.objectives.next_sentence:NextSentence",
        "together": "foreword.objectives.combine:CombinedObjectives",
    },
)
LABELLED = Registry(
    "objective of labelled examples",
    {
        "classify": "foreword.objectives.classify:Classify",
        "regress": "foreword.objectives.regress:Regress",
        "choose": "foreword.objectives.choose:Choose",
        "span": "foreword.objectives.span:Extract",
        "answerable_span": "foreword.objectives.answerable_span:AnswerableSpan",
        "tag": "foreword.objectives.tag:Tag",
        "rank": "foreword.objectives.rank:Rank",
        "read_along": "foreword.objectives.auxiliary_tokens:AuxiliaryTokens",
        "stepwise": "foreword.objectives.stepwise:Stepwise",
        "text_to_text": "foreword.objectives.text_to_text:TextToText",
        "by_task": "foreword.objectives.by_task:ByTask",
    },
)
EVERY = Registry("objective", {**KINDS.places, **LABELLED.places})
