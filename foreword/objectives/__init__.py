"""Objectives: what is hidden from the network, and what a wrong guess costs."""

from foreword.basics.registry import Table

KINDS = Table("objective", {
    "causal": "foreword.objectives.causal:Causal",
    "dialogue": "foreword.objectives.dialogue:Talk",
    "masked": "foreword.objectives.masked:Masked",
    "next_sentence": "foreword.objectives.next_sentence:NextSentence",
    "together": "foreword.objectives.combine:Together",
})
