"""`foreword study`: several runs of one question, and how sure the differences are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreword.cli.options import Device, Json, Processes, Set, Shard, Size

if TYPE_CHECKING:
    from foreword.compare.claims import Claim
    from foreword.compare.study_file import StudySpec
    from foreword.report import Report
    from foreword.training.hardware import Hardware

Vary = Annotated[
    list[str] | None,
    typer.Option("--vary", help="Values of a setting: section.key=value,value. May be repeated; all combinations run."),
]
Compare = Annotated[
    list[str] | None,
    typer.Option(
        help="Also start from: scratch, shuffled, shuffled-labels, or another model's folder. May be repeated."
    ),
]


Subject = Annotated[
    str,
    typer.Argument(
        help="A model to fine-tune, a recipe to train (or several: lstm:laptop,gpt2:laptop), or a study (masks; a toml)."
    ),
]
Grid = Annotated[
    bool,
    typer.Option("--grid", help="Published learning rates by batch sizes; dev chooses."),
]


def study(
    subject: Subject,
    task: Annotated[str, typer.Argument(help="The labelled task a model is fine-tuned on.")] = "",
    data: Annotated[str, typer.Option("--data", help="A store or text; or the folder of a known task.")] = "",
    out: Annotated[str, typer.Option("--out", help="Where the runs go. [default: runs/NAME-study]")] = "",
    seeds: Annotated[int | None, typer.Option(help="Runs of each setting. [default: 5]")] = None,
    vary: Vary = None,
    labels: Annotated[str, typer.Option(help="Numbers of labels, as 16,64,all or 1%,10%,100%: a label curve.")] = "",
    learning_rate: Annotated[str, typer.Option(help="Of several, as 3e-4,1e-3, dev chooses.")] = "",
    layers: Annotated[str, typer.Option(help="Layers transferred, as 0,2,all; the others are re-initialised.")] = "",
    compare: Compare = None,
    epochs: Annotated[float | None, typer.Option(help="Of each fine-tuning run. [default: 3]")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Of each fine-tuning run. [default: 32]")] = None,
    grid: Grid = False,
    jobs: Annotated[int | None, typer.Option(help="Runs in parallel. [default: measured]")] = None,
    size: Size = "",
    settings: Set = None,
    device: Device = "auto",
    processes: Processes = "auto",
    shard: Shard = False,
    as_json: Json = False,
) -> None:
    """Compare settings, controls and models over several seeds: means, spread, and which differences are significant.

    --set also takes what `foreword finetune` and a study file take: --set features=linear, --set budget=500, --set restarts=1
    (of a seed that collapsed), --set ensemble=true (also the mean prediction of all seeds); and --set cluster=auto (or
    ray://HEAD:10001), which sends the runs to a Ray cluster.
    What is finished is not repeated when the same command is given again; report.html and study.json have it all.
    """
    _there(subject, task)  # a mistyped name need not wait for the rest to be imported
    from foreword.cli.preparing import start_processes
    from foreword.compare.study_file import finetune_study, read_study
    from foreword.training.hardware import Hardware

    given: dict[str, object] = {"task": task, "data": data, "out": out, "seeds": seeds, "labels": labels, "size": size}
    given |= {"layers": layers, "learning_rate": learning_rate, "compare": compare, "epochs": epochs, "grid": grid}
    given |= {"batch_size": batch_size, "jobs": jobs}
    spec = read_study(subject, _options(given, vary or [], settings or []))
    start_processes(processes)
    if spec.model or spec.starts:
        report, folder = finetune_study(spec, Hardware.choose(device, compile="off", shard=shard))
    else:
        report, folder = _trained(spec, Hardware.choose(device, shard=shard))
    report.save(folder, "study.json")
    report.show(as_json)
    if not as_json:
        if spec.claim:
            _tell_claim(spec.claim, subject, folder)
        print(folder)


def _tell_claim(claim: Claim, subject: str, folder: Path) -> None:
    from foreword.compare.claims import verdict

    found = verdict(claim, subject, folder / "study.json")
    print(f"Claim: {claim.says} {found.status[:1].upper()}{found.status[1:]}: {found.ours}")


def _there(subject: str, task: str) -> None:
    from foreword.assembly.catalogue import find
    from foreword.assembly.catalogue import study as known
    from foreword.cli.preparing import models_there

    if task:
        models_there(subject)
    elif not Path(subject).exists() and known(subject) is None:
        for one in subject.split(","):
            find(one.partition(":")[0] if "," in subject else one)


def _options(given: dict[str, object], vary: list[str], settings: list[str]) -> dict[str, object]:
    """What was said, under the names of a study file."""
    from foreword.basics import toml

    options = {name: value for name, value in given.items() if value not in (None, "") and value is not False}
    options |= {"vary": dict(_parts(one, "--vary") for one in vary)} if vary else {}
    pairs = dict(_parts(one, "--set") for one in settings)
    options |= {key: toml.value(value) for key, value in pairs.items() if "." not in key}
    section = {key: value for key, value in pairs.items() if "." in key}
    return options | ({"set": section} if section else {})


def _trained(spec: StudySpec, hardware: Hardware) -> tuple[Report, Path]:
    from foreword.cli.preparing import store_for
    from foreword.compare.study_file import training_runs
    from foreword.compare.training_study import measure_of, report, training_study

    jobs = training_runs(spec)
    with hardware.ranks.first_rank_first():
        marked = next(
            (job.recipe for job in jobs if job.recipe.units), jobs[0].recipe
        )  # its store serves the others too
        store = store_for(marked, Path(spec.data), spec.documents, spec.column)
    names = dict.fromkeys(job.arm or job.recipe.name for job in jobs)
    title = f"{', '.join(names)}: {', '.join(spec.varied()) or f'{spec.seeds} seeds'}"
    if spec.scaling:
        from foreword.compare.scaling import scaling_study

        law = scaling_study(jobs, spec.scaling, store, spec.jobs, hardware, spec.cluster)
        return law, jobs[0].folder.parent
    found = training_study(jobs, store, spec.jobs, hardware, spec.cluster)
    return report(found, title, measure_of(jobs, store).unit), jobs[0].folder.parent


def _parts(text: str, option: str) -> tuple[str, str]:
    from foreword.basics.messages import Fault

    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise Fault(f"{option} {text}: write key=value.")
    return key.strip(), value.strip()
