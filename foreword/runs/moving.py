"""Models in and out: a Hugging Face directory becomes a run; a run becomes a folder or file for other programs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from foreword.assembly import loader
from foreword.basics import toml
from foreword.basics.files import write_folder, write_json, write_text
from foreword.basics.messages import Fault, did_you_mean
from foreword.counts.arpa import write_arpa
from foreword.counts.back_off import BackOff
from foreword.exchange import electra, gpt_neo, hugging_face
from foreword.exchange.hugging_face import LoadedFolder
from foreword.networks.base import Model
from foreword.networks.generator_discriminator import GeneratorDiscriminator
from foreword.runs.folder import FORMAT, RunFolder
from foreword.runs.opening import open_model
from foreword.vectors import formats
from foreword.vectors.table import VectorTable
from foreword.vectors.words import WordVectors

FORMS = ("hf", "hf-generator", "arpa", *formats.FORMS)


def import_model(source: Path, out: Path) -> tuple[RunFolder, LoadedFolder]:
    """A model folder as a run of its own."""
    loaded = (
        _vectors(source)
        if formats.is_vector_file(source)
        else (hugging_face.read(source) if (source / "config.json").is_file() else open_model(source))
    )
    run = RunFolder(out)
    if out.is_file() or (out.exists() and any(out.iterdir())):
        raise Fault(f"{out} is not empty.", "Choose another --out.")
    note = f"# {loaded.recipe.name}\n\nImported by Foreword from `{source.name}`.\n"

    def write(partial: Path) -> None:
        hugging_face.write(partial / "model", loaded.recipe, loaded.model, loaded.tokenizer, note)
        write_json(partial / "passport.json", {"format": FORMAT, "imported": str(source)})
        write_text(partial / "recipe.toml", toml.write(loaded.recipe.values()))

    write_folder(out, write)
    return run, loaded


def _vectors(file: Path) -> LoadedFolder:
    """A file of word vectors."""
    found = WordVectors.opened(file)
    recipe = loader.load("word2vec", "", [f"network.width={found.width}", f'name="{file.stem}"', 'paper=""'])
    return LoadedFolder(recipe, found.table, found.tokenizer)


def _words(loaded: LoadedFolder, out: Path, form: str) -> Path:
    """The words of the training text, the most frequent first; of a network, its tokens."""
    if loaded.tokenizer is None:
        raise Fault(f"{loaded.recipe.name} has no tokenizer, so its vectors have no names.")
    if isinstance(loaded.model, VectorTable):
        table, vectors = loaded.model, loaded.model.vectors
        order = np.argsort(-table.counts, kind="stable")
        rows = order[(table.words() & (table.counts > 0))[order]]
    elif isinstance(loaded.model, Model):
        vectors = loaded.model.network.table().detach().float().numpy()
        rows = np.setdiff1d(np.arange(len(loaded.tokenizer)), loaded.tokenizer.vocabulary().silent)
    else:
        raise Fault(f"{loaded.recipe.name} counts: it has no vectors.")
    pieces = [piece.replace(" ", "_").replace("\n", "\\n") for piece in loaded.tokenizer.pieces(rows)]
    return formats.write_vectors(out, pieces, vectors[rows], form)


def export_model(model: str | Path, form: str, out: Path) -> Path:
    """A model in another program's form, at `out`."""
    if form not in FORMS:
        raise Fault(f"{form!r} is not a form to export to.{did_you_mean(form, FORMS)} Forms: {', '.join(FORMS)}.")
    if out.exists() and (out.is_file() or any(out.iterdir())):
        raise Fault(f"{out} is already there.", "Choose another --out.")
    loaded = open_model(model)
    if form == "arpa":
        return _arpa(loaded, out)
    if form in formats.FORMS:
        return _words(loaded, out, form)
    if isinstance(loaded.model, Model) and isinstance(loaded.model.network, GeneratorDiscriminator):
        part: electra.Part = "generator" if form == "hf-generator" else "discriminator"
        recipe, half = electra.part_of(loaded.recipe, loaded.model, part)
        loaded = replace(loaded, recipe=recipe, model=half)
    elif form == "hf-generator":
        raise Fault(f"{loaded.recipe.name} has no generator.", "--to hf writes the model.")
    if hugging_face.family_of(loaded.recipe) is None:
        known, why = ", ".join(hugging_face.FAMILIES), gpt_neo.obstacle(loaded.recipe)
        raise Fault(
            f"transformers has no class for {loaded.recipe.name}.{' ' * bool(why)}{why}",
            f"It opens: {known}. foreword.load opens all.",
        )
    note = f"# {loaded.recipe.name}\n\n{loaded.recipe.paper}. Trained with Foreword.\n"
    write_folder(out, lambda partial: hugging_face.write(partial, loaded.recipe, loaded.model, loaded.tokenizer, note))
    return out


def _arpa(loaded: LoadedFolder, out: Path) -> Path:
    if not isinstance(loaded.model, BackOff) or loaded.tokenizer is None:
        raise Fault(
            f"{loaded.recipe.name} is not a model of counts with back-off.",
            "Models of smoothed n-grams, kneser-ney and katz for two, can be written as ARPA.",
        )
    tokenizer = loaded.tokenizer
    write_arpa(loaded.model, lambda token: tokenizer.pieces([token])[0], out)
    return out
