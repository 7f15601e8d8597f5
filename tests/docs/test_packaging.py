"""What people meet before the program: the package's description, its recipes and its workflows agree with it."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

from condyle import __version__
from tests.make import PROJECT

PYPROJECT = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
BLENDER = "blender/condyle_figure/blender_manifest.toml"
SEMANTIC = re.sub("(a|b|rc)", r"-\1", __version__)  # as Blender wants it
HOME = PYPROJECT["project"]["urls"]["Homepage"]


def test_the_description_on_a_package_index_has_whole_addresses_of_files_that_are_there() -> None:
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    own = [link for link in LINK.findall(text) if not link.startswith(("http", "#"))]
    for link in own:
        assert (PROJECT / link.partition("#")[0]).exists(), link
    for rule in PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    assert own
    assert all(link.startswith(("https://", "#")) for link in LINK.findall(text))
    assert re.search(r"!\[[^]]*\]\(https://raw\.githubusercontent\.com/", text)
    assert sum(link.startswith(HOME) for link in LINK.findall(text)) >= len(own) - 1


def test_the_version_is_the_same_everywhere() -> None:
    assert f"\nversion: {__version__}\n" in (PROJECT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n  version: {__version__}\n" in (PROJECT / "packaging/conda/recipe.yaml").read_text(encoding="utf-8")
    assert f'\nversion = "{SEMANTIC}"\n' in (PROJECT / BLENDER).read_text(encoding="utf-8")
    assert f"## [{__version__}]" in (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_a_tag_sets_the_version_everywhere(tmp_path: Path) -> None:
    held = ("src/condyle/_version.py", "CITATION.cff", "packaging/conda/recipe.yaml", BLENDER)
    for name in (".ci/version", *held):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PROJECT / name, tmp_path / name)
    set_version = ["bash", str(tmp_path / ".ci/version")]
    assert subprocess.run([*set_version, "release-1"], capture_output=True, check=False).returncode == 2
    subprocess.run([*set_version, "v9.8.7"], check=True)
    for name in held:
        old, new = ((place / name).read_text(encoding="utf-8") for place in (PROJECT, tmp_path))
        assert new == old.replace(SEMANTIC if name == BLENDER else __version__, "9.8.7", 1) != old
    subprocess.run([*set_version, "v9.8.7rc1"], check=True)
    assert '\nversion = "9.8.7-rc1"\n' in (tmp_path / BLENDER).read_text(encoding="utf-8")


def test_the_recipe_asks_for_what_the_package_asks_for() -> None:
    recipe = (PROJECT / "packaging/conda/recipe.yaml").read_text(encoding="utf-8")
    run = re.findall(r"^    - (\S+) (>=\S+)$", recipe.split("  run:\n")[1].split("\ntests:")[0], re.MULTILINE)
    python = ("python", PYPROJECT["project"]["requires-python"])
    wanted = [tuple(re.fullmatch(r"([\w-]+)(>=.+)", one).groups()) for one in PYPROJECT["project"]["dependencies"]]  # type: ignore[union-attr]
    assert run == [python, *wanted]


def test_every_python_that_is_named_is_tried() -> None:
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PYPROJECT["project"]["classifiers"]))
    workflow = (PROJECT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    assert re.findall(r'"(3\.\d+)"', re.search(r"python: \[(.*)\]", workflow)[1]) == named  # type: ignore[index]


def test_the_project_has_one_address() -> None:
    for name in ("CITATION.cff", "CONTRIBUTING.md", "SECURITY.md", "packaging/conda/recipe.yaml"):
        text = (PROJECT / name).read_text(encoding="utf-8")
        assert HOME in text, name


def test_workflows_install_their_tools_by_hash_and_a_release_carries_its_bill_of_materials() -> None:
    tools = (PROJECT / ".ci/requirements.txt").read_text(encoding="utf-8")
    pinned = re.findall(r"^(\S+)==\S+.* \\\n +--hash=sha256:", tools, re.MULTILINE)
    assert {"uv", "build", "twine"} <= set(pinned)
    assert len(pinned) == len(re.findall(r"^[^\s#]", tools, re.MULTILINE))
    for workflow in sorted((PROJECT / ".github/workflows").glob("*.yml")):
        text = workflow.read_text(encoding="utf-8")
        installs = [one.removeprefix("--system ") for one in re.findall(r"pip install (.*)", text)]
        others = [one for one in installs if not one.startswith("--require-hashes -r ")]
        assert all(one in (".", "--no-deps .", "--find-links dist --pre condyle") for one in others), (
            workflow.name,
            others,
        )
        for file in re.findall(r"--require-hashes -r (\S+)", text):
            assert (PROJECT / file).is_file(), (workflow.name, file)
        assert "--locked" not in text  # uv.lock holds the address of an index and is not kept
    run = (PROJECT / ".ci/run").read_text(encoding="utf-8")
    assert "pip install --quiet --require-hashes -r <(awk '/^[a-z]/ { on = /^uv==/ } on' .ci/requirements.txt)" in run
    assert all("--ignore-scripts" in line for line in run.splitlines() if "npm ci" in line or "npm install" in line)
    release = (PROJECT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    assert "bash .ci/sbom sbom" in release
    assert "dist/* sbom/*" in release


def test_workflows_use_the_actions_of_others_by_commit_with_its_version_beside_it() -> None:
    versions: dict[str, set[str]] = {}
    for workflow in sorted((PROJECT / ".github/workflows").glob("*.yml")):
        used = re.findall(r"uses: *(.*)", workflow.read_text(encoding="utf-8"))
        assert used, workflow.name
        for one in used:
            pinned = re.fullmatch(r"([\w/-]+)@([0-9a-f]{40} # v\d+\.\d+\.\d+)", one)
            assert pinned, (workflow.name, one)
            versions.setdefault(pinned[1], set()).add(pinned[2])
    assert all(len(one) == 1 for one in versions.values()), versions
