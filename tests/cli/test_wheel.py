"""A wheel of this repository, installed where the repository is not, runs the demo: recipes, pages and C sources are inside."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "foreword")
# runs when the installed Python starts: whatever opens a file of the repository fails
GUARD = """
import os, sys
def guard(event, arguments, root={root!r}, allowed={allowed!r}):
    if event == "open" and isinstance(arguments[0], str):
        path = os.path.realpath(arguments[0])
        if path.startswith(root + os.sep) and not path.startswith(allowed + os.sep):
            raise RuntimeError("read from the repository: " + path)
sys.addaudithook(guard)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment that holds the wheel, and borrows its dependencies from this one."""
    pytest.importorskip("setuptools", minversion="77")
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in BUILT_FROM:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-index", "--no-deps"]
    subprocess.run(
        [*pip, "wheel", *offline, "--no-build-isolation", "-w", folder / "built", source],
        check=True,
        capture_output=True,
    )
    shutil.rmtree(source)
    (wheel,) = (folder / "built").glob("*.whl")
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([*pip, "--python", python, "install", *offline, wheel], check=True, capture_output=True)
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")  # whose own .pth files are not read
    (site / "sitecustomize.py").write_text(GUARD.format(root=str(ROOT), allowed=os.path.realpath(sys.prefix)))
    return python.parent


def program(installed: Path, name: str, *words: object) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"XDG_CACHE_HOME": str(installed.parent / "cache"), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [installed / name, *map(str, words)],
        cwd=installed.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_it_is_not_the_repository_that_runs(installed: Path) -> None:
    place = program(installed, "python", "-c", "import foreword; print(foreword.__file__)").stdout
    assert Path(place).is_relative_to(installed.parent)
    refused = program(installed, "python", "-c", f"open({str(ROOT / 'pyproject.toml')!r})")
    assert "read from the repository" in refused.stderr


def test_the_demo_runs(installed: Path, text: Path) -> None:
    said = program(installed, "foreword", "demo", "--data", text, "--budget", "2", "--out", "demo")
    assert said.returncode == 0, said.stderr
    assert said.stdout.splitlines()[-1] == "report: demo/report.html"
    assert (installed.parent / "demo/report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "compiler" not in said.stderr, "the C sources are inside too"
    if shutil.which("cc"):
        assert list((installed.parent / "cache").rglob("*.so")), "nothing was compiled"


def test_recipes_and_tasks_are_listed(installed: Path) -> None:
    for what in ("recipes", "tasks"):
        there, here = (
            program(installed, "foreword", "list", what),
            subprocess.run(
                [sys.executable, "-m", "foreword", "list", what], cwd=ROOT, capture_output=True, text=True, check=True
            ),
        )
        assert there.stdout == here.stdout
        assert len(there.stdout.splitlines()) > 10
