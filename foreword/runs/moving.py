"""Models in and out: a Hugging Face directory becomes a run; a run becomes a folder or file for other programs."""

from __future__ import annotations

from pathlib import Path

from foreword.basics import toml
from foreword.basics.files import write_folder, write_json, write_text
from foreword.basics.messages import Fault, did_you_mean
from foreword.counts.arpa import write_arpa
from foreword.counts.kneser_ney import KneserNeyModel
from foreword.exchange import gpt_neo, hugging_face
from foreword.exchange.hugging_face import Loaded
from foreword.runs.folder import FORMAT, RunFolder
from foreword.runs.opening import open_model

FORMS = ("hf", "arpa")


def bring_in(source: Path, out: Path) -> tuple[RunFolder, Loaded]:
    """A model folder as a run of its own."""
    loaded = hugging_face.read(source) if (source / "config.json").is_file() else open_model(source)
    run = RunFolder(out)
    if out.is_file() or (out.exists() and any(out.iterdir())):
        raise Fault(f"{out} is not empty.", "Choose another --out.")
    out.mkdir(parents=True, exist_ok=True)
    note = f"# {loaded.recipe.name}\n\nImported by Foreword from `{source.name}`.\n"
    write_folder(
        out / "model", lambda partial: hugging_face.write(partial, loaded.recipe, loaded.model, loaded.tokenizer, note)
    )
    write_json(out / "passport.json", {"format": FORMAT, "imported": str(source)})
    write_text(out / "recipe.toml", toml.write(loaded.recipe.values()))
    return run, loaded


def send_out(model: str | Path, form: str, out: Path) -> Path:
    """A model in another program's form, at `out`."""
    if form not in FORMS:
        raise Fault(f"{form!r} is not a form to export to.{did_you_mean(form, FORMS)} Forms: {', '.join(FORMS)}.")
    if out.exists() and (out.is_file() or any(out.iterdir())):
        raise Fault(f"{out} is already there.", "Choose another --out.")
    loaded = open_model(model)
    if form == "arpa":
        return _arpa(loaded, out)
    if hugging_face.family_of(loaded.recipe) is None:
        known, why = ", ".join(hugging_face.FAMILIES), gpt_neo.obstacle(loaded.recipe)
        raise Fault(
            f"transformers has no class for {loaded.recipe.name}.{' ' * bool(why)}{why}",
            f"It opens: {known}. foreword.load opens all.",
        )
    note = f"# {loaded.recipe.name}\n\n{loaded.recipe.paper}. Trained with Foreword.\n"
    write_folder(out, lambda partial: hugging_face.write(partial, loaded.recipe, loaded.model, loaded.tokenizer, note))
    return out


def _arpa(loaded: Loaded, out: Path) -> Path:
    if not isinstance(loaded.model, KneserNeyModel) or loaded.tokenizer is None:
        raise Fault(
            f"{loaded.recipe.name} is not a model of counts with back-off.", "kneser-ney can be written as ARPA."
        )
    tokenizer = loaded.tokenizer
    write_arpa(loaded.model, lambda token: tokenizer.pieces([token])[0], out)
    return out
