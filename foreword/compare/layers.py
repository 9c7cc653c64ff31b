"""What the layers of a network know of a task: logistic regression on each, and on them combined, over what stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from foreword.basics.messages import Fault
from foreword.model import LoadedModel
from foreword.networks.features import COMBINES, Fixed, combined
from foreword.report import Report, Section, Table
from foreword.tasks.labelled_task import LabelledTask
from foreword.tasks.metrics import PairedDifference, difference
from foreword.transfer.baselines import Baseline, fits_texts, majority, vectors


@dataclass(frozen=True)
class LayerProbe:
    """One layer, or several combined."""

    name: str
    baseline: Baseline
    above: PairedDifference  # minus layer 0, on the same test examples


class LayerReader:
    """The mean vector of a text by layer; no text is read twice."""

    def __init__(self, model: LoadedModel):
        model.need("embed")
        self.model = model
        self.known: dict[str, list[np.ndarray]] = {}

    def layers(self, texts: Sequence[str]) -> list[list[np.ndarray]]:
        """[texts][layers] of [width]; the embeddings first."""
        new = list(dict.fromkeys(text for text in texts if text not in self.known))
        if new:
            self.known |= {text: [layer.mean(0) for layer in said] for text, said in zip(new, self.model.layers(new))}
        return [self.known[text] for text in texts]

    def of(self, texts: Sequence[str], how: str) -> np.ndarray:
        """[texts, width] of a layer, by its number, or of several combined."""
        if how.isdecimal():
            return np.stack([said[int(how)] for said in self.layers(texts)])
        every = [torch.from_numpy(np.stack(layer)) for layer in zip(*self.layers(texts))]
        some = combined(every, how)
        return (Fixed(how)(some) / (len(some) if how == "mix" else 1)).numpy()


def probe(model: LoadedModel, task: LabelledTask) -> list[LayerProbe]:
    """Every layer, then the ways of BERT's table that this network has layers for; "mix" with equal shares."""
    if not fits_texts(task.kind):
        raise Fault(f"{task.name} is {task.learn.in_words}: layers are probed by one answer for each example.")
    reader = LayerReader(model)
    there = len(reader.layers([task.train[0].texts[0]])[0])
    ways = [str(layer) for layer in range(there)] + ["mix", *(["sum-4", "concat-4"] if there > 4 else [])]
    assert set(ways[there:]) <= set(COMBINES)
    found: list[LayerProbe] = []
    for way in ways:
        one = vectors(task, lambda texts, way=way: reader.of(texts, way), _called(way, there))  # type: ignore[misc]
        first = found[0].baseline if found else one
        judge = task.measure
        before, after = (judge.judge(task.test, each.predictions) for each in (first, one))
        apart = difference(judge.metric, before, after)
        found.append(LayerProbe(one.name, one, apart))
    return found


def _called(way: str, there: int) -> str:
    if not way.isdecimal():
        return "mean of all" if way == "mix" else way
    return "layer 0 (embeddings)" if way == "0" else f"layer {way}" + " (last)" * (int(way) == there - 1)


def report(found: Sequence[LayerProbe], task: LabelledTask, name: str) -> Report:
    rows: list[tuple[str, ...]] = [("read", task.metrics[0], "95% interval", "minus layer 0", "95%", "chosen on dev")]
    for number, one in enumerate(found):
        score, apart = one.baseline.test[0], ("-", "-") if number == 0 else one.above.cells
        rows.append((one.name, score.shown, score.between, *apart, one.baseline.setting))
    common = majority(task).test[0]
    rows.append((majority(task).name, common.shown, common.between, "", "", ""))
    best = max(range(len(found)), key=lambda place: found[place].baseline.dev[0].value)
    said = found[best]
    return Report(
        f"Layers of {name} on {task.name}",
        [f"Best on dev: {said.name}, {said.baseline.test[0].shown} on test."],
        [
            Section(
                "Layers",
                Table(rows, left=(0, 5), best=best + 1, caption="Logistic regression on the mean over a text."),
            )
        ],
        {
            "task": task.name,
            "model": name,
            "layers": {
                one.name: {
                    "value": one.baseline.test[0].value,
                    "interval": one.baseline.test[0].interval,
                    "above": one.above.value,
                    "above_interval": list(one.above.interval),
                }
                for one in found
            },
        },
    )
