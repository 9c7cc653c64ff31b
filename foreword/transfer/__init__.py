"""Transfer: what was learned from text, turned to labelled tasks."""

from foreword.basics.registry import Table

WAYS = Table("way to read examples", {
    "causal_transformer": "foreword.transfer.ways:LookingBack",
    "recurrent": "foreword.transfer.ways:LookingBack",
    "bidirectional_transformer": "foreword.transfer.ways:LookingBothWays",
})
FORMS = Table("form of a labelled task", {
    "classify": "foreword.transfer.forms:Classes",
    "pair": "foreword.transfer.forms:Classes",
    "similarity": "foreword.transfer.forms:Numbers",
    "choice": "foreword.transfer.forms:Choices",
    "span": "foreword.transfer.spans:Spans",
    "tag": "foreword.transfer.tags:Tags",
    "rank": "foreword.transfer.forms:Candidates",
})
