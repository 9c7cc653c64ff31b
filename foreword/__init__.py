"""Foreword: language models from n-grams to GPT-3 and BERT, on your own text and hardware.

text        where documents come from
tokens      text <-> ids, and ids on disk
tasks       labelled examples, how they are asked, metrics of the answers
batches     a store cut into rows, rows into batches
networks    ids in, vectors out, and a state          (counts: models that count instead of descend)
vectors     tables of word vectors, learned example by example
objectives  what is hidden, what a wrong guess costs
training    the calendar (Trainer) and the update (Learner)
assembly    a recipe becomes objects;   exchange: objects become a Hugging Face folder, and back
runs        a run folder that reloads itself
generate    continue a text;            evaluate: how good is it, in bits per byte and at tasks
model       what `foreword.load` returns, to score, continue, fill and embed text
transfer    what was learned from text, turned to labelled tasks
compare     which of several is better, and how sure is that
kernels     C for this processor, with the same in torch or Python beside it
report      text, tables and plots on a page or in the terminal
cli         one file per verb
"""

from __future__ import annotations

from typing import Any

from foreword.basics.version import VERSION

__version__ = VERSION
__all__ = ["Inputs", "load"]


def __getattr__(name: str) -> Any:  # torch is imported when a model is, not before
    if name == "load":
        from foreword.model import load

        return load
    if name == "Inputs":
        from foreword.networks.base import Inputs

        return Inputs
    raise AttributeError(f"module 'foreword' has no attribute {name!r}")
