"""The project itself: layers, package data, light imports, no paths of a stranger's machine."""

import re
import subprocess
import sys
from importlib import metadata, resources
from pathlib import Path

import pytest

import safe_rl

ROOT = Path(__file__).parents[1]
TEXT_SUFFIXES = {".py", ".md", ".toml", ".txt", ".yaml", ".yml", ".json", ".cfg", ".sh", ".ltl", ""}


def _tracked_files() -> list[Path]:
    """Every file that git tracks or would track, or the whole tree where there is no git."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listing.returncode == 0:
        found = [ROOT / name for name in listing.stdout.splitlines()]
    else:
        found = [path for path in ROOT.rglob("*") if not {".venv", "site"} & set(path.parts)]
    return [path for path in found if path.is_file()]


def test_imports_point_down_the_layers() -> None:
    lint = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert lint.returncode == 0, lint.stdout + lint.stderr
    assert "0 broken" in lint.stdout


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("safe_rl", ["torch", "jax", "stable_baselines3", "mujoco", "robosuite", "matplotlib"]),
        ("safe_rl.monitors", ["torch", "jax", "stable_baselines3", "gymnasium", "scipy"]),
        ("safe_rl.wrappers", ["torch", "jax", "stable_baselines3", "mujoco", "robosuite"]),
        ("safe_rl.cli", ["torch", "jax", "stable_baselines3", "mujoco", "robosuite"]),
    ],
)
def test_import_is_light(module: str, heavy: list[str]) -> None:
    code = f"import sys, {module}; print(*[m for m in {heavy!r} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == []


def test_import_leaves_the_users_logging_and_warnings_alone() -> None:
    code = (
        "import logging, warnings\n"
        "before = (list(logging.root.handlers), logging.root.level, list(warnings.filters))\n"
        "import safe_rl.monitors, safe_rl.wrappers\n"
        "after = (list(logging.root.handlers), logging.root.level)\n"
        "assert before[:2] == after, after\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""


def test_version_is_stated_once() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert safe_rl.__version__ in changelog
    assert "version" not in re.search(
        r"^\[project\]\n(.*?)^\[", (ROOT / "pyproject.toml").read_text(), re.M | re.S
    ).group(1).replace('dynamic = ["version"]', "")


def test_distribution_installs_the_command_and_the_types() -> None:
    scripts = metadata.entry_points(group="console_scripts")
    commands = {entry.name: entry.value for entry in scripts if entry.dist.name == "safe-rl-ltlf"}
    assert commands == {"safe-rl": "safe_rl.cli:app"}
    assert resources.files("safe_rl").joinpath("py.typed").is_file()


@pytest.mark.slow
def test_wheel_carries_every_file_of_the_package(tmp_path: Path) -> None:
    """A wheel built from this tree holds each module, specification and preset of the package."""
    import zipfile

    build = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--no-deps",
            "--no-build-isolation",
            "--quiet",
            "-w",
            tmp_path,
            ROOT,
        ],
        capture_output=True,
        text=True,
    )
    assert build.returncode == 0, build.stderr
    (wheel,) = tmp_path.glob("safe_rl_ltlf-*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    inside = {
        str(path.relative_to(ROOT))
        for path in _tracked_files()
        if path.relative_to(ROOT).parts[0] == "safe_rl"
    }
    assert inside <= packed, sorted(inside - packed)
    assert any(name.endswith(".yaml") for name in packed)
    top = {name.split("/")[0] for name in packed}
    assert {name for name in top if not name.endswith(".dist-info")} == {"safe_rl"}


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    # Assembled, so that this file does not find itself.
    stranger = re.compile(
        "|".join([r"/ho" + r"me/[a-z]", r"/wo" + r"rk/", r"/Us" + r"ers/", r"\.\./sha" + r"red"])
    )
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in _tracked_files()
        if path.suffix in TEXT_SUFFIXES
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if stranger.search(line)
    ]
    assert found == []


def test_every_pin_satisfies_the_projects_own_ranges() -> None:
    """constraints.txt and pyproject.toml cannot contradict each other."""
    import tomllib

    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    pins = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, version = line.split("==")
            pins[canonicalize_name(name)] = version
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requirements = project["dependencies"] + sum(project["optional-dependencies"].values(), [])
    for text in requirements:
        requirement = Requirement(text)
        name = canonicalize_name(requirement.name)
        assert name in pins, f"{name} has no tested version"
        assert requirement.specifier.contains(pins[name]), f"{text}: tested with {pins[name]}"


def test_errors_name_extras_that_exist() -> None:
    """Every `safe-rl-ltlf[extra]` that the code or the docs mention is declared."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = set(project["optional-dependencies"])
    mentioned = {
        extra.strip()
        for path in _tracked_files()
        if path.suffix in {".py", ".md"} and path.name != Path(__file__).name
        for group in re.findall(r"safe-rl-ltlf\[([a-z0-9, ]+)\]", path.read_text())
        for extra in group.split(",")
        if extra.strip() != "extra"
    }
    assert mentioned and mentioned <= declared, mentioned - declared


def test_missing_dependency_errors_name_declared_extras() -> None:
    import ast
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = set(project["optional-dependencies"])
    named = {}
    for path in (ROOT / "safe_rl").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", "") == "MissingDependencyError"
                and len(node.args) > 1
                and isinstance(node.args[1], ast.Constant)
            ):
                named[f"{path.relative_to(ROOT)}:{node.lineno}"] = node.args[1].value
    assert named and set(named.values()) <= declared, named
