"""What a network says of texts, in a file for other programs: for each text [layers, tokens, width], the embeddings first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from foreword.basics.messages import Fault
from foreword.basics.packages import needed
from foreword.tasks.files import text_of

FORMS = ("npz", "hdf5")


def lines_of(path: Path | None, form: str) -> list[str]:
    """The texts of a file, one on each line."""
    if path is None:
        raise Fault(f"--to {form} writes the vectors of texts.", "Give a file with a text on each line:  --texts FILE")
    if not path.is_file():
        raise Fault(f"{path} is not there.", "Give a file with a text on each line.")
    lines = [line.strip() for line in text_of(path).split("\n") if line.strip()]
    if not lines:
        raise Fault(f"{path} has no text.", "Give a file with a text on each line.")
    return lines


def write(path: Path, form: str, texts: Sequence[str], layers: Sequence[Sequence[np.ndarray]]) -> Path:
    """Arrays named 0, 1, ...; and `sentence_to_index`, which says in JSON which text is which, as AllenNLP's files of ELMo do."""
    if path.exists():
        raise Fault(f"{path} is already there.", "Choose another --out.")
    if invalid := next((one for one in layers if len({layer.shape for layer in one}) > 1), None):
        widths = ", ".join(str(layer.shape[1]) for layer in invalid)
        raise Fault(f"its layers have different widths ({widths}): they do not fit one array.")
    index = json.dumps({text: str(number) for number, text in enumerate(texts)}, ensure_ascii=False)
    arrays = {str(number): np.stack(list(one)) for number, one in enumerate(layers)}
    path.parent.mkdir(parents=True, exist_ok=True)
    if form == "npz":
        with open(path, "wb") as file:
            np.savez_compressed(file, allow_pickle=False, sentence_to_index=np.asarray(index), **arrays)
        return path
    with needed("h5py", "features", "an HDF5 file needs").File(path, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array)
        file.create_dataset("sentence_to_index", data=[index])
    return path
