"""`foreword import`: a Hugging Face directory, an ARPA file or a file of word vectors -> a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foreword.cli.options import Out


def import_(
    source: Annotated[
        Path, typer.Argument(help="A Hugging Face directory, an ARPA file of words, or a file of word vectors.")
    ],
    out: Out,
) -> None:
    """Bring a model in: every tensor accounted for, then written as a run.

    It reads safetensors of these model types: bert, electra, ernie, gpt2 (also DialoGPT), gpt_neo, marian, modernbert, nanochat,
    openai-gpt, roberta, t5, xlnet; and any model folder of Foreword's own; and word vectors as word2vec, GloVe and fastText write
    them (.txt, .vec, .bin). Fine-tuned classes come with their task head; `foreword predict` then labels text with them.
    """
    from foreword.cli.preparing import models_there

    models_there(source)
    from foreword.networks.base import Model
    from foreword.runs.moving import import_model
    from foreword.vectors.table import VectorTable

    run, loaded = import_model(source, out)
    model, size = loaded.model, "counts"
    if isinstance(model, Model):
        size = f"{len(model.weights())} tensors, {model.parameter_count():,} parameters"
    elif isinstance(model, VectorTable):
        size = f"{int(model.words().sum()):,} words, vectors of {model.width}"
    print(f"{loaded.recipe.name}: {size}; run in {run.path}")
