"""What is said about the package in several places is the same everywhere."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(
    not (ROOT / ".github").is_dir(), reason="no checkout here"
)


@pytest.fixture(scope="module")
def settings():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def project(settings):
    return settings["project"]


def requirements(project):
    extras = project["optional-dependencies"].values()
    for line in [
        *project["dependencies"],
        *(line for extra in extras for line in extra),
    ]:
        requirement = Requirement(line)
        if requirement.name != "structsmooth":
            yield requirement


def normalized(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_versions_in_use_are_allowed_ones(project):
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    pins = {normalized(name): version for name, version in pins.items()}
    for requirement in requirements(project):
        pin = pins.get(normalized(requirement.name))
        if pin is None:  # of another platform
            assert requirement.marker is not None, f"{requirement.name} is not pinned"
            continue
        assert requirement.specifier.contains(pin), f"{requirement} and {pin}"


def test_a_package_has_the_same_floor_wherever_it_is_named(project):
    floors = {}
    for requirement in requirements(project):
        floors.setdefault(requirement.name, set()).add(str(requirement.specifier))
    assert {name: given for name, given in floors.items() if len(given) > 1} == {}


def test_the_conda_recipe_has_the_version_and_the_floors(project):
    recipe = (ROOT / "conda-recipe" / "recipe.yaml").read_text()
    assert f"\n  version: {project['version']}\n" in recipe
    run = recipe.split("\n  run:\n")[1].split("\ntests:")[0]
    needed = dict(re.findall(r"- (\S+) (\S+)", run))
    wanted = project["dependencies"] + project["optional-dependencies"]["report"]
    expected = {r.name: str(r.specifier) for r in map(Requirement, wanted)}
    expected["matplotlib-base"] = expected.pop("matplotlib")  # conda's, without Qt
    assert needed == expected | {"python": project["requires-python"]}


def test_actions_are_pinned_by_commit():
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        used = re.findall(r"uses: (.*)", workflow.read_text())
        assert used
        for action in used:
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), (
                action
            )


def test_workflows_call_targets_that_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    matrix = text.split("target:\n")[1].split("    steps:")[0]
    called = re.findall(r"- ([a-z-]+)\n", matrix)
    called += re.findall(r"run: .*make ([a-z-]+)", text)
    assert len(called) > 5
    assert set(called) <= targets


def test_python_versions_are_declared_and_checked(project):
    declared = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    (checked,) = re.findall(r"python: \[(.*)\]", text)
    # A new Python is checked before it is declared.
    assert set(declared) <= set(re.findall(r"3\.\d+", checked))
    assert project["requires-python"] == f">={min(declared, key=Version)}"


def test_the_readme_is_read_in_two_minutes():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 110


def test_what_the_published_tests_import_is_published_with_them(settings):
    sdist = settings["tool"]["hatch"]["build"]["targets"]["sdist"]
    for path in (ROOT / "tests").rglob("*.py"):
        if any(path.is_relative_to(ROOT / name[1:]) for name in sdist["exclude"]):
            continue
        text = path.read_text()
        for module in re.findall(
            r"^ *(?:from|import) ((?:benchmarks|examples|experiments)\S*)", text, re.M
        ):
            assert f"/{module.replace('.', '/')}.py" in sdist["include"], path.name
