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
serve       models behind HTTP, for programs and people
compare     which of several is better, and how sure is that
kernels     C for this processor, with the same in torch or Python beside it
report      text, tables and plots on a page or in the terminal
cli         one file per verb
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foreword.basics.version import VERSION

if TYPE_CHECKING:
    from pathlib import Path

__version__ = VERSION
__all__ = ["Inputs", "load"]


def load(path: str | Path, precision: str = "float32", model: str = "") -> Any:
    """Open a run, a saved step of it (runs/x@12000), a model folder, or a Hugging Face directory.

    A table of vectors comes as `WordVectors`, fitted on labels as `VectorClassifier`, both without torch; everything else as
    `LoadedModel`. precision "int8": a quarter of the memory, and faster.
    Of a server (http://127.0.0.1:8000), `model` is the name of one that it serves.
    """
    from pathlib import Path

    from foreword.vectors.words import WordVectors, is_vectors

    if is_vectors(Path(path)):
        from foreword.transfer.vector_classifier import is_classifier, opened

        return opened(Path(path)) if is_classifier(Path(path)) else WordVectors.opened(path)
    from foreword.model import load as load_model

    return load_model(f"{path}/{model}" if model else path, precision)


def __getattr__(name: str) -> Any:  # torch is imported when a model is, not before
    if name == "Inputs":
        from foreword.networks.base import Inputs

        return Inputs
    raise AttributeError(f"module 'foreword' has no attribute {name!r}")
