"""Stages: what is done to the documents of a corpus, one file for each kind."""

from foreword.basics.registry import Registry

STAGES = Registry(
    "stage",
    {
        "clean": "foreword.text.stages.clean:Clean",
        "language": "foreword.text.stages.language:Language",
        "quality": "foreword.text.stages.quality:Quality",
        "private": "foreword.text.stages.private:Private",
        "dedup": "foreword.text.stages.copies:Dedup",
        "repeats": "foreword.text.stages.repeats:Repeats",
        "overlap": "foreword.text.stages.decontaminate:Decontaminate",
    },
)
