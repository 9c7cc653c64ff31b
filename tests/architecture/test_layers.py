"""The shape of the codebase: who may import whom, and what stays out of where."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import click
import pytest
import typer

import foreword
from foreword.assembly import catalogue
from foreword.cli.main import app

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "foreword"
MODULES = sorted(PACKAGE.rglob("*.py"))


def contract() -> dict:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return next(one for one in settings["tool"]["importlinter"]["contracts"] if one["type"] == "layers")


def rooms() -> set[str]:
    """The rooms of the contract that exist; those in brackets may be built later."""
    named = {name.strip(" ()") for layer in contract()["layers"] for name in layer.split("|")}
    return {name for name in named if (PACKAGE / name / "__init__.py").is_file() or (PACKAGE / f"{name}.py").is_file()}


def imports(path: Path) -> set[str]:
    """Every module a file imports, wherever the import stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def test_the_import_contracts_are_kept() -> None:
    program = Path(sys.executable).parent / "lint-imports"
    ended = subprocess.run([program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "0 broken." in ended.stdout


def test_every_room_has_a_place_in_the_contract() -> None:
    there = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    there |= {path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__")}
    assert there == rooms()
    assert contract()["exhaustive"] is True


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--version"],
        ["list"],
        ["list", "recipes", "--json"],
        ["tree"],
        ["train", "--help"],
        ["tokens", "--help"],
    ],
    ids=" ".join,
)
def test_no_torch_where_none_is_needed(words) -> None:
    code = (
        "import sys\nfrom foreword.cli.main import main\n"
        f"sys.argv = ['foreword', *{words!r}]\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert not ended.code, ended.code\n"
        "heavy = {'torch', 'transformers', 'matplotlib', 'tokenizers', 'pyarrow'} & set(sys.modules)\n"
        "print('HEAVY', sorted(heavy), file=sys.stderr)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ended.stdout
    assert "HEAVY []" in ended.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["list", "networks"],
        ["list", "objectives"],
        ["list", "tokenizers"],
        ["list", "cuts"],
        ["list", "tasks"],
        ["show", "gpt2"],
        ["diff", "gpt1", "gpt2"],
        ["check", "bert", "kneser-ney"],
        ["show", "gtp2"],
        ["diff", "gpt1", "gtp2"],
        ["train", "bret", "--data", "x"],
        ["plan", "bret"],
        ["preview", "bret", "--data", "x"],
        ["study", "bret", "--data", "x"],
        ["import", "nowhere", "--out", "x"],
        ["test", "runs/nowhere", "mrpc"],
        ["harness", "runs/nowhere"],
        ["probe", "mprc"],
        ["dialogue", "runs/nowhere", "--data", "x"],
        ["study", "runs/nowhere", "mrpc"],
        ["generate", "runs/nowhere"],
        ["chat", "runs/nowhere"],
        ["evaluate", "runs/nowhere"],
        ["evaluate", "runs/nowhere", "lambada"],
        ["finetune", "runs/nowhere", "mrpc"],
        ["predict", "runs/nowhere", "x.txt"],
        ["export", "runs/nowhere", "--out", "x"],
    ],
    ids=" ".join,
)
def test_settings_and_mistyped_names_import_no_torch(words) -> None:
    code = (
        f"import sys\nfrom foreword.cli.main import main\nsys.argv = ['foreword', *{words!r}]\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert ended.code in (0, None, 2), ended.code\n"
        "assert 'torch' not in sys.modules, 'torch was imported'\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert ended.returncode == 0, ended.stderr
    assert bool(ended.stdout) != bool(ended.stderr)


def test_making_a_store_imports_no_torch(tmp_path) -> None:
    code = (
        f"import sys\nfrom foreword.cli.main import main\n"
        f"sys.argv = ['foreword', 'tokens', '--train', 'README.md', '--vocabulary', '300', '--out', {str(tmp_path / 'store')!r}]\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert not ended.code\n"
        "assert 'torch' not in sys.modules, 'torch was imported'\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "store/store.json").is_file()


def test_importing_foreword_is_light() -> None:
    code = "import sys, foreword; assert 'torch' not in sys.modules; assert foreword.__version__; print('ok')"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
        == "ok\n"
    )


@pytest.mark.thorough
def test_core_dependencies_are_enough_to_import_everything() -> None:
    """`make demo` installs no extra, and neither does `pip install foreword`; harness.py is a class of lm-eval's, and
    the room `serve` stands on FastAPI."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {re.split(r"[^\w-]", one)[0] for extra in project["optional-dependencies"].values() for one in extra}
    modules = {
        {"scikit-learn": "sklearn", "import-linter": "importlinter"}.get(name, name.replace("-", "_")) for name in named
    }
    code = (
        "import importlib, pkgutil, sys\n"
        f"sys.modules.update(dict.fromkeys({sorted(modules)!r}))\n"
        "import foreword\n"
        "for module in pkgutil.walk_packages(foreword.__path__, 'foreword.'):\n"
        "    if not module.name.endswith(('.__main__', '.harness')) and '.serve.' not in module.name:\n"
        "        importlib.import_module(module.name)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert ended.returncode == 0, ended.stderr


def test_the_trainer_knows_no_model() -> None:
    source = (PACKAGE / "training/trainer.py").read_text(encoding="utf-8")
    for word in ("isinstance", "hasattr", "getattr", "kind", "torch", "numpy", *catalogue.built_in()):
        assert not re.search(rf"(?<![a-z_]){re.escape(word)}(?![a-z_])", source, re.I), f"the trainer speaks of {word}"
    allowed = {"foreword.basics.budget", "foreword.batches.stream", "foreword.training.learner"}
    assert {name for name in imports(PACKAGE / "training/trainer.py") if name.startswith("foreword")} == allowed


def test_no_drawer_for_odds_and_ends() -> None:
    for path in [*PACKAGE.rglob("*"), *(ROOT / "tests").rglob("*")]:
        assert path.stem not in ("utils", "util", "helpers", "helper", "common", "misc"), path


def test_no_class_name_occurs_twice() -> None:
    """Unless it is one idea: a cut and an objective that only go together have one name, as they have one kind."""
    together = {"TextTasks"}
    places: dict[str, list[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name not in together:
                places.setdefault(node.name, []).append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_a_function_is_read_without_scrolling() -> None:
    """At most 60 lines, and at most 9 parameters where no user types them."""
    by_name = {"vectors/context_prediction.py:of"}  # takes the settings of an objective by their names
    long, many = [], []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            place = f"{path.relative_to(PACKAGE)}:{node.name}"
            given = node.args
            names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            if node.end_lineno - node.lineno >= 60:
                long.append(place)
            if len(set(names) - {"self", "cls"}) > 9 and path.parent.name != "cli" and place not in by_name:
                many.append(place)
    assert not long
    assert not many


def verbs(command: click.Command, name: str = "foreword") -> Iterator[tuple[str, click.Command]]:
    inside = getattr(command, "commands", None)
    if inside is None:
        yield name, command
        return
    for word, one in inside.items():
        yield from verbs(one, f"{name} {word}")


def test_a_verb_has_at_most_eighteen_options() -> None:
    found = {
        name: sum(one.param_type_name == "option" and "--help" not in one.opts for one in command.params)
        for name, command in verbs(typer.main.get_command(app))
    }
    assert len(found) > 30
    assert not {name: number for name, number in found.items() if number > 18}


def test_transformers_is_met_only_at_the_border() -> None:
    for path in MODULES:
        room = path.relative_to(PACKAGE).parts[0]
        if room not in ("exchange", "cli"):
            assert not {name for name in imports(path) if name.split(".")[0] == "transformers"}, path


def test_nothing_is_unpickled_nor_run() -> None:
    """Loading a model never executes what a folder holds."""
    for path in MODULES:
        assert not {"pickle", "dill", "joblib", "cloudpickle"} & {name.split(".")[0] for name in imports(path)}, path
        calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
        for call in calls:
            name = ast.unparse(call.func)
            assert name not in ("eval", "exec", "torch.load", "torch.save", "pickle.load", "pickle.loads"), (
                f"{path}: {name}"
            )
            assert not (name == "np.load" and any(word.arg == "allow_pickle" for word in call.keywords)), path


# --- names and maps --------------------------------------------------------------------------------------------------


def test_the_package_says_what_its_rooms_are() -> None:
    """The docstring is a map: every room but the workshop underneath (basics, parts) has its line, and no other has."""
    lines = [line for line in (foreword.__doc__ or "").splitlines() if line and not line.startswith("Foreword")]
    named = {line.split()[0] for line in lines} | set(re.findall(r"([a-z]+):", "\n".join(lines)))
    assert named == rooms() - {"basics", "parts"}


def test_the_map_in_the_readme_is_the_contract() -> None:
    readme = ROOT / "README.md"
    named = re.findall(
        r"^\| `([a-z_]+)` \|", readme.read_text(encoding="utf-8").split("| room |")[1].split("\n\n")[0], re.M
    )
    assert set(named) == rooms()
    assert len(named) == len(set(named))


def test_the_map_in_the_docs_is_the_contract_in_its_order() -> None:
    page = (ROOT / "docs/explanation/architecture.md").read_text(encoding="utf-8")
    drawn = [
        set(line[:29].replace("|", " ").split()) for line in page.split("```text\n")[1].split("```")[0].splitlines()
    ]
    layers = [{name.strip(" ()") for name in layer.split("|")} & rooms() for layer in contract()["layers"]]
    assert drawn == [layer for layer in layers if layer]


def test_the_walk_names_files_that_exist() -> None:
    page = (ROOT / "docs/explanation/architecture.md").read_text(encoding="utf-8")
    walk = page.split("## A walk of one batch")[1].split("\n## ")[0]
    named = re.findall(r"\[`([\w/]+\.py)`\]", walk)
    assert len(named) > 20
    for name in named:
        assert (PACKAGE / name).is_file(), name


def test_recipes_are_package_data() -> None:
    shipped = {path.name for path in files("foreword").joinpath("recipes").iterdir() if path.name.endswith(".toml")}
    assert shipped == {path.name for path in (PACKAGE / "recipes").glob("*.toml")}
    assert len(shipped) >= 10
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "recipes/*.toml" in settings["tool"]["setuptools"]["package-data"]["foreword"]
    assert not list((PACKAGE / "recipes").glob("*.py"))


@pytest.mark.parametrize("path", sorted((PACKAGE / "recipes").glob("*.toml")), ids=lambda path: path.stem)
def test_a_recipe_is_named_by_year_and_name(path) -> None:
    year, _, name = path.stem.partition("-")
    assert re.fullmatch(r"(19|20)\d\d", year)
    assert tomllib.loads(path.read_text(encoding="utf-8"))["name"] == name
    assert path.read_text(encoding="utf-8").startswith("# "), "its first line says what it is"


def test_every_file_that_is_read_at_run_time_is_shipped() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"][
        "package-data"
    ]["foreword"]
    for path in PACKAGE.rglob("*"):
        if path.is_file() and path.suffix not in (".py", ".pyc"):
            assert any(path.relative_to(PACKAGE).match(pattern) for pattern in settings), path


def test_opening_a_model_does_not_import_the_compiler() -> None:
    """torch.compile is 0.7 seconds of imports that only a training that compiles needs."""
    code = "import sys, foreword.model; assert 'torch._dynamo' not in sys.modules; print('ok')"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
        == "ok\n"
    )


def test_processes_are_met_in_two_files_of_training() -> None:
    """Everything else asks `Ranks`."""
    met = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if "torch.distributed" in path.read_text(encoding="utf-8").replace("torch.distributed.checkpoint says", "")
    }
    assert met == {"training/ranks.py", "training/processes.py"}
